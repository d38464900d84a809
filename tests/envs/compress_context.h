#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "cost/model/evaluator.h"
#include "envs/compress/compress_env.h"

namespace msc::envs {

class NoEvaluator final : public cost::Evaluator {
  void DoEvaluate(std::span<const cost::Candidate> /*batch*/, const Done& /*done*/,
                  const std::function<bool()>& /*stop*/) override {}
};

/// Returns the context of a joint problem of a graph, with a scale for each of `tensors`.
inline CompressContext ContextOfGraph(const char* text,
                                      std::initializer_list<const char*> tensors) {
  static NoEvaluator evaluator;
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  CompressContext context;
  context.graph = std::make_shared<const Graph>(std::move(graph));
  context.evaluator = &evaluator;
  context.target = "native";
  for (const char* tensor : tensors) context.scales[tensor] = {.scale = 0.5};
  context.fit_hash = std::string(64, 'a');
  context.align = 8;
  return context;
}

}  // namespace msc::envs
