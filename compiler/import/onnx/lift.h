#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/narrow.h"

namespace msc::detail {

class SmallValues;

/// The values of a model whose element types graphs hold in wider ones.
using NarrowValues = std::map<std::string, const NarrowType*>;

/// A node of the file before it is added to the graph. Values are names; an empty name is absent.
struct PendingNode {
  std::size_t position = 0;  ///< index in the file's node list
  std::string name = {};
  std::string op = {};
  std::string domain = {};
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  AttrMap attrs = {};
  std::vector<std::string> captures = {};  ///< values that nested graphs in `attrs` read
};

/// The domain of operators that ONNX Runtime adds to those of ONNX. It has only ever had version 1.
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// State of the conversion of one node from `opset`, older or newer, to operator set 17. `graph`
/// has every value that the node reads, with its type as far as inference knows it, and all other
/// value names.
struct Lift {
  PendingNode node;
  std::int64_t opset = 17;
  Graph& graph;                             ///< for types, constants, free names
  const std::map<std::string, int>& reads;  ///< reads of each value, including graph outputs
  const SmallValues* values = nullptr;      ///< what follows from constants; may be absent
  NarrowValues* narrow = nullptr;           ///< of the model; may be absent
  std::vector<PendingNode> before = {};     ///< nodes to insert in front of `node`, in order
  std::vector<PendingNode> after = {};      ///< nodes to insert behind `node`

  /// Throws UserError: the node is unsupported because of `why`.
  [[noreturn]] void Reject(const std::string& why) const;
  [[nodiscard]] bool HasInput(std::size_t index) const;
  /// Returns the name of an input; rejects a node without it.
  [[nodiscard]] const std::string& Input(std::size_t index) const;
  /// Returns the type of an input; undefined if absent.
  [[nodiscard]] ValueType InputType(std::size_t index) const;
  /// Returns the tensor of an input, or nullptr if it is absent or neither constant nor follows
  /// from constants.
  [[nodiscard]] TensorPtr InputConstant(std::size_t index) const;
  /// Returns a float attribute as a scalar of the type of input 0, f32 if that is unknown; rejects
  /// integers, which such attributes cannot stand for.
  [[nodiscard]] Tensor FloatOfInput(float value) const;
  /// Returns the narrow type of an input; nullptr if it has none or is absent.
  [[nodiscard]] const NarrowType* NarrowInput(std::size_t index) const;
  /// Notes that these values have a narrow type.
  void NoteNarrow(const std::vector<std::string>& names, const NarrowType& type) const;
  [[nodiscard]] bool IsRead(std::size_t output) const;
  /// Removes an attribute and returns its value, or `otherwise`. Throws UserError for another type.
  template <class T>
  [[nodiscard]] T Take(std::string_view attr, T otherwise);
  /// Makes input `index` a constant named after the node and `what`; extends the input list as
  /// needed. Throws UserError if the input exists.
  void SetConstantInput(std::size_t index, std::string_view what, Tensor tensor);
  /// Moves the integer list `attr`, if present, to input `index` as an i64 vector.
  void ListToInput(std::string_view attr, std::size_t index);
  /// Declares a new value without a type and returns its name.
  [[nodiscard]] std::string NewValue(std::string_view what);
};

extern template std::int64_t Lift::Take(std::string_view, std::int64_t);
extern template float Lift::Take(std::string_view, float);
extern template std::string Lift::Take(std::string_view, std::string);
extern template std::vector<std::int64_t> Lift::Take(std::string_view, std::vector<std::int64_t>);
extern template std::vector<float> Lift::Take(std::string_view, std::vector<float>);

/// LiftRule::until of operators that no later set has changed.
inline constexpr std::int64_t kNoEnd = 1000;

/// Conversion of `op` from the operator sets in [since, until) to operator set 17. The sets are
/// those of ai.onnx, whatever the domain of the operator; "" is that of ai.onnx.
struct LiftRule {
  std::string_view op;
  std::int64_t until;
  void (*apply)(Lift&);
  std::int64_t since = 1;
  std::string_view domain = {};
};

/// Return the rules, one file per family.
[[nodiscard]] std::span<const LiftRule> ElementwiseLifts();
[[nodiscard]] std::span<const LiftRule> NormLifts();
[[nodiscard]] std::span<const LiftRule> ShapeLifts();
[[nodiscard]] std::span<const LiftRule> NewerLifts();      ///< for sets 18 to 28, one for one
[[nodiscard]] std::span<const LiftRule> NarrowLifts();     ///< casts and quantization of these sets
[[nodiscard]] std::span<const LiftRule> ComposedLifts();   ///< operators that others compose
[[nodiscard]] std::span<const LiftRule> AttentionLifts();  ///< one more of these
[[nodiscard]] std::span<const LiftRule> EinsumLifts();     ///< and another
[[nodiscard]] std::span<const LiftRule> SignalLifts();
[[nodiscard]] std::span<const LiftRule> MlLifts();  ///< of ai.onnx.ml, and the next
[[nodiscard]] std::span<const LiftRule> MlLinearLifts();
[[nodiscard]] std::span<const LiftRule> MicrosoftLifts();  ///< of kMicrosoftDomain, and the next
[[nodiscard]] std::span<const LiftRule> MicrosoftAttentionLifts();
[[nodiscard]] std::span<const LiftRule> MicrosoftNormLifts();
[[nodiscard]] std::span<const LiftRule> MicrosoftQuantizedLifts();
/// Returns the rules of all families.
[[nodiscard]] std::array<std::span<const LiftRule>, 15> AllLifts();

/// Converts features of sets 1 to 6 that set 7 removed: explicit broadcasting and training
/// attributes.
void LiftOldest(Lift& lift);

/// Applies every rule for the node's operator, domain and set, in order. An operator of ai.onnx
/// without a rule has the same semantics in all sets. Afterwards, the node is one of ai.onnx, or of
/// the domain msc.
/// Sources: ONNX Changelog, operator sets 1 to 28; schemas of ONNX Runtime 1.31.
void LiftNode(Lift& lift);

}  // namespace msc::detail
