#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc::detail {

/// A node of the file on its way into the graph. Values are still names; an empty one is absent.
struct PendingNode {
  std::size_t position = 0;  ///< among the nodes of the file
  std::string name;
  std::string op;
  std::string domain;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  AttrMap attrs;
};

/// One node being rewritten from `opset`, older or newer, to operator set 17. `graph` holds every
/// value that the node reads, typed as far as inference went, and the names of all others.
struct Lift {
  PendingNode node;
  std::int64_t opset = 17;
  Graph& graph;                             ///< for types, constants, free names
  const std::map<std::string, int>& reads;  ///< how often each value is read, outputs included
  std::vector<PendingNode> before = {};     ///< nodes to stand in front of `node`, in order
  std::vector<PendingNode> after = {};      ///< and behind it

  /// UserError: why this node cannot be taken.
  [[noreturn]] void Refuse(const std::string& why) const;
  [[nodiscard]] bool HasInput(std::size_t index) const;
  /// Type of an input; undefined if absent.
  [[nodiscard]] ValueType InputType(std::size_t index) const;
  /// Its tensor, or nullptr if it is absent or computed.
  [[nodiscard]] TensorPtr InputConstant(std::size_t index) const;
  [[nodiscard]] bool IsRead(std::size_t output) const;
  /// Removes an attribute and gives its value, or `otherwise`. UserError for another kind.
  template <class T>
  [[nodiscard]] T Take(std::string_view attr, T otherwise);
  /// Makes input `index` a constant called after the node and `what`; grows the list as needed.
  void SetConstantInput(std::size_t index, std::string_view what, Tensor tensor);
  /// Moves the integer list `attr`, if present, to input `index` as an i64 vector.
  void ListToInput(std::string_view attr, std::size_t index);
  /// A new value name, declared in the graph without a type.
  [[nodiscard]] std::string NewValue(std::string_view what);
};

extern template std::int64_t Lift::Take(std::string_view, std::int64_t);
extern template float Lift::Take(std::string_view, float);
extern template std::string Lift::Take(std::string_view, std::string);
extern template std::vector<std::int64_t> Lift::Take(std::string_view, std::vector<std::int64_t>);
extern template std::vector<float> Lift::Take(std::string_view, std::vector<float>);

/// For LiftRule::until of operators that no set has changed again.
inline constexpr std::int64_t kNoEnd = 1000;

/// How the form of `op` from operator set `since` on and before `until` becomes the one of operator
/// set 17.
struct LiftRule {
  std::string_view op;
  std::int64_t until;
  void (*apply)(Lift&);
  std::int64_t since = 1;
};

/// The rules, one file a family.
[[nodiscard]] std::span<const LiftRule> ElementwiseLifts();
[[nodiscard]] std::span<const LiftRule> NormLifts();
[[nodiscard]] std::span<const LiftRule> ShapeLifts();
[[nodiscard]] std::span<const LiftRule> NewerLifts();  ///< from sets 18 to 20

/// What sets 1 to 6 had and 7 took away: broadcasting on demand and attributes of training.
void LiftOldest(Lift& lift);

/// Applies every rule that fits, in order. Operators without a rule mean the same in all sets.
/// Source: ONNX Changelog, operator sets 1 to 20.
void LiftNode(Lift& lift);

}  // namespace msc::detail
