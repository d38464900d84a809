#include "compiler/import/onnx/order.h"

#include <functional>
#include <queue>

namespace msc::detail {

std::optional<std::vector<std::size_t>> StableOrder(
    const std::vector<std::vector<std::size_t>>& needs) {
  std::vector<std::vector<std::size_t>> readers(needs.size());
  std::vector<std::size_t> waiting(needs.size());
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    waiting[i] = needs[i].size();
    for (const std::size_t from : needs[i]) readers[from].push_back(i);
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> order;
  order.reserve(needs.size());
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::size_t reader : readers[next]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() != needs.size()) return std::nullopt;
  return order;
}

}  // namespace msc::detail
