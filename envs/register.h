#pragma once

#include <map>
#include <memory>
#include <string>

#include "compiler/strategy/strategy.h"
#include "envs/common/evaluation.h"
#include "gym/core/env_registry.h"

namespace msc {
class Graph;
struct CoverProblem;
namespace cost {
class Evaluator;
}  // namespace cost
}  // namespace msc

namespace msc::envs {

/// What an env over a model is made from. An env takes what it needs and refuses (UserError) a
/// context without it; toys need nothing.
struct EnvContext {
  std::shared_ptr<const Graph> graph;         ///< canonical form of the model to compress
  cost::Evaluator* evaluator = nullptr;       ///< tries candidates; outlives the env
  std::string target;                         ///< who runs the model
  std::map<std::string, TensorScale> scales;  ///< of every tensor an 8-bit layer may touch
  Labels labels = Labels::kAbsent;            ///< whether candidates are judged on labelled samples
  /// What targets could compute of it, with costs.
  std::shared_ptr<const CoverProblem> cover = {};
};

using EnvRegistry = gym::EnvRegistry<const EnvContext&>;

/// Adds every env of this folder: a few lines each in register.cc.
void RegisterAll(EnvRegistry& registry);

}  // namespace msc::envs
