#include "compiler/base/error.h"
#include "compiler/ir/text.h"
#include "compiler/partition/rules/rule_file.h"
#include "tests/fuzz/targets.h"

namespace msc::fuzz {

void FuzzPartitionRules(std::string_view bytes) {
  static const Graph graph = ParseGraph(R"(graph main {
    input %x : f32[1,4,8,8]
    const %w1 : f32[4,4,3,3] = random 1
    const %w2 : f32[4,4,1,1] = random 2
    %a = Conv(%x, %w1) @conv1 {pads = [1, 1, 1, 1]} : f32[1,4,8,8]
    %b = Relu(%a) @relu1 : f32[1,4,8,8]
    %c = Conv(%b, %w2) @conv2 : f32[1,4,8,8]
    %d = Add(%c, %b) @add : f32[1,4,8,8]
    output %d
  })");
  static const DataflowGraph flow(graph);
  try {
    for (const NamedRule& rule : ParsePartitionRules(bytes, "rules").rules) {
      for (const SubGraph& sub_graph : rule.rule(flow)) {
        Check(!sub_graph.inside.empty(), "a rule offers nodes");
      }
    }
  } catch (const UserError&) {
  }
}

}  // namespace msc::fuzz
