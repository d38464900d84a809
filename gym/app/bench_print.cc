#include "gym/app/bench_print.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "cost/measure/common_parts.h"
#include "cost/measure/machine.h"
#include "gym/app/json_output.h"
#include "gym/app/step_work.h"

namespace msc::gym {
namespace {

constexpr double kGiga = 1e-9;

/// Work of a step, and the fraction of the roofline that it reaches.
struct StepShare {
  double gflops = 0;
  double share = 0;
  /// "flop" or "copy", the limiting roof; empty if the step's nodes have no cost.
  const char* roof = "";
};

std::vector<OpCost> WorkOfRow(const std::vector<StepTime>& times, const BenchRow& row) {
  std::map<std::string, OpCost> costs;
  for (const auto& [name, node] : row.nodes) costs[name] = node.cost;
  return WorkOf(times, costs);
}

StepShare ShareOf(const StepTime& step, const OpCost& cost, const cost::Roof& roof) {
  const double seconds = static_cast<double>(step.time.count()) * 1e-9;
  if (seconds <= 0 || cost.bytes <= 0) return {};
  const double flop = cost.flops / cost::PeakOf(roof, step.precision).per_second / seconds;
  const double copy = cost.bytes / roof.copy_bytes_per_second / seconds;
  return {.gflops = cost.flops / seconds * kGiga,
          .share = std::max(flop, copy),
          .roof = flop >= copy ? "flop" : "copy"};
}

double SecondsOf(const BenchRow& row) {
  return row.latency.median_ns * 1e-9;
}

void PrintRow(const BenchTitle& title, const BenchRow& row) {
  const std::string name = row.target + " " + row.variant;
  if (!row.executable) {
    std::printf("  %-26s  absent: %s\n", name.c_str(), row.why.c_str());
    return;
  }
  const MemoryUse& memory = row.executable->memory();
  std::printf("  %-26s %9.3f   %.3f [%.3f, %.3f]  %8.1f  %5.1f %%  %8.2f  %8.2f  %.0e%s",
              name.c_str(), row.latency.median_ns * 1e-6, row.latency.ratio, row.latency.ratio_low,
              row.latency.ratio_high, title.flops / SecondsOf(row) * kGiga,
              100 * row.roof_seconds / SecondsOf(row),
              static_cast<double>(memory.arena_bytes) * 1e-6,
              static_cast<double>(memory.constant_bytes) * 1e-6, row.max_error,
              row.latency.noisy ? "  noisy" : "");
  if (row.target != kPeer) {
    for (const auto& [target, steps] : row.elsewhere) {
      std::printf("  %zu of %zu steps on %s", steps, row.executable->steps().size(),
                  target.c_str());
    }
  }
  std::printf("\n");
}

nlohmann::ordered_json PeakJson(const cost::Peak& peak) {
  return {{"per_second", peak.per_second}, {"instruction", peak.instruction}};
}

nlohmann::ordered_json RowJson(const BenchTitle& title, const BenchRow& row) {
  nlohmann::ordered_json json = {{"target", row.target}, {"variant", row.variant}};
  if (!row.executable) {
    json["absent"] = row.why;
    return json;
  }
  const cost::Latency& latency = row.latency;
  const MemoryUse& memory = row.executable->memory();
  std::size_t elsewhere = 0;
  for (const auto& [target, steps] : row.elsewhere) elsewhere += steps;
  json.update({{"median_ms", latency.median_ns * 1e-6},
               {"ratio", latency.ratio},
               {"ratio_low", latency.ratio_low},
               {"ratio_high", latency.ratio_high},
               {"rounds", latency.rounds},
               {"noisy", latency.noisy},
               {"gflops", title.flops / SecondsOf(row) * kGiga},
               {"roof_share", row.roof_seconds / SecondsOf(row)},
               {"max_error", row.max_error},
               {"f32_error", row.f32_error ? nlohmann::ordered_json(*row.f32_error) : nullptr},
               {"arena_bytes", memory.arena_bytes},
               {"arena_lower_bound", memory.arena_lower_bound},
               {"constant_bytes", memory.constant_bytes},
               {"conversions", memory.conversions},
               {"conversion_bytes", memory.conversion_bytes},
               {"steps", row.executable->steps().size()},
               {"steps_elsewhere", elsewhere}});
  return json;
}

nlohmann::ordered_json ProfileJson(const BenchRow& row, const std::vector<StepTime>& times,
                                   const cost::Roof& roof) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  const std::vector<OpCost> work = WorkOfRow(times, row);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const StepTime& step = times[i];
    const StepShare share = ShareOf(step, work[i], roof);
    steps.push_back({{"name", step.name},
                     {"target", step.target},
                     {"precision", step.precision},
                     {"nodes", step.nodes},
                     {"us", static_cast<double>(step.time.count()) * 1e-3},
                     {"gflops", share.gflops},
                     {"roof_share", share.share},
                     {"roof", share.roof}});
  }
  return steps;
}

/// Returns the rows whose steps can be compared, by variant: at least two rows of several steps
/// each.
std::map<std::string, std::vector<std::size_t>> ComparableRows(
    const std::vector<BenchRow>& rows, const std::vector<std::vector<StepTime>>& profiles) {
  std::map<std::string, std::vector<std::size_t>> rows_of;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (rows[i].executable && profiles[i].size() > 1) rows_of[rows[i].variant].push_back(i);
  }
  std::erase_if(rows_of, [](const auto& entry) { return entry.second.size() < 2; });
  return rows_of;
}

cost::CommonParts PartsOf(const std::vector<BenchRow>& rows,
                          const std::vector<std::vector<StepTime>>& profiles,
                          const std::vector<std::size_t>& chosen) {
  std::vector<cost::NodeProfile> steps;
  for (const std::size_t i : chosen) {
    steps.push_back({.steps = profiles[i]});
    for (const auto& [name, node] : rows[i].nodes) {
      if (!node.origins.empty()) steps.back().origins[name] = node.origins;
    }
  }
  return cost::FindCommonParts(steps);
}

/// Returns the kind of the node with the most work in a part.
std::string KindOfPart(const cost::CommonPart& part, const BenchRow& row) {
  const BenchNode* most = nullptr;
  for (const auto& [name, node] : row.nodes) {
    const std::string& stands_for = node.origins.empty() ? name : node.origins.front();
    if (std::find(part.nodes.begin(), part.nodes.end(), stands_for) == part.nodes.end()) continue;
    if (most == nullptr || node.cost.flops > most->cost.flops) most = &node;
  }
  return most == nullptr ? "other" : most->kind;
}

nlohmann::ordered_json PartsJson(const std::vector<BenchRow>& rows,
                                 const std::vector<std::vector<StepTime>>& profiles) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [variant, chosen] : ComparableRows(rows, profiles)) {
    const cost::CommonParts common = PartsOf(rows, profiles, chosen);
    nlohmann::ordered_json parts = nlohmann::ordered_json::array();
    for (const cost::CommonPart& part : common.parts) {
      nlohmann::ordered_json micros = nlohmann::ordered_json::object();
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        micros[rows[chosen[i]].target] =
            part.micros[i] ? nlohmann::ordered_json(*part.micros[i]) : nullptr;
      }
      parts.push_back({{"kind", KindOfPart(part, rows[chosen.front()])},
                       {"nodes", part.nodes},
                       {"us", std::move(micros)}});
    }
    nlohmann::ordered_json turning = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      turning[rows[chosen[i]].target] = common.conversions[i];
    }
    json[variant] = {{"parts", std::move(parts)}, {"turning_us", std::move(turning)}};
  }
  return json;
}

}  // namespace

void PrintTable(const BenchTitle& title, const BenchSetup& setup,
                const std::vector<BenchRow>& rows) {
  const cost::Roof& roof = setup.roof;
  std::printf("%s, batch %lld, %d thread%s, %s, %.3f GFLOP\n", title.model.c_str(),
              static_cast<long long>(title.batch), title.threads, title.threads == 1 ? "" : "s",
              cost::ReadMachine().cpu.c_str(), title.flops * kGiga);
  std::printf(
      "roof of this machine: f32 %.0f GFLOP/s (%s), bf16 %.0f (%s), int8 %.0f (%s), copy %.1f "
      "GB/s\n",
      roof.f32.per_second * kGiga, roof.f32.instruction.c_str(), roof.bf16.per_second * kGiga,
      roof.bf16.instruction.c_str(), roof.int8.per_second * kGiga, roof.int8.instruction.c_str(),
      roof.copy_bytes_per_second * kGiga);
  std::printf("  %-26s %9s   %-21s  %8s  %7s  %8s  %8s  %s\n", "", "median ms",
              "ratio to first, 95 %", "GFLOP/s", "of roof", "arena MB", "const MB", "error");
  for (const BenchRow& row : rows) PrintRow(title, row);
}

void PrintJson(const BenchTitle& title, const BenchSetup& setup, const std::vector<BenchRow>& rows,
               const TargetRegistry& targets, const std::vector<std::vector<StepTime>>& profiles) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  nlohmann::ordered_json versions = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    list.push_back(RowJson(title, rows[i]));
    if (rows[i].executable) {
      if (rows[i].target == kMixed) continue;
      const std::string target = rows[i].target == kPeer ? "onnxruntime" : rows[i].target;
      versions[rows[i].target] = targets.Get(target).facts().version;
    }
    if (i < profiles.size() && rows[i].executable) {
      list.back()["profile"] = ProfileJson(rows[i], profiles[i], setup.roof);
    }
  }
  nlohmann::ordered_json all = {{"model", title.model},
                                {"batch", title.batch},
                                {"threads", title.threads},
                                {"flops", title.flops},
                                {"cpu", cost::ReadMachine().cpu},
                                {"versions", versions},
                                {"roof",
                                 {{"f32", PeakJson(setup.roof.f32)},
                                  {"bf16", PeakJson(setup.roof.bf16)},
                                  {"int8", PeakJson(setup.roof.int8)},
                                  {"copy_bytes_per_second", setup.roof.copy_bytes_per_second}}},
                                {"rows", list}};
  if (!profiles.empty()) all["parts"] = PartsJson(rows, profiles);
  PrintJsonResult("msc-bench-1", all);
}

void PrintProfile(const BenchRow& row, const std::vector<StepTime>& times, const cost::Roof& roof) {
  double total = 0;
  for (const StepTime& step : times) total += static_cast<double>(step.time.count());
  std::printf("\n%s %s: %zu steps, %.3f ms\n  %10s %6s  %-9s %-5s %8s  %-11s %s\n",
              row.target.c_str(), row.variant.c_str(), times.size(), total * 1e-6, "us", "share",
              "target", "prec", "GFLOP/s", "of roof", "step");
  const std::vector<OpCost> work = WorkOfRow(times, row);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const StepTime& step = times[i];
    const auto ns = static_cast<double>(step.time.count());
    const StepShare share = ShareOf(step, work[i], roof);
    std::printf("  %10.1f %5.1f%%  %-9s %-5s %8.1f  %4.0f%% %-5s %s\n", ns * 1e-3,
                total > 0 ? 100 * ns / total : 0, step.target.c_str(),
                step.precision.empty() ? "-" : step.precision.c_str(), share.gflops,
                100 * share.share, share.roof, step.name.c_str());
  }
}

void PrintParts(const std::vector<BenchRow>& rows,
                const std::vector<std::vector<StepTime>>& profiles) {
  for (const auto& [variant, chosen] : ComparableRows(rows, profiles)) {
    const cost::CommonParts common = PartsOf(rows, profiles, chosen);
    std::printf("\n%s, microseconds by part (* fastest, - fused into another part)\n ",
                variant.c_str());
    for (const std::size_t i : chosen) std::printf(" %14s", rows[i].target.c_str());
    std::printf("   nodes\n");
    std::vector<double> sums = common.conversions;
    for (const cost::CommonPart& part : common.parts) {
      std::printf(" ");
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const char mark = i == part.fastest ? '*' : ' ';
        if (part.micros[i]) {
          std::printf(" %13.1f%c", *part.micros[i], mark);
        } else {
          std::printf(" %13s ", "-");
        }
        sums[i] += part.micros[i].value_or(0);
      }
      std::printf("   %s", part.nodes.front().c_str());
      if (part.nodes.size() > 1) std::printf(" and %zu more", part.nodes.size() - 1);
      std::printf("\n");
    }
    std::printf(" ");
    for (const double micros : common.conversions) std::printf(" %13.1f ", micros);
    std::printf("   layout conversions\n ");
    for (const double sum : sums) std::printf(" %13.1f ", sum);
    std::printf("   sum\n");
    const double best = *std::min_element(sums.begin(), sums.end());
    if (const std::optional<double> ideal = common.Ideal()) {
      std::printf(
          "Each part on its fastest target, without layout conversions: %.1f (%.2fx); see 'mscgym "
          "partition'\n",
          *ideal, best / *ideal);
    } else {
      std::printf("No sum of the fastest parts: these targets fuse different nodes.\n");
    }
  }
}

}  // namespace msc::gym
