#include "compiler/import/onnx/import.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/import/onnx/byte_source.h"
#include "compiler/import/onnx/checksums.h"
#include "compiler/import/onnx/graph_reader.h"
#include "compiler/import/onnx/inline_functions.h"
#include "compiler/import/onnx/operator_sets.h"
#include "compiler/import/onnx/tensor_bytes.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "compiler/import/onnx/text.h"
#include "compiler/import/onnx/wire_scan.h"
#include "compiler/ir/verifier.h"
#include "compiler/ops/narrow.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

constexpr std::int64_t kOldestIr = 3;  // first version with operator sets
constexpr std::int64_t kNewestIr = 14;
constexpr std::int64_t kOldestOpset = 1;
constexpr std::int64_t kGraphOpset = 17;
/// Prefix of the metadata keys that the importer sets; a model's own properties cannot use it.
constexpr std::string_view kReserved = "onnx.";

std::string Range(std::int64_t least, std::int64_t most) {
  return std::to_string(least) + " to " + std::to_string(most);
}

void CheckIrVersion(const onnx::ModelProto& model) {
  if (!model.has_graph()) throw UserError("is not an ONNX model: it has no graph");
  if (model.ir_version() < kOldestIr || model.ir_version() > kNewestIr) {
    throw UserError("has ONNX IR version " + std::to_string(model.ir_version()) + "; versions " +
                    Range(kOldestIr, kNewestIr) +
                    " are read: save the model again with one of them");
  }
}

/// Returns whether a graph has operators of ONNX's own domain, whose set the model must name.
bool ReadsOnnxOperators(const onnx::GraphProto& graph) {
  return std::any_of(graph.node().begin(), graph.node().end(), [](const auto& node) {
    return node.domain().empty() || node.domain() == "ai.onnx";
  });
}

std::int64_t ReadOpset(const onnx::ModelProto& model) {
  std::optional<std::int64_t> found;
  for (const auto& set : model.opset_import()) {
    if (!set.domain().empty() && set.domain() != "ai.onnx") continue;
    if (found && *found != set.version()) throw UserError("names two ONNX operator sets");
    found = set.version();
  }
  if (!found) {
    if (ReadsOnnxOperators(model.graph())) throw UserError("does not say its ONNX operator set");
    return kGraphOpset;
  }
  if (*found < kOldestOpset || *found > std::max(detail::kNewestReadOpset, detail::ListedOpset())) {
    throw UserError("uses ONNX operator set " + std::to_string(*found) + "; sets " +
                    Range(kOldestOpset, detail::kNewestReadOpset) +
                    " are read: export the model again with one of them");
  }
  return *found;
}

void ReadMetadata(const onnx::ModelProto& model, std::int64_t opset, const ImportLimits& limits,
                  Graph& graph) {
  const auto keep = [&](const std::string& key, const std::string& text) {
    detail::CheckForeignText(text, key, limits.name_bytes);
    if (!text.empty()) graph.SetMetadata(key, text);
  };
  graph.SetMetadata("onnx.ir_version", std::to_string(model.ir_version()));
  graph.SetMetadata("onnx.opset", std::to_string(opset));
  keep("onnx.producer_name", model.producer_name());
  keep("onnx.producer_version", model.producer_version());
  keep("onnx.domain", model.domain());
  if (model.model_version() != 0) {
    graph.SetMetadata("onnx.model_version", std::to_string(model.model_version()));
  }
  for (const auto& property : model.metadata_props()) {
    detail::CheckForeignText(property.key(), "metadata key", limits.name_bytes);
    if (property.key().empty() || property.key().starts_with(kReserved)) continue;
    detail::CheckForeignText(property.value(), "metadata value", limits.file_bytes);
    graph.SetMetadata(property.key(), property.value());
  }
}

/// Keeps the types of graph inputs and outputs that the graph holds in wider ones.
void KeepFileTypes(const onnx::GraphProto& proto, Graph& graph) {
  for (const auto* list : {&proto.input(), &proto.output()}) {
    for (const onnx::ValueInfoProto& end : *list) {
      const NarrowType* type = FindNarrowType(end.type().tensor_type().elem_type());
      const ValueId id = type != nullptr ? graph.FindValue(end.name()) : kNoValue;
      if (id == kNoValue || (!graph.IsInput(id) && !graph.IsOutput(id))) continue;
      graph.SetMetadata(std::string(kFileTypeKey) + end.name(), std::string(type->name));
    }
  }
}

/// Checks inferred sizes against the same limit as sizes in the file.
void CheckSizes(const Graph& graph, const ImportLimits& limits) {
  for (const ValueId id : graph.values()) {
    const auto& shape = graph.type(id).shape;
    if (!shape) continue;
    for (const Dim& dim : *shape) {
      if (dim.known() && dim.size() > limits.dim) {
        throw UserError("value " + detail::QuoteForeign(graph.value(id).name) +
                        " is too large: size " + std::to_string(dim.size()));
      }
    }
  }
}

/// Decodes the model, but not the raw bytes of its tensors (see ScanModelWire).
onnx::ModelProto Decode(const detail::ByteSource& bytes, const ImportLimits& limits) {
  if (bytes.size() == 0) throw UserError("is empty");
  if (bytes.size() > limits.file_bytes) {
    throw UserError("is larger than " + std::to_string(limits.file_bytes) + " bytes");
  }
  onnx::ModelProto model;
  if (!model.ParseFromString(detail::ScanModelWire(bytes, limits))) {
    throw UserError("is not an ONNX model, or was cut short");
  }
  return model;
}

Graph Read(const detail::ByteSource& bytes, const ImportOptions& options) {
  onnx::ModelProto model = Decode(bytes, options.limits);
  CheckIrVersion(model);
  const std::int64_t opset = ReadOpset(model);
  detail::InlineFunctions(options.limits, model);
  if (!options.external_folder.empty()) {
    detail::CheckExternalData(model, options.external_folder);
  }
  detail::TensorBytes tensors(bytes, options);
  Graph graph = detail::ReadGraphProto(model.graph(),
                                       {.opset = opset, .options = {options, &tensors}}, Ops());
  ReadMetadata(model, opset, options.limits, graph);
  KeepFileTypes(model.graph(), graph);
  InferTypes(graph);
  CheckSizes(graph, options.limits);
  Verify(graph);
  return graph;
}

Graph ReadNamed(const detail::ByteSource& bytes, const std::string& source,
                const ImportOptions& options) {
  try {
    return Read(bytes, options);
  } catch (const UserError& error) {
    throw UserError(source + ": " + error.what());
  }
}

}  // namespace

Graph ImportOnnx(const std::string& path, const ImportOptions& options) {
  const InputFile file(path, options.limits.file_bytes);
  ImportOptions here = options;
  here.external_folder = std::filesystem::path(path).parent_path().string();
  if (here.external_folder.empty()) here.external_folder = ".";
  return ReadNamed(detail::ByteSource(file), "model " + detail::QuoteForeign(path), here);
}

Graph ImportOnnxBytes(std::string_view bytes, const ImportOptions& options) {
  return ReadNamed(detail::ByteSource(bytes), "model", options);
}

Tensor ImportOnnxTensor(const std::string& path, const ImportOptions& options) {
  const InputFile file(path, options.limits.file_bytes);
  const detail::ByteSource bytes(file);
  onnx::TensorProto proto;
  try {
    if (!proto.ParseFromString(detail::ScanTensorWire(bytes, options.limits))) {
      throw UserError("holds no ONNX tensor, or was cut short");
    }
  } catch (const UserError& error) {
    throw UserError("'" + path + "' " + error.what());
  }
  detail::TensorBytes tensors(bytes, options);
  return detail::ReadTensorProto(proto, "tensor of '" + path + "'", {options, &tensors});
}

}  // namespace msc
