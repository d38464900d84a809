#include "gym/app/partition_print.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/formatted.h"
#include "gym/app/json_output.h"
#include "gym/search/learned_facts.h"

namespace msc::gym {
namespace {

std::string Micros(std::optional<double> micros) {
  return micros ? Formatted("%.1f", *micros) : "-";
}

/// Returns the candidate that is the whole graph on one target.
std::optional<std::uint32_t> WholeOn(const CoverProblem& problem, const std::string& target) {
  for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
    const CandidateRegion& candidate = problem.candidates[i];
    if (candidate.target == target && candidate.nodes.Count() == problem.flow.size()) return i;
  }
  return std::nullopt;
}

/// Candidates by the hash of their nodes.
using Rivals = std::unordered_multimap<std::size_t, const CandidateRegion*>;

/// Fills in the cheapest other target for the same nodes, and the reason for choosing the
/// candidate.
void Compare(const Rivals& rivals, const CandidateRegion& chosen, PartitionBox& box) {
  const CandidateRegion* next = nullptr;
  std::size_t refuse = 0;
  std::size_t others = 0;
  const auto [first, last] = rivals.equal_range(chosen.nodes.Hash());
  for (auto it = first; it != last; ++it) {
    const CandidateRegion& other = *it->second;
    if (other.target == chosen.target || !(other.nodes == chosen.nodes)) continue;
    ++others;
    refuse += other.cost.invalid() ? 1 : 0;
    if (!other.cost.known()) continue;
    if (next == nullptr || other.cost.micros() < next->cost.micros()) next = &other;
  }
  if (next == nullptr) {
    box.why = others == refuse ? "no other target runs these nodes as one region"
                               : "other targets were not measured on these nodes";
    return;
  }
  box.alternative = next->target;
  box.alternative_micros = next->cost.micros();
  if (!chosen.cost.known()) {  // a whole graph whose cost as a region lazy measuring never needed
    box.why = "was measured only as a whole model";
    return;
  }
  const double factor = next->cost.micros() / std::max(chosen.cost.micros(), 1e-9);
  const bool whole = chosen.nodes.Count() == chosen.nodes.universe();
  if (factor < 1 && whole) {
    box.why = Formatted("%.2fx as fast as the next best as a region, but faster as a whole model",
                        factor);
    return;
  }
  box.why = factor >= 1
                ? Formatted("%.2fx as fast as the next best", factor)
                : Formatted("%.2fx as fast as the next best, which would make other parts slower",
                            factor);
}

PartitionBox BoxOf(const CoverProblem& problem, const Rivals& rivals,
                   const CandidateRegion& candidate) {
  PartitionBox box;
  box.target = candidate.target;
  box.rule = RulesOf(candidate);
  candidate.nodes.ForEach([&](std::size_t i) {
    const FlowNode& node = problem.flow.node(i);
    box.nodes.push_back(node.name + " (" + node.op + ")");
  });
  if (candidate.cost.known()) box.micros = candidate.cost.micros();
  Compare(rivals, candidate, box);
  for (const FlowIndex tensor : TensorsOut(problem.flow, candidate.nodes)) {
    box.bytes_out += problem.flow.tensor(tensor).bytes;
  }
  return box;
}

std::vector<PartitionBox> BoxesOf(const CoverProblem& problem, const cost::TimedPartition& plan) {
  std::vector<std::uint32_t> chosen = plan.chosen;
  if (chosen.empty()) {
    if (const auto whole = WholeOn(problem, plan.runner.target)) chosen = {*whole};
  }
  Rivals rivals;
  for (const CandidateRegion& candidate : problem.candidates) {
    rivals.emplace(candidate.nodes.Hash(), &candidate);
  }
  std::vector<PartitionBox> boxes;
  std::map<FlowIndex, std::size_t> box_of;
  for (const std::uint32_t i : chosen) {
    const CandidateRegion& candidate = problem.candidates[i];
    PartitionBox box = BoxOf(problem, rivals, candidate);
    for (const FlowIndex tensor : TensorsIn(problem.flow, candidate.nodes)) {
      const FlowIndex from = problem.flow.tensor(tensor).producer;
      if (from == kNoFlow) continue;
      const std::size_t read = box_of.at(from);
      if (std::find(box.reads.begin(), box.reads.end(), read) == box.reads.end()) {
        box.reads.push_back(read);
      }
    }
    candidate.nodes.ForEach(
        [&](std::size_t n) { box_of[static_cast<FlowIndex>(n)] = boxes.size(); });
    boxes.push_back(std::move(box));
  }
  return boxes;
}

/// Returns the image transposes between the plan's regions. Images between two targets that both
/// keep them channels last are not transposed.
std::vector<PartitionTurn> TurnsOf(const CoverProblem& problem, const cost::TimedPartition& plan) {
  std::vector<PartitionTurn> turns;
  const Result<std::vector<ConversionStep>> steps = ConversionsNeeded(problem, plan.chosen);
  if (!steps.ok()) return turns;
  for (const ConversionStep& step : steps.value()) {
    if (step.from != kDense && step.to != kDense) continue;
    turns.push_back({.tensor = problem.flow.tensor(step.tensor).name,
                     .from = problem.labels[step.from],
                     .to = problem.labels[step.to],
                     .micros = step.micros});
  }
  return turns;
}

double MiB(std::int64_t bytes) {
  constexpr double kMiB = 1 << 20;
  return static_cast<double>(bytes) / kMiB;
}

std::string NameOf(const cost::TimedPartition& plan) {
  std::string name = plan.name;
  for (const std::string& other : plan.also) name += " = " + other;
  return name;
}

std::string Where(const PartitionOutcome& outcome) {
  const cost::StudySeconds& s = outcome.result->seconds;
  return Formatted("%.1f s in all: ", outcome.seconds) +
         Formatted("compiling kernels %.1f, ", s.kernels) +
         Formatted("building regions %.1f and ", s.build_regions) +
         Formatted("timing them %.1f, ", s.time_regions) +
         Formatted("building whole plans %.1f and ", s.build_plans) +
         Formatted("timing them %.1f, ", s.time_plans) +
         Formatted("waiting for cores in use by other measurements %.1f, ", s.waiting) +
         Formatted("searching %.3f, ", s.search) +
         Formatted("looking up known costs %.1f, ", s.all - s.kernels - s.build_regions -
                                                        s.time_regions - s.build_plans -
                                                        s.time_plans - s.waiting - s.search) +
         Formatted("reading the model and proposing regions %.1f", outcome.seconds - s.all);
}

/// Returns "2 on onednn, 1 on native", in order of the first.
std::string RegionsByTarget(const CoverProblem& problem, const cost::TimedPartition& plan) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const std::uint32_t i : plan.chosen) {
    const std::string& target = problem.candidates[i].target;
    const auto found =
        std::ranges::find(counts, target, [](const auto& each) { return each.first; });
    if (found == counts.end()) {
      counts.emplace_back(target, 1);
    } else {
      ++found->second;
    }
  }
  std::string text;
  for (const auto& [target, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " on " + target;
  }
  return text;
}

std::string Summary(const CoverProblem& problem, const cost::PartitionStudyResult& result) {
  const cost::TimedPartition& best = result.plans[*result.best];
  if (!best.measured_micros) return best.name;
  const std::string time = Formatted("%.3f ms", best.measured_micros.value() * 1e-3);
  if (best.chosen.empty()) {
    return best.name + " alone is fastest: " + time +
           "; no combination of targets was faster beyond the noise";
  }
  const std::size_t regions = best.chosen.size();
  return best.name + " is fastest: " + time +
         Formatted(", %.3fx as fast as the fastest single target", 1 / best.ratio) +
         Formatted(" (95 %% interval %.3f to %.3f); ", 1 / best.ratio_high, 1 / best.ratio_low) +
         std::to_string(regions) + (regions == 1 ? " region: " : " regions: ") +
         RegionsByTarget(problem, best);
}

nlohmann::ordered_json Number(std::optional<double> value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json LearnedJson(const cost::LearnedUse& use) {
  nlohmann::ordered_json errors = nlohmann::ordered_json::array();
  for (const auto& [target, error] : use.errors) {
    errors.push_back({{"target", target},
                      {"samples", error.samples},
                      {"models", error.models},
                      {"correlation", error.correlation},
                      {"error", error.error},
                      {"typical", error.typical},
                      {"factor", error.factor},
                      {"trusted", error.trusted}});
  }
  return {{"skipped", use.skipped},
          {"audited", use.audited},
          {"wrong", use.wrong},
          {"given_up", use.given_up},
          {"here",
           {{"regions", use.here.regions},
            {"correlation", use.here.correlation},
            {"error", use.here.error},
            {"typical", use.here.typical}}},
          {"errors", std::move(errors)}};
}

}  // namespace

PartitionView ViewOf(const PartitionOutcome& outcome) {
  const CoverProblem& problem = *outcome.problem;
  const cost::PartitionStudyResult& result = *outcome.result;
  PartitionView view;
  view.model = outcome.model;
  view.machine = outcome.machine + ", " + std::to_string(outcome.threads) + " thread" +
                 (outcome.threads == 1 ? "" : "s");
  view.summary = Summary(problem, result);
  view.boxes = BoxesOf(problem, result.plans[*result.best]);
  if (!result.plans[*result.best].chosen.empty()) {
    view.turns = TurnsOf(problem, result.plans[*result.best]);
  }
  for (std::size_t i = 0; i < result.plans.size(); ++i) {
    const cost::TimedPartition& plan = result.plans[i];
    PartitionRow row{.name = NameOf(plan),
                     .regions = std::max<std::size_t>(plan.chosen.size(), 1),
                     .predicted_micros = plan.predicted_micros,
                     .measured_micros = plan.measured_micros,
                     .note = plan.failure,
                     .best = i == *result.best};
    if (plan.measured_micros) {
      row.ratio = plan.ratio;
      row.ratio_low = plan.ratio_low;
      row.ratio_high = plan.ratio_high;
    }
    view.rows.push_back(std::move(row));
  }
  const auto invalid = std::count_if(problem.candidates.begin(), problem.candidates.end(),
                                     [](const CandidateRegion& c) { return c.cost.invalid(); });
  view.facts = {
      std::to_string(problem.candidates.size()) + " candidates, " + std::to_string(invalid) +
          " of which their target rejects; " + std::to_string(outcome.costs.measured) +
          " measured, " + std::to_string(outcome.costs.found) +
          " known from the cache or regions of the same structure; layout conversions of images: " +
          std::to_string(outcome.turns.measured) + " measured, " +
          std::to_string(outcome.turns.found) + " known",
      "lower bound of the sum of regions " + Formatted("%.1f us", result.lower_bound) +
          ", optimality gap " + Formatted("%.2f %%", 100 * result.gap) +
          (result.bound_proven ? "" : ", if the bounds of costs that were not requested are true") +
          (result.unmeasured > 0 ? ", among regions that were measured" : "") +
          "; boundaries add " + Formatted("%.2f us per region", result.boundary.micros_per_region) +
          Formatted(" and %.3f ns per byte to the sum", 1e3 * result.boundary.micros_per_byte),
      Where(outcome),
      "peak memory: " + Formatted("%.0f MiB in this process, ", MiB(outcome.peak_bytes)) +
          Formatted("%.0f MiB in the largest process that compiled or timed",
                    MiB(outcome.child_peak_bytes))};
  for (const cost::NoPlan& none : result.without_plan) {
    view.facts.push_back(none.search + " gave no plan: " + none.why);
  }
  if (result.unmeasured > 0) {
    view.facts.push_back(
        "time ran out: the costs of " + std::to_string(result.unmeasured) + " of " +
        std::to_string(problem.candidates.size()) +
        " candidates are unknown, and a plan with them may be faster; run the same command again "
        "to continue");
  }
  if (result.lazy.asked > 0) {
    view.facts.push_back("requested " + std::to_string(result.lazy.asked) + " costs; " +
                         std::to_string(result.lazy.violated) + " of " +
                         std::to_string(result.lazy.checked) + " were below their lower bounds");
  }
  for (std::string& fact : LearnedFacts(result.learned)) view.facts.push_back(std::move(fact));
  if (!result.taken.empty()) {
    view.facts.push_back("times of whole plans are cached from an earlier run, measured at " +
                         result.taken + "; --fresh measures them again");
  }
  return view;
}

void PrintPartition(const PartitionView& view) {
  std::printf("%s, %s\n%s\n", view.model.c_str(), view.machine.c_str(), view.summary.c_str());
  std::printf("  %3s  %-20s %10s  %-20s %10s  %s\n", "#", "target", "us", "next best", "us",
              "nodes (proposed by); why");
  for (std::size_t i = 0; i < view.boxes.size(); ++i) {
    const PartitionBox& box = view.boxes[i];
    std::string nodes = box.nodes.front();
    if (box.nodes.size() > 1) nodes += " + " + std::to_string(box.nodes.size() - 1);
    std::printf("  %3zu  %-20s %10s  %-20s %10s  %s (%s); %s\n", i + 1, box.target.c_str(),
                Micros(box.micros).c_str(), box.alternative.empty() ? "-" : box.alternative.c_str(),
                Micros(box.alternative_micros).c_str(), nodes.c_str(), box.rule.c_str(),
                box.why.c_str());
  }
  for (const PartitionTurn& turn : view.turns) {
    std::printf("  converted: %s from %s to %s, %.1f us\n", turn.tensor.c_str(), turn.from.c_str(),
                turn.to.c_str(), turn.micros);
  }
  std::printf("  %-20s %8s %12s %12s %8s   %s\n", "plan", "regions", "sum us", "measured us",
              "error", "ratio to the fastest single target, 95 %");
  for (const PartitionRow& row : view.rows) {
    std::printf("%s %-20s %8zu %12s %12s", row.best ? " *" : "  ", row.name.c_str(), row.regions,
                Micros(row.predicted_micros).c_str(), Micros(row.measured_micros).c_str());
    const bool both = row.predicted_micros && row.measured_micros;
    std::printf(
        " %8s   ",
        both ? Formatted("%+.1f %%", 100 * (*row.measured_micros / *row.predicted_micros - 1))
                   .c_str()
             : "-");
    if (row.ratio) {
      std::printf("%.3f [%.3f, %.3f]\n", *row.ratio, *row.ratio_low, *row.ratio_high);
    } else {
      std::printf("%s\n", row.note.c_str());
    }
  }
  for (const std::string& fact : view.facts) std::printf("%s\n", fact.c_str());
}

void PrintPartitionJson(const PartitionOutcome& outcome, const PartitionView& view) {
  const cost::PartitionStudyResult& result = *outcome.result;
  nlohmann::ordered_json regions = nlohmann::ordered_json::array();
  for (const PartitionBox& box : view.boxes) {
    regions.push_back({{"target", box.target},
                       {"rule", box.rule},
                       {"nodes", box.nodes},
                       {"micros", Number(box.micros)},
                       {"alternative", box.alternative},
                       {"alternative_micros", Number(box.alternative_micros)},
                       {"why", box.why}});
  }
  nlohmann::ordered_json plans = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < view.rows.size(); ++i) {
    const PartitionRow& row = view.rows[i];
    plans.push_back({{"name", result.plans[i].name},
                     {"also", result.plans[i].also},
                     {"regions", row.regions},
                     {"predicted_micros", Number(row.predicted_micros)},
                     {"measured_micros", Number(row.measured_micros)},
                     {"ratio", Number(row.ratio)},
                     {"ratio_low", Number(row.ratio_low)},
                     {"ratio_high", Number(row.ratio_high)},
                     {"note", row.note},
                     {"best", row.best},
                     {"chosen", result.plans[i].chosen}});
  }
  nlohmann::ordered_json without = nlohmann::ordered_json::array();
  for (const cost::NoPlan& none : result.without_plan) {
    without.push_back({{"search", none.search}, {"why", none.why}});
  }
  nlohmann::ordered_json turns = nlohmann::ordered_json::array();
  for (const PartitionTurn& turn : view.turns) {
    turns.push_back(
        {{"tensor", turn.tensor}, {"from", turn.from}, {"to", turn.to}, {"micros", turn.micros}});
  }
  const auto index = [](const std::optional<std::size_t>& plan) {
    return plan ? nlohmann::ordered_json(*plan) : nlohmann::ordered_json();
  };
  const nlohmann::ordered_json root = {
      {"model", view.model},
      {"machine", view.machine},
      {"versions", outcome.versions},
      {"nodes", outcome.problem->flow.size()},
      {"summary", view.summary},
      {"candidates", outcome.problem->candidates.size()},
      {"distinct", result.distinct},
      {"lazy_asked", result.lazy.asked},
      {"lazy_checked", result.lazy.checked},
      {"lazy_violated", result.lazy.violated},
      {"learned", LearnedJson(result.learned)},
      {"measured", outcome.costs.measured},
      {"found", outcome.costs.found},
      {"failed", outcome.costs.failed},
      {"seconds", outcome.seconds},
      {"peak_bytes", outcome.peak_bytes},
      {"child_peak_bytes", outcome.child_peak_bytes},
      {"where",
       {{"kernels", result.seconds.kernels},
        {"build_regions", result.seconds.build_regions},
        {"time_regions", result.seconds.time_regions},
        {"build_plans", result.seconds.build_plans},
        {"time_plans", result.seconds.time_plans},
        {"waiting", result.seconds.waiting},
        {"search", result.seconds.search},
        {"solve", result.seconds.solve},
        {"study", result.seconds.all}}},
      {"without_plan", std::move(without)},
      {"plans_taken", result.taken},
      {"lower_bound_micros", result.lower_bound},
      {"gap", result.gap},
      {"bound_proven", result.bound_proven},
      {"boundary_scale", result.boundary.scale},
      {"boundary_micros_per_region", result.boundary.micros_per_region},
      {"boundary_micros_per_byte", result.boundary.micros_per_byte},
      {"stopped", result.stopped},
      {"unmeasured", result.unmeasured},
      {"single", index(result.single)},
      {"mixed", index(result.mixed)},
      {"turns_measured", outcome.turns.measured},
      {"turns_found", outcome.turns.found},
      {"plans", plans},
      {"regions", regions},
      {"turns", turns}};
  PrintJsonResult("msc-partition-1", root);
}

}  // namespace msc::gym
