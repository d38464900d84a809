#include "compiler/compress/prune/unshare.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/ir/tensor.h"

namespace msc {
namespace {

bool IsListOfFloats(const Tensor& tensor) {
  const bool floats = tensor.dtype() == DType::kF32 || tensor.dtype() == DType::kF64 ||
                      tensor.dtype() == DType::kF16 || tensor.dtype() == DType::kBF16;
  const Dims& dims = tensor.dims();
  return floats &&
         std::count_if(dims.begin(), dims.end(), [](std::int64_t size) { return size != 1; }) == 1;
}

/// Lets all readers but the first have copies of their own.
void Unshare(Graph& graph, ValueId shared, const TensorPtr& tensor) {
  const std::vector<Use> uses = graph.uses(shared);
  std::map<NodeId, ValueId> copies = {{uses.front().node, shared}};
  for (const Use& use : uses) {
    // The body of a loop or a branch may read a capture under its name.
    if (use.index >= graph.node(use.node).inputs.size()) continue;
    const auto [own, is_new] = copies.try_emplace(use.node, kNoValue);
    if (is_new) {
      const std::string name = graph.FreeValueName(graph.value(shared).name);
      own->second = graph.AddConstant(name, tensor);
    }
    if (own->second != shared) graph.SetInput(use.node, use.index, own->second);
  }
}

}  // namespace

void UnshareLists(Graph& graph) {
  for (const ValueId id : graph.constants()) {
    const TensorPtr tensor = graph.constant(id);
    if (graph.uses(id).size() > 1 && IsListOfFloats(*tensor)) Unshare(graph, id, tensor);
  }
}

}  // namespace msc
