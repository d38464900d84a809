#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/dtype.h"

namespace msc::detail {

enum class Presence : std::uint8_t { kRequired, kOptional, kVariadic };

/// An input or output in the signature of an operator.
struct FormalParameter {
  std::string name;
  Presence presence = Presence::kRequired;
  bool alike = true;  ///< kVariadic: all values have one type
  /// Values of parameters with the same type name have the same type.
  std::string type;
  std::uint32_t allowed = 0;  ///< bit i: the element type with enumerator i

  [[nodiscard]] bool Allows(DType dtype) const {
    return (allowed >> static_cast<std::uint32_t>(dtype) & 1U) != 0;
  }
};

/// Signature of an operator in one operator set.
struct OperatorForm {
  std::size_t least_inputs = 0;
  std::size_t most_inputs = 0;
  std::size_t least_outputs = 0;
  std::size_t most_outputs = 0;
  std::vector<FormalParameter> inputs = {};
  std::vector<FormalParameter> outputs = {};
  std::map<std::string, bool, std::less<>> attrs = {};  ///< whether each is required
};

/// Returns the signature that operator set `opset` gives an operator of ai.onnx, or nullopt if the
/// set has no such operator. Element types that graphs do not have are left out. Source: libonnx's
/// schemas up to set 17, and newer_forms.inc (scripts/operator_sets.py) after that.
[[nodiscard]] std::optional<OperatorForm> FormOf(const std::string& op, std::int64_t opset);

/// Returns the IR version that came with an operator set, which is the oldest that readers of the
/// set expect; at least 4, because earlier versions require weights to be graph inputs.
[[nodiscard]] std::int64_t IrVersionOf(std::int64_t opset);

}  // namespace msc::detail
