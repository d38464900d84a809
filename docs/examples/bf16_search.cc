// A search env of its own: which layers compute in bf16. bf16_search CONFIG.json RUN_FOLDER
// PATH_OF_MSCGYM
#include <iostream>

#include "compiler/compress/quantize/quantize.h"
#include "envs/common/strategy_problem.h"
#include "gym/msc_config/read_config.h"
#include "gym/search/search.h"

class Bf16Problem final : public msc::envs::StrategyProblem {
 public:
  explicit Bf16Problem(const msc::envs::ModelContext& model) : StrategyProblem("Bf16-v0", model) {
    for (const auto& layer : msc::FindQuantizableLayers(*model.graph)) {
      decisions_.push_back({layer.name, {"f32", "bf16"}});  // the first choice changes nothing
    }
  }

 private:
  const std::vector<msc::gym::Decision>& DoDecisions() const override { return decisions_; }
  msc::Strategy StrategyOf(const msc::gym::Assignment& assignment) const override {
    msc::Strategy strategy = Undecided();
    for (std::size_t i = 0; i < decisions_.size(); ++i) {
      strategy.quantize.layers[decisions_[i].name] = decisions_[i].choices[assignment[i]];
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
    return [](const auto& model) { return std::make_unique<Bf16Problem>(model); };
  }
};
