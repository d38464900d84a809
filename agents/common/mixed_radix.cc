#include "agents/common/mixed_radix.h"

namespace msc::agents {

std::optional<gym::Assignment> NthAssignment(std::span<const gym::Decision> decisions,
                                             std::uint64_t n) {
  gym::Assignment assignment(decisions.size());
  for (std::size_t i = decisions.size(); i-- > 0;) {
    const std::uint64_t radix = decisions[i].choices.size();
    assignment[i] = static_cast<std::int32_t>(n % radix);
    n /= radix;
  }
  // The number of assignments may exceed 64 bits; a quotient that is left says that `n` is past the
  // last one.
  if (n > 0) return std::nullopt;
  return assignment;
}

}  // namespace msc::agents
