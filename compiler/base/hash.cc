#include "compiler/base/hash.h"

#include <array>

#include <openssl/evp.h>

#include "compiler/base/error.h"

namespace msc {
namespace {

constexpr std::array<std::uint32_t, 256> MakeCrcTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
    table[i] = crc;
  }
  return table;
}

}  // namespace

struct Digest::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
};

Digest::Digest(Kind kind) : state_(std::make_unique<State>()) {
  const EVP_MD* const function = kind == Kind::kSha1 ? EVP_sha1() : EVP_sha256();
  Check(EVP_DigestInit_ex(state_->context, function, nullptr) == 1, "libcrypto has the digest");
}

Digest::~Digest() {
  EVP_MD_CTX_free(state_->context);
}

void Digest::Add(std::span<const std::byte> bytes) {
  Check(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1,
        "a digest update works");
}

void Digest::Add(std::string_view text) {
  Add(std::as_bytes(std::span(text)));
}

std::string Digest::Hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  Check(EVP_DigestFinal_ex(state_->context, digest.data(), &size) == 1, "a digest ends once");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : std::span(digest).first(size)) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::string Sha256Hex(std::string_view text) {
  Sha256 hash;
  hash.Add(text);
  return hash.Hex();
}

std::uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = MakeCrcTable();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) {
    crc = (crc >> 8U) ^ kTable.at((crc ^ static_cast<unsigned char>(c)) & 0xFFU);
  }
  return crc ^ 0xFFFFFFFFU;
}

}  // namespace msc
