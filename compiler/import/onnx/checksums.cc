#include "compiler/import/onnx/checksums.h"

#include <onnx/onnx_pb.h>

#include "compiler/import/onnx/external_data.h"

namespace msc::detail {
namespace {

void CheckTensor(const onnx::TensorProto& tensor, ExternalChecksums& sums) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
  const std::string* location = nullptr;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = &entry.value();
  }
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "checksum") sums.Check(location == nullptr ? "" : *location, entry.value());
  }
}

void CheckTensor(const onnx::SparseTensorProto& tensor, ExternalChecksums& sums) {
  CheckTensor(tensor.values(), sums);
  CheckTensor(tensor.indices(), sums);
}

void CheckGraph(const onnx::GraphProto& graph, ExternalChecksums& sums) {
  for (const auto& tensor : graph.initializer()) CheckTensor(tensor, sums);
  for (const auto& tensor : graph.sparse_initializer()) CheckTensor(tensor, sums);
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t()) CheckTensor(attribute.t(), sums);
      if (attribute.has_sparse_tensor()) CheckTensor(attribute.sparse_tensor(), sums);
      for (const auto& tensor : attribute.tensors()) CheckTensor(tensor, sums);
      if (attribute.has_g()) CheckGraph(attribute.g(), sums);
      for (const auto& inner : attribute.graphs()) CheckGraph(inner, sums);
    }
  }
}

}  // namespace

void CheckExternalData(const onnx::ModelProto& model, const std::string& folder) {
  ExternalChecksums sums(folder);
  CheckGraph(model.graph(), sums);
}

}  // namespace msc::detail
