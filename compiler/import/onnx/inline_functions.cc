#include "compiler/import/onnx/inline_functions.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/import/onnx/rename.h"
#include "compiler/import/onnx/text.h"

namespace msc::detail {
namespace {

using Key = std::pair<std::string, std::string>;  // domain and name

std::string DomainOf(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

std::int64_t OpsetOf(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& sets) {
  for (const auto& set : sets) {
    if (DomainOf(set.domain()).empty()) return set.version();
  }
  return 0;
}

class Inliner {
 public:
  Inliner(const ImportLimits& limits, onnx::ModelProto& model) : limits_(limits), model_(model) {
    for (const auto& function : model.functions()) {
      CheckForeignText(function.name(), "function name", limits.name_bytes);
      const Key key(DomainOf(function.domain()), function.name());
      if (!functions_.emplace(key, &function).second) {
        throw UserError("defines function " + QuoteForeign(function.name()) + " twice");
      }
    }
  }

  void Run() {
    if (functions_.empty()) return;
    bytes_ = model_.ByteSizeLong();
    names_.TakeAll(model_.graph());
    Expand(0, *model_.mutable_graph());
    functions_.clear();
    model_.clear_functions();
  }

 private:
  static constexpr int kMostDepth = 64;

  void Expand(int depth, onnx::GraphProto& graph) {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (auto& node : nodes) Emit(depth, std::move(node), graph);
  }

  /// Adds a node, or the nodes of the function that it calls, to `graph`.
  void Emit(int depth, onnx::NodeProto node, onnx::GraphProto& graph) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) Expand(depth, *attribute.mutable_g());
      for (auto& nested : *attribute.mutable_graphs()) Expand(depth, nested);
    }
    // Calls count, too, so that functions without nodes cannot call each other without end.
    if (++emitted_ > limits_.nodes) {
      throw UserError("has more than " + std::to_string(limits_.nodes) +
                      " nodes and calls once its functions are inlined");
    }
    const auto called = functions_.find({DomainOf(node.domain()), node.op_type()});
    if (called == functions_.end()) {
      *graph.add_node() = std::move(node);
      return;
    }
    if (depth >= kMostDepth) {
      throw UserError("has functions that call each other more than " + std::to_string(kMostDepth) +
                      " deep: " + QuoteForeign(node.op_type()));
    }
    Call(depth, *called->second, node, graph);
  }

  void Call(int depth, const onnx::FunctionProto& function, const onnx::NodeProto& call,
            onnx::GraphProto& graph) {
    const std::int64_t own = OpsetOf(function.opset_import());
    if (own != 0 && own != OpsetOf(model_.opset_import())) {
      throw UserError("has function " + QuoteForeign(function.name()) + " of operator set " +
                      std::to_string(own) + ", another one than the model's");
    }
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
      throw UserError("calls function " + QuoteForeign(function.name()) +
                      " with more inputs or outputs than it has");
    }
    const std::string prefix = (call.name().empty() ? function.name() : call.name()) + ".";
    const Renames renames = NamesIn(function, call, prefix, graph);
    const Attributes given = AttributesOf(function, call);
    for (const auto& body : function.node()) {
      Spend(body.ByteSizeLong());
      onnx::NodeProto node = body;
      RenameNode(renames, node);
      if (!node.name().empty()) node.set_name(prefix + node.name());
      GiveAttributes(given, node);
      Emit(depth + 1, std::move(node), graph);
    }
  }

  /// Returns what the values of a function are called in the graph of a call.
  Renames NamesIn(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                  const std::string& prefix, onnx::GraphProto& graph) {
    Renames renames;
    for (int i = 0; i < function.input_size(); ++i) {
      renames[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    }
    for (int i = 0; i < function.output_size(); ++i) {
      const std::string& name = function.output(i);
      const bool wanted = i < call.output_size() && !call.output(i).empty();
      if (renames.contains(name)) {
        // An input that is an output, too.
        if (wanted) AddIdentity(renames[name], call.output(i), prefix, graph);
        continue;
      }
      renames[name] = wanted ? call.output(i) : names_.Fresh(prefix + name);
    }
    for (const auto& body : function.node()) {
      for (const std::string& name : body.output()) {
        if (!name.empty() && !renames.contains(name)) renames[name] = names_.Fresh(prefix + name);
      }
    }
    return renames;
  }

  static void AddIdentity(const std::string& from, const std::string& to, const std::string& prefix,
                          onnx::GraphProto& graph) {
    onnx::NodeProto* node = graph.add_node();
    node->set_op_type("Identity");
    node->set_name(prefix + to);
    node->add_input(from);
    node->add_output(to);
  }

  using Attributes = std::map<std::string, onnx::AttributeProto>;

  /// Returns the attributes of a call, with the defaults of the function for those that it lacks.
  static Attributes AttributesOf(const onnx::FunctionProto& function, const onnx::NodeProto& call) {
    // FunctionProto.attribute_proto, which libonnx 1.12 keeps as unknown bytes.
    constexpr int kDefaults = 11;
    Attributes attributes;
    for (const auto& given : call.attribute()) attributes.emplace(given.name(), given);
    const auto& unknown = function.GetReflection()->GetUnknownFields(function);
    for (int i = 0; i < unknown.field_count(); ++i) {
      const auto& field = unknown.field(i);
      using Field = google::protobuf::UnknownField;
      if (field.number() != kDefaults || field.type() != Field::TYPE_LENGTH_DELIMITED) continue;
      onnx::AttributeProto otherwise;
      if (!otherwise.ParseFromString(field.length_delimited())) {
        throw UserError("has function " + QuoteForeign(function.name()) +
                        " with a damaged attribute");
      }
      attributes.emplace(otherwise.name(), std::move(otherwise));
    }
    return attributes;
  }

  /// Replaces references to attributes of the function by `given`; one that is not given is absent.
  void GiveAttributes(const Attributes& given, onnx::NodeProto& node) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> attributes;
    attributes.Swap(node.mutable_attribute());
    for (auto& attribute : attributes) {
      const std::string& wanted = attribute.ref_attr_name();
      if (wanted.empty()) {
        if (attribute.has_g()) GiveAttributes(given, *attribute.mutable_g());
        for (auto& nested : *attribute.mutable_graphs()) GiveAttributes(given, nested);
        *node.add_attribute() = std::move(attribute);
        continue;
      }
      const auto found = given.find(wanted);
      if (found == given.end()) continue;
      Spend(found->second.ByteSizeLong());
      onnx::AttributeProto* added = node.add_attribute();
      *added = found->second;
      added->set_name(attribute.name());
    }
  }
  void GiveAttributes(const Attributes& given, onnx::GraphProto& graph) {
    for (auto& node : *graph.mutable_node()) GiveAttributes(given, node);
  }

  /// Counts bytes that are copied: each call copies the function, and what it is given.
  void Spend(std::size_t bytes) {
    copied_ += bytes;
    if (copied_ > limits_.decoded_extra + limits_.decoded_factor * bytes_) {
      throw UserError("would take more than " + std::to_string(copied_) +
                      " bytes once its functions are inlined");
    }
  }

  const ImportLimits& limits_;
  onnx::ModelProto& model_;
  std::map<Key, const onnx::FunctionProto*> functions_;
  ValueNames names_;
  std::uint64_t emitted_ = 0;
  std::uint64_t bytes_ = 0;   ///< of the model
  std::uint64_t copied_ = 0;  ///< into calls
};

}  // namespace

void InlineFunctions(const ImportLimits& limits, onnx::ModelProto& model) {
  Inliner(limits, model).Run();
}

}  // namespace msc::detail
