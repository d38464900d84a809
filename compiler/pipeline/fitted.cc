#include "compiler/pipeline/fitted.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are stored as they lie in memory");

constexpr std::string_view kMagic = "msc-weights-1\n";
constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 30U;

struct Entry {
  std::string node;
  std::int64_t input = 0;
  std::vector<std::int64_t> dims;
  static void Fields(auto& self, auto& visit) {
    visit("node", self.node, "node name");
    visit("input", self.input, "which of its inputs", Within{0, 1e6});
    visit("dims", self.dims, "sizes", Within{0, 1e12});
  }
};

struct Listing {
  std::vector<Entry> weights;
  static void Fields(auto& self, auto& visit) {
    visit("weights", self.weights, "in the order of their values");
  }
};

/// Returns the number of elements; nullopt if they would take more than `bytes`.
std::optional<std::size_t> CountWithin(const std::vector<std::int64_t>& dims, std::size_t bytes) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    const auto size = static_cast<std::size_t>(dim);
    // A product of sizes from a file could overflow; the quotients cannot.
    if (size != 0 && count > bytes / sizeof(float) / size) return std::nullopt;
    count *= size;
  }
  if (count > bytes / sizeof(float)) return std::nullopt;
  return count;
}

std::string WeightsBeside(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".weights").string();
}

}  // namespace

std::string ToBytes(const FittedWeights& fitted) {
  Listing listing;
  for (const FittedWeight& weight : fitted.weights) {
    listing.weights.push_back({weight.node, weight.input, weight.values.dims()});
  }
  std::string bytes = std::string(kMagic) + ToJsonText(listing) + "\n";
  for (const FittedWeight& weight : fitted.weights) {
    const auto values = weight.values.Values<float>();
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  return bytes;
}

FittedWeights FittedFromBytes(std::string_view bytes, const std::string& what) {
  if (!bytes.starts_with(kMagic)) throw UserError(what + " holds no fitted weights");
  bytes.remove_prefix(kMagic.size());
  const std::size_t line = bytes.find('\n');
  if (line == std::string_view::npos) throw UserError(what + " ends before its weights");
  const auto listing = FromJsonText<Listing>(bytes.substr(0, line), what);
  bytes.remove_prefix(line + 1);
  FittedWeights fitted;
  for (const Entry& entry : listing.weights) {
    const auto count = CountWithin(entry.dims, bytes.size());
    if (!count) throw UserError(what + " ends before the weights of '" + entry.node + "'");
    Tensor values(DType::kF32, entry.dims);
    if (*count > 0) {
      std::memcpy(values.MutableRaw().data(), bytes.data(), *count * sizeof(float));
    }
    bytes.remove_prefix(*count * sizeof(float));
    for (const float value : values.Values<float>()) {
      if (std::isfinite(value)) continue;
      throw UserError(what + ": a weight of '" + entry.node + "' is not finite");
    }
    fitted.weights.push_back({entry.node, entry.input, std::move(values)});
  }
  if (!bytes.empty()) throw UserError(what + " holds more than the weights that it lists");
  return fitted;
}

FittedWeights ChangedConstants(const Graph& plain, const Graph& fitted) {
  FittedWeights found;
  for (const NodeId id : plain.order()) {
    const Node& before = plain.node(id);
    const Node& after = fitted.node(fitted.FindNode(before.name));
    for (std::size_t i = 0; i < before.inputs.size(); ++i) {
      if (before.inputs[i] == kNoValue) continue;
      const TensorPtr old = plain.constant(before.inputs[i]);
      const TensorPtr made = old == nullptr ? nullptr : fitted.constant(after.inputs.at(i));
      if (made == nullptr || *made == *old) continue;
      found.weights.push_back({before.name, static_cast<std::int64_t>(i), *made});
    }
  }
  return found;
}

void SetFitted(FittedWeights fitted, Strategy& strategy) {
  strategy.fit.weights = Sha256Hex(ToBytes(fitted));
  strategy.fit.values = std::make_shared<const FittedWeights>(std::move(fitted));
}

void ApplyFitted(const FitPlan& fit, Graph& pruned) {
  if (fit == FitPlan{}) return;
  if (fit.weights.empty()) {
    throw UserError(
        "the strategy's weights are still to be fitted to samples; the strategy.json of a search's "
        "best/ has them");
  }
  if (fit.values == nullptr) {
    throw UserError("the strategy's fitted weights were not read; they lie beside its file");
  }
  for (const FittedWeight& weight : fit.values->weights) {
    const auto refuse = [&](const char* why) {
      throw UserError("the fitted weights do not belong to this graph: node '" + weight.node +
                      "' " + why);
    };
    const NodeId id = pruned.FindNode(weight.node);
    if (id == kNoNode) refuse("is not there");
    const Node& node = pruned.node(id);
    const auto input = static_cast<std::size_t>(weight.input);
    if (input >= node.inputs.size()) refuse("has no such input");
    const TensorPtr old =
        node.inputs[input] == kNoValue ? nullptr : pruned.constant(node.inputs[input]);
    if (old == nullptr || old->dtype() != DType::kF32) refuse("reads no such constant");
    if (old->dims() != weight.values.dims()) refuse("has a constant of another shape");
    ReplaceConstant(pruned, id, input, weight.values);
  }
}

void SaveFitted(const Strategy& strategy, const std::string& file) {
  Check(strategy.fit.values != nullptr, "a strategy whose fitted weights are saved has them");
  WriteFileAtomic(file, ToBytes(*strategy.fit.values));
}

void LoadFitted(const std::string& file, Strategy& strategy) {
  const std::string bytes = ReadFile(file, kMaxBytes);
  if (Sha256Hex(bytes) != strategy.fit.weights) {
    throw UserError("'" + file + "' does not hold the fitted weights that the strategy names");
  }
  strategy.fit.values =
      std::make_shared<const FittedWeights>(FittedFromBytes(bytes, "'" + file + "'"));
}

void SaveStrategy(const Strategy& strategy, const std::string& path) {
  // Write the JSON last: its digest says whether the weights belong to it.
  if (!strategy.fit.weights.empty()) SaveFitted(strategy, WeightsBeside(path));
  WriteFileAtomic(path, ToJson(strategy, 2) + "\n");
}

void SaveStrategyFor(const Graph& canonical, const Strategy& strategy, const std::string& path) {
  Strategy noted = strategy;
  noted.inputs = {};
  for (const ValueId id : canonical.inputs()) {
    const auto& shape = canonical.type(id).shape;
    if (shape) noted.inputs.of_input[canonical.value(id).name] = ToString(*shape);
  }
  SaveStrategy(noted, path);
}

Strategy LoadStrategy(const std::string& path) {
  Strategy strategy = StrategyFromJson(ReadFile(path), "'" + path + "'");
  if (strategy.model_hash.empty() && !strategy.partition.empty()) {
    throw UserError("'" + path +
                    "' gives nodes to targets and does not say of which model: it needs the "
                    "model_hash that `mscgym partition --out` writes");
  }
  if (!strategy.fit.weights.empty()) LoadFitted(WeightsBeside(path), strategy);
  return strategy;
}

}  // namespace msc
