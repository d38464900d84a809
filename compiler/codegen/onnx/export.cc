#include "compiler/codegen/onnx/export.h"

#include <limits>
#include <set>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>
#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/codegen/onnx/file_types.h"
#include "compiler/codegen/onnx/forms.h"
#include "compiler/codegen/onnx/lower.h"
#include "compiler/codegen/onnx/raise.h"
#include "compiler/codegen/onnx/schema.h"
#include "compiler/codegen/onnx/scope.h"
#include "compiler/codegen/onnx/widen.h"
#include "compiler/ir/sample_axes.h"

namespace msc {
namespace {

constexpr std::string_view kReserved = "onnx.";

void WriteTensor(const Tensor& tensor, onnx::TensorProto& proto) {
  // Enumerators of DType equal the numbers of TensorProto.DataType.
  proto.set_data_type(static_cast<std::int32_t>(tensor.dtype()));
  for (const std::int64_t size : tensor.dims()) proto.add_dims(size);
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.strings()) proto.add_string_data(text);
    return;
  }
  const auto bytes = tensor.Raw();
  proto.set_raw_data(bytes.data(), bytes.size());
}

void WriteGraph(const Graph& graph, std::int64_t opset, const detail::Scope* outer,
                onnx::GraphProto& proto);

struct AttrWriter {
  std::int64_t opset;
  const detail::Scope& around;  ///< of graphs in the attribute
  onnx::AttributeProto& proto;

  void operator()(std::int64_t value) const {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const std::vector<std::int64_t>& list) const {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : list) proto.add_ints(value);
  }
  void operator()(const std::vector<float>& list) const {
    proto.set_type(onnx::AttributeProto::FLOATS);
    for (const float value : list) proto.add_floats(value);
  }
  void operator()(const std::vector<std::string>& list) const {
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : list) proto.add_strings(value);
  }
  void operator()(const TensorPtr& value) const {
    proto.set_type(onnx::AttributeProto::TENSOR);
    WriteTensor(*value, *proto.mutable_t());
  }
  void operator()(const std::vector<TensorPtr>& list) const {
    proto.set_type(onnx::AttributeProto::TENSORS);
    for (const TensorPtr& value : list) WriteTensor(*value, *proto.add_tensors());
  }
  void operator()(const GraphPtr& graph) const {
    proto.set_type(onnx::AttributeProto::GRAPH);
    WriteNested(*graph, *proto.mutable_g());
  }
  void operator()(const std::vector<GraphPtr>& graphs) const {
    proto.set_type(onnx::AttributeProto::GRAPHS);
    for (const GraphPtr& graph : graphs) WriteNested(*graph, *proto.add_graphs());
  }

 private:
  void WriteNested(const Graph& graph, onnx::GraphProto& written) const {
    WriteGraph(detail::ForScope(graph, around), opset, &around, written);
    if (written.name().empty()) written.set_name(proto.name());
  }
};

void WriteType(const ValueType& type, onnx::TypeProto& proto) {
  onnx::TypeProto* inner = &proto;
  const bool optional =
      type.container == Container::kOptional || type.container == Container::kOptionalSequence;
  const bool sequence =
      type.container == Container::kSequence || type.container == Container::kOptionalSequence;
  if (optional) inner = inner->mutable_optional_type()->mutable_elem_type();
  if (sequence) inner = inner->mutable_sequence_type()->mutable_elem_type();
  onnx::TypeProto::Tensor& tensor = *inner->mutable_tensor_type();
  tensor.set_elem_type(static_cast<std::int32_t>(type.dtype));
  if (!type.shape) return;
  onnx::TensorShapeProto& shape = *tensor.mutable_shape();
  for (const Dim& dim : *type.shape) {
    auto& written = *shape.add_dim();
    if (dim.known()) written.set_dim_value(dim.size());
    if (!dim.symbol().empty()) written.set_dim_param(dim.symbol());
  }
}

void WriteValue(const Graph& graph, ValueId id, onnx::ValueInfoProto& proto) {
  proto.set_name(graph.value(id).name);
  // Readers infer a type that is absent, and refuse one without a type of elements.
  if (graph.type(id).dtype == DType::kUndefined) return;
  WriteType(graph.type(id), *proto.mutable_type());
}

/// Returns the narrow types of inputs and outputs, which Casts now separate from the rest.
/// Throws SetCannotExpress if the set lacks one.
detail::NarrowEnds TakeNarrowEnds(std::int64_t opset, Graph& graph) {
  detail::NarrowEnds ends = detail::SeparateNarrowEnds(graph);
  for (const auto& [name, type] : ends) {
    if (opset >= type->since) continue;
    throw detail::SetCannotExpress("the type " + std::string(type->name) + " of '" + name +
                                   "' cannot be exported at operator set " + std::to_string(opset) +
                                   ": it exists from set " + std::to_string(type->since) + " on");
  }
  return ends;
}

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, std::int64_t opset, const detail::Scope* outer,
              const detail::NarrowEnds& ends, onnx::GraphProto& proto)
      : graph_(graph), opset_(opset), scope_{graph, outer}, ends_(ends), proto_(proto) {}

  void Run() {
    proto_.set_name(graph_.name());
    for (const ValueId id : graph_.inputs()) WriteEnd(id, *proto_.add_input());
    for (const ValueId id : graph_.outputs()) WriteEnd(id, *proto_.add_output());
    for (const NodeId id : graph_.order()) WriteNode(id);
    for (const ValueId id : graph_.constants()) WriteConstant(id);
  }

 private:
  /// Writes a graph input or output.
  void WriteEnd(ValueId id, onnx::ValueInfoProto& proto) {
    WriteValue(graph_, id, proto);
    const auto narrow = ends_.find(graph_.value(id).name);
    if (narrow == ends_.end()) return;
    proto.mutable_type()->mutable_tensor_type()->set_elem_type(
        static_cast<std::int32_t>(narrow->second->code));
  }

  void WriteNode(NodeId id) {
    detail::OutNode node = detail::MakeOutNode(graph_, id, opset_);
    node.narrow_result = node.node().Is("CastNarrow", "msc") && ends_.contains(node.outputs[0]);
    if (!node.node().domain.empty() && !node.node().Is("CastNarrow", "msc")) {
      node.Reject("operators of domain '" + node.node().domain +
                  "' are not ONNX; export the graph from before fusion");
    }
    detail::LowerNode(node);
    detail::RaiseNode(node);
    detail::CheckSchema(node);
    for (const detail::OutStep& step : node.before) WriteStep(step);
    for (const auto& [name, tensor] : node.constants) {
      onnx::TensorProto& constant = *proto_.add_initializer();
      WriteTensor(tensor, constant);
      constant.set_name(name);
    }
    onnx::NodeProto& written = *proto_.add_node();
    written.set_name(node.node().name);
    written.set_op_type(node.op);
    for (const std::string& name : node.inputs) {
      written.add_input(name);
      read_.insert(name);
    }
    for (const std::string& name : node.outputs) written.add_output(name);
    WriteAttrs(node.attrs, written);
    for (const ValueId captured : node.node().captures) read_.insert(graph_.value(captured).name);
    for (const ValueId made : node.node().outputs) {
      if (made == kNoValue || graph_.IsOutput(made)) continue;
      // In the file it may have the narrow type.
      if (node.node().Is("CastNarrow", "msc")) continue;
      if (graph_.type(made).dtype == DType::kUndefined) continue;
      WriteValue(graph_, made, *proto_.add_value_info());
    }
  }

  void WriteStep(const detail::OutStep& step) {
    onnx::NodeProto& written = *proto_.add_node();
    written.set_name(step.name);
    written.set_op_type(step.op);
    for (const std::string& name : step.inputs) {
      written.add_input(name);
      read_.insert(name);
    }
    written.add_output(step.output);
    WriteAttrs(step.attrs, written);
  }

  void WriteAttrs(const AttrMap& attrs, onnx::NodeProto& written) {
    for (const auto& [name, attr] : attrs) {
      onnx::AttributeProto& attribute = *written.add_attribute();
      attribute.set_name(name);
      std::visit(AttrWriter{opset_, scope_, attribute}, attr);
    }
  }

  /// Writes a constant, unless all its readers now have it as an attribute.
  void WriteConstant(ValueId id) {
    const std::string& name = graph_.value(id).name;
    if (!graph_.uses(id).empty() && !read_.contains(name) && !graph_.IsOutput(id)) return;
    onnx::TensorProto& tensor = *proto_.add_initializer();
    WriteTensor(*graph_.constant(id), tensor);
    tensor.set_name(name);
  }

  const Graph& graph_;
  std::int64_t opset_;
  detail::Scope scope_;
  const detail::NarrowEnds& ends_;
  onnx::GraphProto& proto_;
  std::set<std::string> read_;
};

void WriteGraph(const Graph& graph, std::int64_t opset, const detail::Scope* outer,
                onnx::GraphProto& proto) {
  // Only the model itself has inputs and outputs of narrow types.
  GraphWriter(graph, opset, outer, {}, proto).Run();
}

std::string MetadataOr(const Graph& graph, const std::string& key, const std::string& otherwise) {
  const auto it = graph.metadata().find(key);
  return it == graph.metadata().end() ? otherwise : it->second;
}

void WriteMetadata(const Graph& graph, onnx::ModelProto& model) {
  model.set_producer_name("mscgym");
  model.set_domain(MetadataOr(graph, "onnx.domain", ""));
  for (const auto& [key, value] : graph.metadata()) {
    if (key.starts_with(kReserved) || key.starts_with(kSampleAxisKey)) continue;
    onnx::StringStringEntryProto& property = *model.add_metadata_props();
    property.set_key(key);
    property.set_value(value);
  }
}

std::string ToJson(const std::vector<std::string>& names) {
  return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string ExportOnnxBytes(const Graph& graph, const ExportOptions& options) {
  if (options.opset < kOldestWrittenOpset || options.opset > kNewestOpset) {
    throw UserError("cannot export operator set " + std::to_string(options.opset) + "; sets " +
                    std::to_string(kOldestWrittenOpset) + " to " + std::to_string(kNewestOpset) +
                    " are written");
  }
  Graph written = graph;
  if (options.bf16 == Bf16Export::kAsF32) {
    const std::vector<std::string> layers = detail::WidenBf16(written);
    if (!layers.empty()) written.SetMetadata("msc.bf16_layers", ToJson(layers));
  }
  onnx::ModelProto model;
  model.set_ir_version(detail::IrVersionOf(options.opset));
  onnx::OperatorSetIdProto& set = *model.add_opset_import();
  set.set_domain("");
  set.set_version(options.opset);
  WriteMetadata(written, model);
  const detail::NarrowEnds ends =
      options.narrow_ends ? TakeNarrowEnds(options.opset, written) : detail::NarrowEnds();
  GraphWriter(written, options.opset, nullptr, ends, *model.mutable_graph()).Run();
  if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw UserError("the model has " + std::to_string(model.ByteSizeLong()) +
                    " bytes; ONNX files hold less than 2 GiB");
  }
  std::string bytes;
  Check(model.SerializeToString(&bytes), "a complete message can be written");
  return bytes;
}

void ExportOnnx(const Graph& graph, const std::string& path, const ExportOptions& options) {
  WriteFileAtomic(path, ExportOnnxBytes(graph, options));
}

OnnxFile ExportAtOldestSet(const Graph& graph, const ExportOptions& options) {
  ExportOptions tried = options;
  for (; tried.opset < kNewestOpset; ++tried.opset) {
    try {
      return {ExportOnnxBytes(graph, tried), tried.opset};
    } catch (const detail::SetCannotExpress&) {
      // A newer set may have what is missing.
    }
  }
  return {ExportOnnxBytes(graph, tried), tried.opset};
}

}  // namespace msc
