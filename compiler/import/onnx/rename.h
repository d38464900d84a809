#pragma once

#include <functional>
#include <map>
#include <string>

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace msc::detail {

/// New names of values by those in the file.
using Renames = std::map<std::string, std::string>;

/// Names of values that are taken.
class ValueNames {
 public:
  /// Takes all names of values of `graph` and of the graphs nested in it.
  void TakeAll(const onnx::GraphProto& graph);
  void Take(const std::string& name) { ++taken_[name]; }
  /// Returns whether the name was taken more than once: graphs of one file define it for
  /// themselves.
  [[nodiscard]] bool IsShared(const std::string& name) const;
  /// Takes and returns a name that starts with `stem`.
  [[nodiscard]] std::string Fresh(const std::string& stem);

 private:
  std::map<std::string, int> taken_;  ///< how often
  std::map<std::string, int> last_;   ///< number of the last fresh name of a stem
};

/// Renames what a node reads and makes, also in the graphs nested in it. Names that `renames` lacks
/// stay; local names of nested graphs hide those of `renames`, as in ONNX.
void RenameNode(const Renames& renames, onnx::NodeProto& node);

/// Renames the values that a nested graph makes itself, its initializers and its outputs, so that
/// the graph can be part of the one around it. Values that it reads from there keep their names,
/// and so do values whose name no other graph of the file defines. Returns what `names` made of the
/// local names.
Renames MakeNamesUnique(const std::string& prefix, ValueNames& names, onnx::GraphProto& graph);

}  // namespace msc::detail
