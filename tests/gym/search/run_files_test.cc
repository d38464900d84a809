#include "gym/search/run_files.h"

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

TEST(RunFiles, NameTheirFormat) {
  EXPECT_NE(ResultsJson({}).find("\n \"format\": \"msc-results-1\""), std::string::npos);
  cost::MachineFacts machine;
  machine.cpu = "a CPU";
  const std::string env = EnvJson(machine, "abc");
  EXPECT_NE(env.find("\n  \"format\": \"msc-env-1\""), std::string::npos);
  EXPECT_NE(env.find("\n  \"cpu\": \"a CPU\""), std::string::npos);
  EXPECT_NE(env.find("\n  \"model_hash\": \"abc\""), std::string::npos);
}

TEST(RunFiles, HaveTheParetoSetInItsOrder) {
  StudyResult study;
  for (const std::int32_t number : {0, 1, 2}) {
    Trial& trial = study.trials.emplace_back();
    trial.number = static_cast<std::uint64_t>(number);
    trial.source = "anchor";
    trial.assignment = {number};
    trial.evaluation.metrics = {{"size", 3.0 - number}};
  }
  study.pareto = {2, 0};
  EXPECT_EQ(
      ParetoJson({.minimize = {"size"}, .subject_to = {{.metric = "size", .limit = 2}}}, study),
      R"({
  "format": "msc-pareto-1",
  "trials": [
    {
      "assignment": [
        2
      ],
      "feasible": true,
      "metrics": {
        "size": 1.0
      },
      "source": "anchor",
      "trial": 2
    },
    {
      "assignment": [
        0
      ],
      "feasible": false,
      "metrics": {
        "size": 3.0
      },
      "source": "anchor",
      "trial": 0
    }
  ]
}
)");
}

}  // namespace
}  // namespace msc::gym
