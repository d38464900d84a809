#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace msc::cost {

/// Most bytes of one packet. Packets this small are delivered eagerly by every MPI transport, so
/// that no rank ever waits for another one that died.
inline constexpr std::size_t kMaxPacketBytes = 1024;

/// Bytes that arrived, from anybody: to be checked before use.
struct Packet {
  int from = 0;
  std::vector<std::byte> bytes;
};

/// How the ranks of a farm reach each other: rank 0 coordinates, the others work. Packets from one
/// rank to another arrive in order or, if either dies, not at all. No method waits for a peer.
///
/// One thread at a time; it may be another one later.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Sends at most kMaxPacketBytes and returns at once. To a dead peer it does nothing.
  virtual void Post(int to, std::span<const std::byte> bytes) = 0;
  /// The next packet; nothing if none came within `wait`, which should be short where packets are
  /// expected: one that comes meanwhile may be handed over only at its end.
  [[nodiscard]] virtual std::optional<Packet> Poll(std::chrono::milliseconds wait) = 0;
  /// Peers that the transport itself knows to be gone. Others are found out by their silence.
  [[nodiscard]] virtual std::vector<int> dead_peers() const = 0;
};

}  // namespace msc::cost
