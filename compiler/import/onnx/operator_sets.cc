#include "compiler/import/onnx/operator_sets.h"

#include <algorithm>
#include <array>

namespace msc::detail {
namespace {

struct OperatorChange {
  std::string_view op;
  std::int64_t opset = 0;
};

#include "compiler/import/onnx/operator_changes.inc"  // IWYU pragma: keep

}  // namespace

std::int64_t ListedOpset() {
  return kListedOpset;
}

std::int64_t LastChangeOf(std::string_view op, std::int64_t opset) {
  std::int64_t last = 0;
  for (const OperatorChange& change : kChanges) {
    if (change.op == op && change.opset <= opset) last = std::max(last, change.opset);
  }
  return last;
}

}  // namespace msc::detail
