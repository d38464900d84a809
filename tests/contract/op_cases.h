#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// One call that an operator must take. An absent optional input is nullopt.
struct OpCase {
  std::string label;  ///< letters and digits
  std::string op;
  std::vector<std::optional<Tensor>> inputs;
  AttrMap attrs = {};
  std::size_t outputs = 1;
  std::string domain = "";
};
void PrintTo(const OpCase& op_case, std::ostream* out);

/// At least one case for every registered operator: adding an operator means adding a row.
[[nodiscard]] std::vector<OpCase> OpCases();

[[nodiscard]] ValueType TypeOfTensor(const Tensor& tensor);

/// Returns the graph of the one call; the types of its outputs are not inferred yet. `type_of` says
/// what the graph knows of the input at an index; an input of which it returns nullopt is a
/// constant, as all are without `type_of`.
[[nodiscard]] Graph GraphOfCase(
    const OpCase& op_case,
    const std::function<std::optional<ValueType>(std::size_t, const Tensor&)>& type_of = {});

}  // namespace msc
