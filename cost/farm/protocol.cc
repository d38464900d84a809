#include "cost/farm/protocol.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "cost/model/evaluator.h"

namespace msc::cost {
namespace {

constexpr std::uint32_t kMagic = 0x4d46534d;  // "MSFM" read as a little-endian number
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kHashDigits = 64;

/// The wire format. The order of its fields avoids padding.
struct Layout {
  std::uint32_t magic;
  std::uint32_t crc;  // of all following bytes
  std::uint16_t version;
  std::uint8_t kind;
  std::uint8_t error;
  std::uint8_t measure;
  std::uint8_t busy;
  std::uint8_t clean;
  std::uint8_t has_blob;
  std::uint64_t task;
  std::uint32_t attempt;
  std::uint32_t text_size;
  std::array<char, kHashDigits> blob;
  std::array<char, kMaxText> text;
};
static_assert(sizeof(Layout) == kWireBytes);
static_assert(std::is_trivially_copyable_v<Layout>);
static_assert(std::has_unique_object_representations_v<Layout>);

constexpr std::size_t kCovered = offsetof(Layout, version);

std::uint32_t ChecksumOf(std::span<const std::byte> wire) {
  std::string covered(wire.size() - kCovered, '\0');
  std::memcpy(covered.data(), wire.data() + kCovered, covered.size());
  return Crc32c(covered);
}

bool IsHash(std::string_view text) {
  return text.size() == kHashDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool InRange(const Layout& layout) {
  return layout.kind >= static_cast<std::uint8_t>(MessageKind::kHello) &&
         layout.kind <= static_cast<std::uint8_t>(MessageKind::kLeave) &&
         layout.error <= static_cast<std::uint8_t>(RemoteError::kInternal) &&
         layout.measure <= static_cast<std::uint8_t>(Measure::kProbe) && layout.busy <= 1 &&
         layout.clean <= 1 && layout.has_blob <= 1 && layout.text_size <= kMaxText;
}

}  // namespace

Wire Encode(const Message& message) {
  Check(message.blob.empty() || IsHash(message.blob), "a blob is named by its hash");
  Layout layout{};
  layout.magic = kMagic;
  layout.version = kVersion;
  layout.kind = static_cast<std::uint8_t>(message.kind);
  layout.error = static_cast<std::uint8_t>(message.error);
  layout.measure = message.measure;
  layout.busy = message.busy ? 1 : 0;
  layout.clean = message.clean ? 1 : 0;
  layout.has_blob = message.blob.empty() ? 0 : 1;
  layout.task = message.task;
  layout.attempt = message.attempt;
  layout.text_size = static_cast<std::uint32_t>(std::min(message.text.size(), kMaxText));
  std::copy(message.blob.begin(), message.blob.end(), layout.blob.begin());
  std::copy_n(message.text.begin(), layout.text_size, layout.text.begin());
  Wire wire{};
  std::memcpy(wire.data(), &layout, sizeof layout);
  layout.crc = ChecksumOf(wire);
  std::memcpy(wire.data(), &layout, sizeof layout);
  return wire;
}

std::optional<Message> Decode(std::span<const std::byte> bytes) {
  if (bytes.size() != kWireBytes) return std::nullopt;
  Layout layout{};
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (layout.magic != kMagic || layout.version != kVersion || layout.crc != ChecksumOf(bytes) ||
      !InRange(layout)) {
    return std::nullopt;
  }
  Message message;
  message.kind = static_cast<MessageKind>(layout.kind);
  message.error = static_cast<RemoteError>(layout.error);
  message.measure = layout.measure;
  message.busy = layout.busy != 0;
  message.clean = layout.clean != 0;
  message.task = layout.task;
  message.attempt = layout.attempt;
  if (layout.has_blob != 0) message.blob.assign(layout.blob.begin(), layout.blob.end());
  message.text.assign(layout.text.data(), layout.text_size);
  if (!message.blob.empty() && !IsHash(message.blob)) return std::nullopt;
  return message;
}

}  // namespace msc::cost
