#pragma once

#include <memory>

#include "cost/farm/transport/transport.h"

namespace msc::cost {

/// Ranks that are threads of one process, joined by queues. Thread-safe.
class InprocHub {
 public:
  /// `size` >= 1.
  explicit InprocHub(int size);
  InprocHub(const InprocHub&) = delete;
  InprocHub& operator=(const InprocHub&) = delete;
  ~InprocHub();

  /// The transport of one rank, to be taken once. When it is destroyed, the others see the rank
  /// among their dead peers. It may outlive the hub.
  [[nodiscard]] std::unique_ptr<Transport> Endpoint(int rank);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace msc::cost
