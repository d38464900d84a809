#include "compiler/import/onnx/byte_source.h"

#include <algorithm>
#include <cstring>

#include "compiler/base/error.h"
#include "compiler/base/file.h"

namespace msc::detail {

ByteSource::ByteSource(const InputFile& file) : file_(&file), size_(file.size()) {}

void ByteSource::Read(std::uint64_t offset, std::span<std::byte> out) const {
  const bool inside = offset <= size_ && out.size() <= size_ - offset;
  if (inside && out.empty()) return;
  if (inside && file_ == nullptr) {
    std::memcpy(out.data(), memory_.data() + offset, out.size());
    return;
  }
  if (!inside || file_->Read(offset, out) != out.size()) {
    throw UserError("could not be read to its end");
  }
}

void ByteCursor::Take(std::uint64_t count, std::string& out) {
  const auto size = static_cast<std::size_t>(count);
  const std::uint64_t in_window = at_ - window_at_;
  if (in_window <= window_.size() && count <= window_.size() - in_window) {
    out.append(window_, static_cast<std::size_t>(in_window), size);
  } else {
    const std::size_t before = out.size();
    out.resize(before + size);
    source_.Read(at_, std::as_writable_bytes(std::span(out).subspan(before)));
  }
  at_ += count;
}

void ByteCursor::Fill() {
  constexpr std::uint64_t kWindow = std::uint64_t{64} << 10U;
  window_.resize(static_cast<std::size_t>(std::min(kWindow, source_.size() - at_)));
  window_at_ = at_;
  source_.Read(at_, std::as_writable_bytes(std::span(window_)));
}

}  // namespace msc::detail
