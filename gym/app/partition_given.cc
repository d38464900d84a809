#include "gym/app/partition_given.h"

#include <chrono>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/formatted.h"

namespace msc::gym {
namespace {

using nlohmann::json;

/// Sets the costs of the candidates of a problem, one row of the file at a time.
class Giver {
 public:
  Giver(std::string path, CoverProblem& problem) : path_(std::move(path)), problem_(problem) {
    for (std::size_t i = 0; i < problem.flow.size(); ++i) {
      nodes_.emplace(problem.flow.node(i).name, i);
    }
    for (std::size_t i = 0; i < problem.candidates.size(); ++i) {
      const CandidateRegion& candidate = problem.candidates[i];
      places_[candidate.target].emplace(candidate.nodes.Hash(), i);
    }
  }

  void Give(const json& row) {
    ++rows_;
    if (!row.is_object()) Reject("it is not an object");
    const json& target = At(row, "target");
    const json& names = At(row, "nodes");
    if (!target.is_string()) Reject("'target' is not text");
    if (!names.is_array() || names.empty()) Reject("'nodes' is not a list of names");
    CandidateRegion* const candidate = Find(target.get_ref<const std::string&>(), names);
    if (candidate == nullptr) {
      if (given_.unknown++ == 0) given_.example = target.get<std::string>() + " " + Text(names);
      return;
    }
    if (const auto micros = row.find("micros"); micros != row.end()) {
      candidate->cost = Cost::Micros(Number(*micros, "micros", Cost::kMaxMicros));
    } else if (const auto why = row.find("failure"); why != row.end() && why->is_string()) {
      candidate->cost = Cost::Invalid(why->get<std::string>());
    } else {
      return;
    }
    if (const auto bytes = row.find("bytes"); bytes != row.end()) {
      constexpr double kMaxBytes = 1e15;
      candidate->bytes = static_cast<std::int64_t>(Number(*bytes, "bytes", kMaxBytes));
    }
    ++given_.given;
  }

  [[nodiscard]] GivenCosts Take() && { return std::move(given_); }

 private:
  [[noreturn]] void Reject(const std::string& why) const {
    throw UserError("'" + path_ + "', row " + std::to_string(rows_) + " of 'list': " + why);
  }

  [[nodiscard]] const json& At(const json& row, const char* key) const {
    const auto it = row.find(key);
    if (it == row.end()) Reject("it has no '" + std::string(key) + "'");
    return *it;
  }

  [[nodiscard]] double Number(const json& value, const std::string& key, double most) const {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0 && number <= most)) {
      Reject("'" + key + Formatted("' is not a number from 0 to %g", most));
    }
    return number;
  }

  static std::string Text(const json& names) {
    std::string text = names.front().is_string() ? names.front().get<std::string>() : "?";
    if (names.size() > 1) text += " + " + std::to_string(names.size() - 1);
    return text;
  }

  /// Returns the candidate with these nodes, or nullptr.
  [[nodiscard]] CandidateRegion* Find(const std::string& target, const json& names) const {
    IndexSet nodes = problem_.flow.EmptySet();
    for (const json& name : names) {
      if (!name.is_string()) Reject("'nodes' is not a list of names");
      const auto it = nodes_.find(name.get_ref<const std::string&>());
      if (it == nodes_.end()) return nullptr;
      nodes.Insert(it->second);
    }
    const auto of_target = places_.find(target);
    if (of_target == places_.end()) return nullptr;
    const auto [first, last] = of_target->second.equal_range(nodes.Hash());
    for (auto it = first; it != last; ++it) {
      CandidateRegion& candidate = problem_.candidates[it->second];
      if (candidate.nodes == nodes) return &candidate;
    }
    return nullptr;
  }

  std::string path_;
  CoverProblem& problem_;
  std::unordered_map<std::string_view, std::size_t> nodes_;  ///< by name
  /// Candidates by target and hash of their nodes; the node sets of large graphs are large.
  std::unordered_map<std::string, std::unordered_multimap<std::size_t, std::size_t>> places_;
  GivenCosts given_;
  std::size_t rows_ = 0;
};

}  // namespace

GivenCosts ReadCosts(const std::string& path, CoverProblem& problem) {
  const auto start = std::chrono::steady_clock::now();
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30U;
  const std::string text = ReadFile(path, kMaxBytes);
  Giver giver(path, problem);
  bool listed = false;
  // There may be many rows, so each is discarded after reading.
  const auto read = [&, in_list = false](int depth, json::parse_event_t event,
                                         json& parsed) mutable {
    if (depth == 1 && event == json::parse_event_t::key) {
      in_list = parsed == "list";
      listed = listed || in_list;
    }
    if (!in_list || depth != 2) return true;
    if (event == json::parse_event_t::object_end || event == json::parse_event_t::value ||
        event == json::parse_event_t::array_end) {
      giver.Give(parsed);
      return false;
    }
    return true;
  };
  try {
    const json rest = json::parse(text, read);
    listed = listed && rest.is_object();
  } catch (const json::exception& error) {
    throw UserError("'" + path + "' is not valid JSON: " + error.what());
  }
  if (!listed) {
    throw UserError(
        "'" + path +
        "' has no 'list' of costs: write it in the form of `mscgym partition --dry-run --json`");
  }
  GivenCosts given = std::move(giver).Take();
  given.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return given;
}

void DescribeGiven(const GivenCosts& given, const cost::PartitionStudyResult& result,
                   double seconds, std::int64_t peak_bytes, PartitionView& view) {
  constexpr double kMiB = 1 << 20;
  const cost::TimedPartition& best = result.plans[*result.best];
  view.summary = Formatted("%s, %zu regions: the given costs sum to %.3f ms; nothing was measured",
                           best.name.c_str(), best.chosen.size(), 1e-3 * *best.predicted_micros);
  view.facts = {
      Formatted("%zu candidates have a given cost", given.given),
      Formatted("lower bound of the sum of regions %.1f us, optimality gap %.2f %%",
                result.lower_bound, 100 * result.gap),
      Formatted(
          "%.1f s in all: reading costs %.1f, searching %.3f, reading the model and proposing "
          "regions %.1f",
          seconds, given.seconds, result.seconds.search,
          seconds - given.seconds - result.seconds.all),
      Formatted("peak memory: %.0f MiB", static_cast<double>(peak_bytes) / kMiB)};
}

}  // namespace msc::gym
