#include "gym/search/report/facts.h"

#include <algorithm>
#include <string>

#include "envs/common/evaluation.h"
#include "gym/search/phase_time.h"

namespace msc::gym {

std::vector<ReportFact> MakeFacts(const SearchRun& run) {
  const cost::MachineFacts& machine = run.setup.machine;
  std::vector<ReportFact> facts = {
      {"CPU", machine.cpu},
      {"cores", std::to_string(machine.cores)},
      {"threads per candidate", std::to_string(run.setup.config.threads)},
      {"memory", std::to_string(machine.memory_bytes >> 20U) + " MiB"},
      {"virtual machine", machine.virtual_machine ? "yes" : "no"},
      {"kernel", machine.kernel},
      {"system", machine.os},
  };
  for (const auto& [name, version] : machine.libraries) facts.push_back({name, version});
  facts.push_back({"model hash", run.setup.model_hash});
  facts.push_back({"samples per trial", std::to_string(run.setup.config.quality.samples)});
  if (run.findings.judged > 0) {
    facts.push_back({"samples of finalists", std::to_string(run.findings.judged)});
  }
  const bool energy = std::any_of(
      run.study.trials.begin(), run.study.trials.end(),
      [](const Trial& trial) { return Metric(trial.evaluation, envs::kEnergy).has_value(); });
  if (energy) facts.push_back({"energy", "read from the processor's counters during timing"});
  if (run.setup.known > 0) {
    facts.push_back({"trials of an earlier search", std::to_string(run.setup.known)});
  }
  if (run.findings.used_s > 0) {
    facts.push_back({"time", UsedText(run.findings.used_s, run.setup.config.time_budget_s)});
  }
  for (const std::string& what : run.findings.shortened) {
    facts.push_back({"cut short by time_budget_s", what});
  }
  if (!run.findings.pairs.empty()) facts.push_back({"8-bit sums", run.findings.pairs});
  return facts;
}

}  // namespace msc::gym
