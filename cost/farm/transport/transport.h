#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace msc::cost {

/// Largest size of a packet. Every MPI transport delivers such small packets eagerly, so no rank
/// waits for a rank that died.
inline constexpr std::size_t kMaxPacketBytes = 1024;

/// Bytes that arrived from any rank; the receiver must check them.
struct Packet {
  int from = 0;
  std::vector<std::byte> bytes;
};

/// Connects the ranks of a farm: rank 0 is the coordinator, the others are workers. Packets from
/// one rank to another arrive in order, or not at all if either rank dies. No method waits for
/// another rank.
///
/// Used by one thread at a time, which may change.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Sends at most kMaxPacketBytes and returns immediately. Does nothing if the receiver is dead.
  virtual void Post(int to, std::span<const std::byte> bytes) = 0;
  /// Returns the next packet, or nothing if none came within `wait`. The wait should be short if
  /// packets are expected, because an implementation may return a packet only at the end of it.
  [[nodiscard]] virtual std::optional<Packet> Poll(std::chrono::milliseconds wait) = 0;
  /// Returns the ranks that the transport knows to be dead. Others are recognised by their silence.
  [[nodiscard]] virtual std::vector<int> dead_peers() const = 0;
};

}  // namespace msc::cost
