#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace msc {

/// Incremental SHA-256 (FIPS 180-4). Names blobs and keys caches: equal digest means equal bytes.
class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256();

  void Add(std::span<const std::byte> bytes);
  void Add(std::string_view text);
  /// 64 lowercase hex digits. Ends the computation.
  [[nodiscard]] std::string Hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string Sha256Hex(std::string_view text);

/// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), as in RFC 3720 appendix B.4.
[[nodiscard]] std::uint32_t Crc32c(std::string_view bytes);

}  // namespace msc
