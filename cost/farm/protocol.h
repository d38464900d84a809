#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cost/farm/transport/transport.h"

namespace msc::cost {

/// Kinds of messages between the ranks of a farm. C: sent by the coordinator; W: sent by a worker.
enum class MessageKind : std::uint8_t {
  kHello = 1,    ///< C: make an evaluator for the run folder `text`
  kReady = 2,    ///< W: evaluator made, ready for a task
  kRefuse = 3,   ///< W: cannot make an evaluator, because of `error`, `text`
  kTask = 4,     ///< C: evaluate the candidate in blob `blob`
  kCancel = 5,   ///< C: the task is no longer needed
  kResult = 6,   ///< W: the outcome is in blob `blob`
  kThrew = 7,    ///< W: the evaluation ended with the exception `error`, `text`
  kDropped = 8,  ///< W: the task was cancelled before it had a result
  /// W: sign of life; `task` and `attempt` are the last ones received, `busy` says whether they
  /// still run.
  kBeat = 9,
  kPing = 10,   ///< C: sign of life
  kStop = 11,   ///< C: no more tasks will come
  kBye = 12,    ///< W: nothing runs any more
  kLeave = 13,  ///< C: exit; `clean` says whether to call MPI_Finalize
};

/// Type of the exception that ended an evaluation; the coordinator throws the same type.
enum class RemoteError : std::uint8_t { kNone, kUser, kSystem, kInternal };

/// One message. Its kind decides which fields are used. Larger data travels in blobs.
struct Message {
  MessageKind kind = MessageKind::kPing;
  RemoteError error = RemoteError::kNone;
  std::uint8_t measure = 0;  ///< value of Measure
  bool busy = false;
  bool clean = false;
  std::uint32_t attempt = 0;  ///< from 1
  std::uint64_t task = 0;     ///< from 1
  std::string blob;           ///< 64 hex digits, or empty
  std::string text;           ///< at most kMaxText bytes; a longer text is cut
  bool operator==(const Message&) const = default;
};

inline constexpr std::size_t kMaxText = 512;
inline constexpr std::size_t kWireBytes = 608;
static_assert(kWireBytes <= kMaxPacketBytes);
using Wire = std::array<std::byte, kWireBytes>;

/// Encodes a message in version 1 of the wire format: fixed size, with a checksum, for ranks of
/// equal byte order. InternalError if `blob` is not a hash.
[[nodiscard]] Wire Encode(const Message& message);
/// Returns the message, or nothing if `bytes` have another version, are damaged or out of range.
[[nodiscard]] std::optional<Message> Decode(std::span<const std::byte> bytes);

}  // namespace msc::cost
