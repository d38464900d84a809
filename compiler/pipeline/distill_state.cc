#include "compiler/pipeline/distill_state.h"

#include <bit>
#include <cstring>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"

namespace msc {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are stored as they lie in memory");

// Format: a line with the name of the format, a line with the SHA-256 of everything behind it, a
// line of JSON, then the lists of floats that the JSON announces.
constexpr std::string_view kMagic = "msc-training-1\n";
constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 30U;
constexpr std::size_t kDigest = 64;

struct StateHeader {
  std::string training;
  std::int64_t step = 0;
  double running_loss = 0;
  double best_validation = 0;
  std::int64_t stale = 0;
  std::vector<double> losses;
  std::vector<double> validations;
  std::vector<std::int64_t> sizes;  ///< sizes of the parameters
  bool second = false;
  bool best = false;
  static void Fields(auto& self, auto& visit) {
    visit("training", self.training, "hash of what is trained");
    visit("step", self.step, "steps done", Within{0, 1e15});
    visit("running_loss", self.running_loss, "sum over the unfinished epoch");
    visit("best_validation", self.best_validation, "lowest so far");
    visit("stale", self.stale, "epochs since then", Within{0, 1e9});
    visit("losses", self.losses, "by epoch");
    visit("validations", self.validations, "by epoch");
    visit("sizes", self.sizes, "numbers in each parameter", Within{0, 1e12});
    visit("second", self.second, "whether second moments follow");
    visit("best", self.best, "whether the best parameters follow");
  }
};

using Lists = std::vector<std::vector<float>>;

void Append(const Lists& lists, std::string& bytes) {
  for (const std::vector<float>& list : lists) {
    bytes.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(float));
  }
}

Lists Take(const std::vector<std::int64_t>& sizes, std::string_view& bytes) {
  Lists lists;
  for (const std::int64_t size : sizes) {
    if (static_cast<std::uint64_t>(size) > bytes.size() / sizeof(float)) {
      throw UserError("it ends before its values");
    }
    std::vector<float> list(static_cast<std::size_t>(size));
    if (size > 0) std::memcpy(list.data(), bytes.data(), list.size() * sizeof(float));
    bytes.remove_prefix(list.size() * sizeof(float));
    lists.push_back(std::move(list));
  }
  return lists;
}

TrainState Parse(std::string_view bytes, const std::string& hash) {
  if (!bytes.starts_with(kMagic)) throw UserError("it is no checkpoint of a training");
  bytes.remove_prefix(kMagic.size());
  const std::string_view digest = bytes.substr(0, kDigest);
  if (bytes.size() <= kDigest || bytes[kDigest] != '\n') throw UserError("it is cut off");
  bytes.remove_prefix(kDigest + 1);
  if (Sha256Hex(std::string_view(bytes)) != digest) throw UserError("it is damaged");
  const std::size_t line = bytes.find('\n');
  if (line == std::string_view::npos) throw UserError("it is damaged");
  const auto header = FromJsonText<StateHeader>(bytes.substr(0, line), "checkpoint");
  if (header.training != hash) {
    throw UserError(
        "it belongs to a training of another model, on other samples or with other settings");
  }
  if (header.losses.size() != header.validations.size()) throw UserError("it is damaged");
  bytes.remove_prefix(line + 1);
  TrainState state;
  state.step = header.step;
  state.running_loss = header.running_loss;
  state.best_validation = header.best_validation;
  state.stale = header.stale;
  for (std::size_t i = 0; i < header.losses.size(); ++i) {
    state.epochs.push_back({header.losses[i], header.validations[i]});
  }
  state.parameters = Take(header.sizes, bytes);
  state.first = Take(header.sizes, bytes);
  if (header.second) state.second = Take(header.sizes, bytes);
  if (header.best) state.best = Take(header.sizes, bytes);
  if (!bytes.empty()) throw UserError("it holds more than it announces");
  return state;
}

}  // namespace

void SaveTrainState(const std::string& path, const TrainState& state, const std::string& hash) {
  StateHeader header;
  header.training = hash;
  header.step = state.step;
  header.running_loss = state.running_loss;
  header.best_validation = state.best_validation;
  header.stale = state.stale;
  for (const TrainEpoch& epoch : state.epochs) {
    header.losses.push_back(epoch.loss);
    header.validations.push_back(epoch.validation);
  }
  for (const auto& list : state.parameters) {
    header.sizes.push_back(static_cast<std::int64_t>(list.size()));
  }
  header.second = !state.second.empty();
  header.best = !state.best.empty();
  std::string body = ToJsonText(header) + "\n";
  for (const Lists* lists : {&state.parameters, &state.first, &state.second, &state.best}) {
    Append(*lists, body);
  }
  WriteFileAtomic(path, std::string(kMagic) + Sha256Hex(body) + "\n" + body);
}

TrainState LoadTrainState(const std::string& path, const std::string& hash) {
  try {
    return Parse(ReadFile(path, kMaxBytes), hash);
  } catch (const UserError& error) {
    throw UserError("'" + path + "': " + error.what());
  }
}

}  // namespace msc
