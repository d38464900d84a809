#pragma once

#include <cstddef>
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

}  // namespace msc
