#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cost/farm/transport/transport.h"

namespace msc::cost {

/// What the ranks of a farm say to each other. C: the coordinator says it; W: a worker does.
enum class MessageKind : std::uint8_t {
  kHello = 1,    ///< C: make an evaluator for the run folder `text`
  kReady = 2,    ///< W: done, hand me a task
  kRefuse = 3,   ///< W: cannot make one: `error`, `text`
  kTask = 4,     ///< C: evaluate the candidate in blob `blob`
  kCancel = 5,   ///< C: the task is not wanted any more
  kResult = 6,   ///< W: its outcome is in blob `blob`
  kThrew = 7,    ///< W: its evaluation ended with an exception: `error`, `text`
  kDropped = 8,  ///< W: it was cancelled in time
  kBeat = 9,     ///< W: I live; `task` and `attempt` are the last I got, `busy` if I am at it
  kPing = 10,    ///< C: I live
  kStop = 11,    ///< C: no more tasks
  kBye = 12,     ///< W: nothing runs here any more
  kLeave = 13,   ///< C: exit; `clean` says whether through MPI_Finalize
};

/// Which exception ended an evaluation, so that the coordinator throws the same.
enum class RemoteError : std::uint8_t { kNone, kUser, kSystem, kInternal };

/// One message. Which fields mean something depends on the kind. Everything larger travels as a
/// blob, a file named by its hash.
struct Message {
  MessageKind kind = MessageKind::kPing;
  RemoteError error = RemoteError::kNone;
  std::uint8_t measure = 0;  ///< a Measure
  bool busy = false;
  bool clean = false;
  std::uint32_t attempt = 0;  ///< from 1
  std::uint64_t task = 0;     ///< from 1
  std::string blob;           ///< 64 hex digits, or empty
  std::string text;           ///< at most kMaxText bytes; longer is cut
  bool operator==(const Message&) const = default;
};

inline constexpr std::size_t kMaxText = 512;
inline constexpr std::size_t kWireBytes = 608;
static_assert(kWireBytes <= kMaxPacketBytes);
using Wire = std::array<std::byte, kWireBytes>;

/// Version 1 of the wire form: fixed size, checksummed, for ranks of one byte order.
[[nodiscard]] Wire Encode(const Message& message);
/// The message, or nothing where `bytes` are of another version, damaged or out of range.
[[nodiscard]] std::optional<Message> Decode(std::span<const std::byte> bytes);

}  // namespace msc::cost
