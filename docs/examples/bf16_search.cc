// A search with an env of its own: bf16_search CONFIG.json RUN_FOLDER PATH_OF_MSCGYM
#include <iostream>
#include <memory>
#include <utility>

#include "compiler/compress/quantize/quantize.h"
#include "envs/common/strategy_problem.h"
#include "gym/msc_config/read_config.h"
#include "gym/search/search.h"

namespace {

/// Decides for each layer whether it computes in f32 or in bf16.
class Bf16Problem final : public msc::envs::StrategyProblem {
 public:
  explicit Bf16Problem(const msc::envs::ModelContext& model) : StrategyProblem("Bf16-v0", model) {
    for (const auto& layer : msc::FindQuantizableLayers(*model.graph)) {
      decisions_.push_back({layer.name, {"f32", "bf16"}});  // first choices change nothing
    }
  }

 private:
  const std::vector<msc::gym::Decision>& DoDecisions() const override { return decisions_; }
  msc::Strategy DoStrategyOf(const msc::gym::Assignment& assignment) const override {
    msc::Strategy strategy = Undecided();
    for (std::size_t i = 0; i < decisions_.size(); ++i) {
      strategy.quantize.layers[decisions_[i].name] =
          assignment[i] == 1 ? msc::Precision::kBF16 : msc::Precision::kF32;
    }
    return strategy;
  }
  std::vector<msc::gym::Decision> decisions_;
};

class Bf16Task final : public msc::gym::SearchTask {
 public:
  Bf16Task()
      : SearchTask({.id = "Bf16-v0", .summary = "layers in bf16", .nondeterministic = true},
                   "bf16") {}
  msc::gym::ProblemFactory Prepare(const msc::gym::Preparation& /*preparation*/) const override {
    return
        [](const msc::envs::ModelContext& model) { return std::make_unique<Bf16Problem>(model); };
  }
};

}  // namespace

int main(int /*argc*/, char** argv) {
  msc::gym::TaskRegistry tasks = msc::gym::MakeTasks();
  tasks.Add(std::make_unique<Bf16Task>());
  msc::gym::SearchListener listener;  // says nothing, never stops
  msc::gym::SearchConfig config = msc::gym::ReadConfigFile(argv[1]).config;
  config.env = "bf16";
  const auto outcome = msc::gym::RunSearch(
      config, {.folder = argv[2]}, {.program = argv[3], .listener = listener, .tasks = tasks});
  std::cout << outcome.summary;
  return outcome.feasible ? 0 : 1;
}
