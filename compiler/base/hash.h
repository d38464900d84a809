#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace msc {

/// Incremental message digest of bytes (FIPS 180-4, computed by libcrypto).
class Digest {
 public:
  enum class Kind : unsigned char { kSha1, kSha256 };
  explicit Digest(Kind kind);
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  ~Digest();

  void Add(std::span<const std::byte> bytes);
  void Add(std::string_view text);
  /// Returns lowercase hex digits: 40 for SHA-1, 64 for SHA-256. Ends the computation; call it
  /// once.
  [[nodiscard]] std::string Hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SHA-256 digest that names blobs and keys caches: equal digests mean equal bytes.
class Sha256 : public Digest {
 public:
  Sha256() : Digest(Kind::kSha256) {}
};

/// SHA-1 digest, for file formats that require it. It detects damage, but an attacker can forge
/// equal digests.
class Sha1 : public Digest {
 public:
  Sha1() : Digest(Kind::kSha1) {}
};

[[nodiscard]] std::string Sha256Hex(std::string_view text);

/// Returns the CRC-32C (Castagnoli, reflected polynomial 0x82F63B78) of `bytes`, as in RFC 3720
/// appendix B.4.
[[nodiscard]] std::uint32_t Crc32c(std::string_view bytes);

}  // namespace msc
