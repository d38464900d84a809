#pragma once

#include <memory>

#include "cost/farm/transport/transport.h"

namespace msc::cost {

/// Connects ranks that are threads of one process by queues. Thread-safe.
class InprocHub {
 public:
  /// Makes a hub of `size` >= 1 ranks.
  explicit InprocHub(int size);
  InprocHub(const InprocHub&) = delete;
  InprocHub& operator=(const InprocHub&) = delete;
  ~InprocHub();

  /// Returns the transport of one rank; call it once for each. When the transport is destroyed, the
  /// others see the rank among their dead peers. It may outlive the hub.
  [[nodiscard]] std::unique_ptr<Transport> Endpoint(int rank);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace msc::cost
