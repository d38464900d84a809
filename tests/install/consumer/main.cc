#include <exception>
#include <iostream>

#include <compiler/ir/graph.h>
#include <compiler/ir/serialize.h>
#include <compiler/ir/text.h>

int main() {
  try {
    const msc::Graph graph = msc::ParseGraph(R"(graph small {
      input %x : f32[1,3]
      const %w : f32[3,2] = splat 0.5
      %h = MatMul(%x, %w) : f32[1,2]
      %y = Relu(%h) : f32[1,2]
      output %y
    })");
    const msc::GraphCounts counts = msc::CountContents(graph);
    std::cout << counts.total_nodes << " nodes, " << counts.parameters << " parameters, hash of "
              << msc::GraphHash(graph).size() << " digits\n"
              << msc::Print(graph);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
