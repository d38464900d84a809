#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace msc {

/// Incremental digest of bytes (FIPS 180-4).
class Digest {
 public:
  enum class Kind : unsigned char { kSha1, kSha256 };
  explicit Digest(Kind kind);
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  ~Digest();

  void Add(std::span<const std::byte> bytes);
  void Add(std::string_view text);
  /// Lowercase hex digits, 40 of SHA-1 and 64 of SHA-256. Ends the computation.
  [[nodiscard]] std::string Hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Names blobs and keys caches: equal digest means equal bytes.
class Sha256 : public Digest {
 public:
  Sha256() : Digest(Kind::kSha256) {}
};

/// For formats that ask for it. It finds damage; who means to forge can make equal digests.
class Sha1 : public Digest {
 public:
  Sha1() : Digest(Kind::kSha1) {}
};

[[nodiscard]] std::string Sha256Hex(std::string_view text);

/// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), as in RFC 3720 appendix B.4.
[[nodiscard]] std::uint32_t Crc32c(std::string_view bytes);

}  // namespace msc
