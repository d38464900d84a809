#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/import/onnx/graph_reader.h"
#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/reads.h"
#include "compiler/import/onnx/rename.h"
#include "compiler/import/onnx/small_values.h"
#include "compiler/ir/graph.h"
#include "compiler/ops/op.h"

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace msc::detail {

using Names = std::set<std::string>;
using DeclaredTypes = std::map<std::string, ValueType>;  ///< by value

/// A node of the file.
struct FileNode {
  const onnx::NodeProto& proto;
  std::size_t position = 0;
  std::string name;  ///< unique
  std::int64_t opset = 17;

  /// Returns what messages call it: position, name, operator and set.
  [[nodiscard]] std::string Where() const;
};

/// What the readers of all graphs of a model share.
struct ModelState {
  ValueNames value_names;   ///< of the file, and those made for nested graphs
  std::uint64_t nodes = 0;  ///< read so far; nested graphs may be read several times
  NarrowValues narrow;      ///< of all graphs, whose values have different names
};

/// Reads one graph of a model: the main one, with the nodes of branches and loops that become part
/// of it, or one that stays nested. Throws UserError.
class GraphReader {
 public:
  /// All must outlive the reader.
  GraphReader(const onnx::GraphProto& proto, const GraphSource& source, const OpRegistry& ops,
              ModelState& state);

  /// Reads the main graph.
  [[nodiscard]] Graph Read(const onnx::GraphProto& proto);

 private:
  // graph_reader.cc
  void CheckSizes(const onnx::GraphProto& proto);
  /// Notes the values that the file declares or stores as narrow.
  void NoteNarrowValues(const onnx::GraphProto& proto);
  void AddInitializers(const onnx::GraphProto& proto);
  void FixInputs(const onnx::GraphProto& proto, const DeclaredTypes& types);
  void ReadNodes(const onnx::GraphProto& proto, const DeclaredTypes& types);
  void ReadOne(const FileNode& node, const Names& left_out);
  PendingNode ReadNode(const FileNode& file, const Names& left_out);
  void ReadAttributes(const FileNode& file, PendingNode& node);
  void AddLifted(const FileNode& file, Lift lift);
  void AddNode(PendingNode pending);
  void CompleteTypes(NodeId id);

  // nested_graphs.cc
  /// Returns the graph of an attribute, and adds the values that it reads from this one to
  /// `captures`. What is known of those is part of the graph.
  [[nodiscard]] GraphPtr ReadNested(const FileNode& file, const onnx::AttributeProto& attribute,
                                    std::vector<std::string>& captures);
  void ReadIf(const FileNode& file);
  /// Adds the nodes of a branch and returns the names of its outputs.
  [[nodiscard]] std::vector<std::string> AddBranch(const FileNode& file,
                                                   const onnx::GraphProto& proto, bool truth);

  /// Makes output `index` of an If.
  void Choose(const FileNode& file, std::size_t index, const char* op,
              std::vector<std::string> inputs);

  const GraphSource& source_;
  const OpRegistry& ops_;
  ModelState& state_;
  Graph graph_;
  Names taken_;  ///< names of nodes
  Reads reads_;
  SmallValues small_values_{graph_};
};

[[nodiscard]] DeclaredTypes ReadDeclaredTypes(const onnx::GraphProto& proto,
                                              const ImportLimits& limits);
/// Returns `stem`, or `stem`_1 and so on, and takes it.
[[nodiscard]] std::string FreshName(const std::string& stem, Names& taken);
[[nodiscard]] bool IsIf(const onnx::NodeProto& node);

/// Adds the graph inputs, except those with an initializer: IR version 3 requires initializers to
/// be graph inputs too, as default values, and they are constants here.
void AddInputs(const onnx::GraphProto& proto, const DeclaredTypes& types, Graph& graph);
void AddOutputs(const onnx::GraphProto& proto, Graph& graph);

}  // namespace msc::detail
