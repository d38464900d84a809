#include "compiler/pipeline/tool_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/nearest.h"
#include "compiler/base/within.h"

namespace msc {
namespace {

/// A method that a tool knows, and the options it may have.
struct KnownMethod {
  std::string name;
  std::vector<std::string> options;
};
using KnownMethods = std::vector<KnownMethod>;

/// One use of a method, with its options checked.
class Method {
 public:
  Method(const RuleMethod& method, const KnownMethods& known) : method_(method) {
    std::vector<std::string> names;
    for (const KnownMethod& each : known) {
      names.push_back(each.name);
      if (each.name != method.name) continue;
      for (const auto& [option, value] : method.numbers) CheckOption(option, each);
      for (const auto& [option, value] : method.words) CheckOption(option, each);
      return;
    }
    throw UserError("unknown method '" + method.name + "'" + DidYouMean(method.name, names));
  }

  [[nodiscard]] const std::string& name() const { return method_.name; }
  [[nodiscard]] std::optional<double> Number(const std::string& option) const {
    if (method_.words.contains(option)) Reject(option, "a number");
    const auto it = method_.numbers.find(option);
    return it == method_.numbers.end() ? std::nullopt : std::optional(it->second);
  }
  /// Returns an option in [least, most]; UserError otherwise, and if it must be `whole` and is not.
  [[nodiscard]] double Number(const std::string& option, double otherwise, double least,
                              double most, bool whole = false) const {
    const double value = Number(option).value_or(otherwise);
    if (value >= least && value <= most && (!whole || value == std::nearbyint(value))) return value;
    Reject(option,
           std::string(whole ? "a whole number" : "a number") + " " + Within{least, most}.Text());
  }

 private:
  void CheckOption(const std::string& option, const KnownMethod& known) const {
    if (std::find(known.options.begin(), known.options.end(), option) != known.options.end()) {
      return;
    }
    throw UserError("method '" + known.name + "' has no option '" + option + "'" +
                    DidYouMean(option, known.options));
  }
  [[noreturn]] void Reject(const std::string& option, const std::string& wanted) const {
    throw UserError("'" + option + "' of method '" + method_.name + "' must be " + wanted);
  }

  const RuleMethod& method_;
};

const KnownMethods& PruneMethods() {
  static const KnownMethods kMethods = {
      {"per_channel", {"density", "stride"}}, {"l1", {"density", "align"}},
      {"l2", {"density", "align"}},           {"fpgm", {"density", "align"}},
      {"random", {"density", "align"}},       {"energy", {"density", "align"}},
      {"obs", {"density", "align"}},          {"taylor", {"density", "align"}}};
  return kMethods;
}

/// An option of the original tools that is accepted without effect, and what determines the result
/// instead.
struct PassedOption {
  std::string_view option;
  std::string_view instead;
  double done;  ///< the value that requests what happens anyway
};
constexpr double kNever = std::numeric_limits<double>::quiet_NaN();
constexpr std::array kPassed = {
    PassedOption{"axis", "weights have a scale an output channel", -1},
    PassedOption{"channel", "weights have a scale an output channel", kNever},
    PassedOption{"sign", "activations are unsigned where no value is negative", kNever},
    PassedOption{"auto_unsign", "activations are unsigned where no value is negative", 1},
    PassedOption{"epsilon", "scales are normal floats", kNever},
    PassedOption{"bins", "histograms have 2048 bins", 2048},
    PassedOption{"compare_to", "a stage is compared with the one before it", kNever},
};

const KnownMethods& QuantizeMethods() {
  static const std::vector<std::string> kOptions = {"nbits", "axis", "sign", "auto_unsign",
                                                    "epsilon"};
  static const KnownMethods kMethods = {{"quantize_normal", kOptions},
                                        {"dequantize_normal", kOptions},
                                        {"int8", {"nbits"}},
                                        {"f32", {}}};
  return kMethods;
}

const KnownMethods& CalibrateMethods() {
  static const KnownMethods kMethods = {
      {"calibrate_maxmin", {"nbits", "auto_unsign"}},
      {"calibrate_kl_divergence", {"nbits", "bins", "auto_unsign"}},
      {"minmax", {"affine"}},
      {"percentile", {"percentile", "affine"}},
      {"entropy", {"affine"}},
      {"mse", {"affine"}}};
  return kMethods;
}

const KnownMethods& GatherMethods() {
  static const KnownMethods kMethods = {
      {"gather_maxmin", {"nbits"}},
      {"gather_kl_divergence", {"nbits", "bins"}},
      {"gather_max_per_channel", {"nbits", "channel", "auto_unsign"}}};
  return kMethods;
}

const KnownMethods& DistillMethods() {
  static const KnownMethods kMethods = {
      {"loss_lp_norm", {"power", "weight"}},
      {"loss_kl_divergence", {"temperature", "softmax_dim", "weight"}},
      {"attention", {"power", "weight"}}};
  return kMethods;
}

const KnownMethods& TrackMethods() {
  static const KnownMethods kMethods = {{"save_compared", {"compare_to"}}, {"watch", {}}};
  return kMethods;
}

bool Knows(const KnownMethods& known, const RuleMethod& rule) {
  return std::any_of(known.begin(), known.end(),
                     [&](const KnownMethod& each) { return each.name == rule.name; });
}

/// Returns the bits of a rule at stage "quantize"; nullopt if there is no rule or nbits is -1.
std::optional<std::int64_t> BitsOf(const RuleMethod* rule) {
  if (rule == nullptr || !Knows(QuantizeMethods(), *rule)) return std::nullopt;
  const Method method(*rule, QuantizeMethods());
  if (method.name() == "f32" || method.name() == "dequantize_normal") return std::nullopt;
  if (method.Number("nbits") == -1.0) return std::nullopt;
  return static_cast<std::int64_t>(method.Number("nbits", 8, 2, 8, true));
}

/// Returns the bits of the integers that a value becomes; nullopt if it does not become integers.
std::optional<std::int64_t> BitsOf(const std::vector<const RuleMethod*>& rules) {
  for (const RuleMethod* rule : rules) {
    if (const auto bits = BitsOf(rule)) return bits;
  }
  return std::nullopt;
}

CalibrationOptions RangeOf(const RuleMethod& rule, const CalibrationOptions& otherwise) {
  const Method method(rule, CalibrateMethods());
  CalibrationOptions options = otherwise;
  options.method = method.name();
  if (method.name() == "calibrate_maxmin") options.method = "minmax";
  if (method.name() == "calibrate_kl_divergence") options.method = "entropy";
  options.percentile = method.Number("percentile", otherwise.percentile, 50, 100);
  options.affine = method.Number("affine", otherwise.affine ? 1 : 0, 0, 1, true) == 1;
  return options;
}

/// UserError unless softmax_dim is the last axis of every output.
void CheckSoftmax(const Method& method, const Graph& graph) {
  const double axis = method.Number("softmax_dim").value_or(-1);
  for (const ValueId output : graph.outputs()) {
    const auto& shape = graph.type(output).shape;
    if (axis == -1 || (shape && axis == static_cast<double>(std::ssize(*shape) - 1))) continue;
    throw UserError("'softmax_dim' of method '" + method.name() + "' must be -1, the last axis");
  }
}

/// Returns the rules of a value: those of its first reader that has any, else those of the value
/// itself. A value is scaled, compared or learned only once for all its readers.
std::vector<const RuleMethod*> RulesOf(const RuleBook& book, const Graph& graph, ValueId value,
                                       std::string_view stage) {
  for (const Use& use : graph.uses(value)) {
    auto rules = book.ForValue(graph, value, use.node, stage);
    if (!rules.empty()) return rules;
  }
  return book.ForValue(graph, value, kNoNode, stage);
}

/// Checks every stage and method of the file, also those that apply to no tensor.
void CheckMethods(const RuleBook& book, const std::map<std::string, KnownMethods>& by_stage) {
  for (const auto& [stage, method] : book.Methods()) {
    const auto known = by_stage.find(stage);
    if (known != by_stage.end()) {
      (void)Method(*method, known->second);
      continue;
    }
    std::vector<std::string> stages;
    for (const auto& [name, methods] : by_stage) stages.push_back(name);
    throw UserError("a rule is for the stage '" + stage + "', which this tool has not" +
                    DidYouMean(stage, stages));
  }
}

}  // namespace

RuleBook LoadRules(const std::string& path, const std::string& tool, const Graph& graph) {
  const std::string stage = tool == "pruner"      ? "prune"
                            : tool == "quantizer" ? "quantize"
                                                  : "default";
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20U;
  RuleFile file = ParseRules(ReadFile(path, kMaxBytes), "'" + path + "'", stage);
  if (!file.tool.empty() && file.tool != tool) {
    throw UserError("'" + path + "' is for a " + file.tool + ", not for a " + tool);
  }
  RuleBook book(std::move(file.rules), std::move(file.marks));
  book.CheckNames(graph);
  return book;
}

std::vector<std::string> PassedOver(const RuleBook& book) {
  std::set<std::string> notes;
  for (const auto& [stage, method] : book.Methods()) {
    for (const PassedOption& passed : kPassed) {
      const std::string option(passed.option);
      const auto number = method->numbers.find(option);
      const bool asked = number != method->numbers.end() ? number->second != passed.done
                                                         : method->words.contains(option);
      if (!asked) continue;
      notes.insert("'" + option + "' of method '" + method->name +
                   "' is passed over: " + std::string(passed.instead));
    }
  }
  for (const ToolRule& rule : book.rules()) {
    constexpr std::array kFollowing = {"bias", "gamma", "beta", "mean", "var", "slope"};
    if (std::find(kFollowing.begin(), kFollowing.end(), rule.of) == kFollowing.end()) continue;
    notes.insert("rules for '" + rule.of + "' are passed over: it goes with the weights");
  }
  return {notes.begin(), notes.end()};
}

namespace {

/// Returns the density in a layer's rule; 1 if it has none.
double DensityOf(const RuleBook& book, const Graph& graph, const std::string& layer) {
  const NodeId node = graph.FindNode(layer);
  const RuleMethod* const rule = book.ForWeight(graph, node, 1, "prune");
  return rule == nullptr ? 1 : Method(*rule, PruneMethods()).Number("density", 1, 1e-9, 1);
}

/// Checks that operators which rules name are cut as requested; UserError with the reason
/// otherwise. Layers picked by type or default are cut where possible.
void CheckNamedLayers(const RuleBook& book, const Graph& graph, const PruneSpace& space) {
  for (const ToolRule& rule : book.rules()) {
    if (rule.by != "op_name" || !rule.of.starts_with("weight")) continue;
    for (const std::string& name : rule.names) {
      if (space.Find(name) != nullptr) continue;
      const NodeId node = graph.FindNode(name);
      if (node == kNoNode || graph.node(node).inputs.size() < 2)
        throw UserError(space.WhyNone(name));
      const double density = DensityOf(book, graph, name);
      if (density == 1) continue;
      const bool follows =
          std::any_of(space.groups().begin(), space.groups().end(), [&](const PruneGroup& group) {
            const auto& layers = group.layers;
            return std::find(layers.begin(), layers.end(), name) != layers.end() &&
                   DensityOf(book, graph, group.name) == density;
          });
      if (!follows) throw UserError(space.WhyNone(name));
    }
  }
}

}  // namespace

PruneRules ReadPruneRules(const RuleBook& book, const Graph& graph, const PruneSpace& space) {
  CheckMethods(book, {{"prune", PruneMethods()}, {"default", PruneMethods()}});
  CheckNamedLayers(book, graph, space);
  PruneRules rules;
  for (const PruneGroup& group : space.groups()) {
    const RuleMethod* const rule = book.ForWeight(graph, graph.FindNode(group.name), 1, "prune");
    if (rule == nullptr) continue;
    const Method method(*rule, PruneMethods());
    const bool per_channel = method.name() == "per_channel";
    const double density = method.Number("density", 1, 1e-9, 1);
    if (density == 1) continue;
    rules.request.densities[group.name] = density;
    rules.request.alignments[group.name] =
        static_cast<std::int64_t>(per_channel ? method.Number("stride", 8, 1, 4096, true)
                                              : method.Number("align", 1, 1, 4096, true));
    rules.of_group[group.name] = per_channel ? ScoreMethod::kL1 : ParseScoreMethod(method.name());
  }
  return rules;
}

void ReadQuantizeRules(const RuleBook& book, const Graph& graph, QuantizeOptions& options) {
  KnownMethods any = GatherMethods();
  for (const KnownMethods* more : {&CalibrateMethods(), &QuantizeMethods()}) {
    any.insert(any.end(), more->begin(), more->end());
  }
  CheckMethods(book, {{"gather", GatherMethods()},
                      {"calibrate", CalibrateMethods()},
                      {"quantize", QuantizeMethods()},
                      {"default", any}});
  std::map<std::string, std::int64_t> value_bits;
  for (const QuantizableLayer& layer : FindQuantizableLayers(graph)) {
    const NodeId node = graph.FindNode(layer.name);
    const auto bits = BitsOf(book.ForWeight(graph, node, 1, "quantize"));
    const auto input =
        BitsOf(book.ForValue(graph, graph.node(node).inputs.at(0), node, "quantize"));
    if (input) value_bits.emplace(layer.input, *input);
    options.layers[layer.name] = bits && input ? Precision::kInt8 : Precision::kF32;
    if (bits) options.layer_bits[layer.name] = *bits;
    for (const std::string& name : {layer.input, layer.output, layer.residual}) {
      if (name.empty() || options.tensor_scales.contains(name)) continue;
      for (const RuleMethod* const rule :
           RulesOf(book, graph, graph.FindValue(name), "calibrate")) {
        if (!Knows(CalibrateMethods(), *rule)) continue;  // a default rule of another stage
        options.tensor_scales.emplace(name, RangeOf(*rule, options.scales));
      }
    }
  }
  for (const auto& [value, bits] : value_bits) {
    if (bits == options.scales.bits) continue;
    options.tensor_scales.emplace(value, options.scales).first->second.bits = bits;
  }
}

std::vector<DistillFeature> ReadDistillRules(const RuleBook& book, const Graph& graph,
                                             TrainSettings& settings) {
  CheckMethods(book, {{"distill", DistillMethods()}, {"default", DistillMethods()}});
  const auto weight = [](const Method& method) { return method.Number("weight", 1, 0, 1e9); };
  if (const RuleMethod* const rule = book.ForMark("loss", "distill")) {
    const Method method(*rule, DistillMethods());
    const bool is_norm = method.name() == "loss_lp_norm";
    if (method.name() == "attention") throw UserError("attention is for values inside the model");
    settings.kl = is_norm ? 0 : weight(method);
    settings.lp = is_norm ? weight(method) : 0;
    if (is_norm) settings.power = method.Number("power", 2, 0.1, 16);
    if (!is_norm) CheckSoftmax(method, graph);
    if (!is_norm) settings.temperature = method.Number("temperature", 5, 1e-3, 1e3);
  }
  std::vector<DistillFeature> features;
  for (const NodeId id : graph.order()) {
    for (const ValueId value : graph.node(id).outputs) {
      if (value == kNoValue) continue;
      const auto rules = RulesOf(book, graph, value, "distill");
      if (rules.empty()) continue;
      const Method method(*rules.front(), DistillMethods());
      if (method.name() == "loss_kl_divergence") {
        throw UserError("loss_kl_divergence is for outputs: the mark 'loss'");
      }
      DistillFeature feature;
      feature.teacher = feature.student = graph.value(value).name;
      feature.attention = method.name() == "attention";
      feature.power = method.Number("power", 2, 0.1, 16);
      feature.weight = weight(method);
      features.push_back(std::move(feature));
    }
  }
  if (features.empty() && book.ForMark("loss", "distill") == nullptr) {
    throw UserError("no rule says what is to be learned");
  }
  return features;
}

TrackRules ReadTrackRules(const RuleBook& book, const Graph& graph) {
  std::map<std::string, KnownMethods> known;
  for (const char* stage : {"default", "baseline", "optimize", "compile"}) {
    known[stage] = TrackMethods();
  }
  CheckMethods(book, known);
  TrackRules rules;
  for (const NodeId id : graph.order()) {
    for (const ValueId value : graph.node(id).outputs) {
      if (value == kNoValue) continue;
      const std::string& name = graph.value(value).name;
      const auto picked = [&](const char* stage) {
        return !RulesOf(book, graph, value, stage).empty();
      };
      if (picked("optimize")) rules.optimized.push_back(name);
      if (picked("compile")) rules.compiled.push_back(name);
      if (picked("baseline") || picked("optimize") || picked("compile")) rules.all.push_back(name);
    }
  }
  return rules;
}

}  // namespace msc
