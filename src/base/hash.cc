#include "base/hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include "encode/error.h"

#include "base/file.h"

namespace encode {
namespace {

constexpr ErrorCode kReadCode = "io.read";

template <typename Hash>
std::string hash_open_file(const UniqueFd& fd, const std::string& path, Hash hash = {}) {
  for_blocks(fd, file_size(fd, path), path,
             [&hash](std::string_view block) { hash.update(block.data(), block.size()); });
  return hash.hex();
}

Error no_sha() {
  return Error({.code = "internal.sha256",
                .what = "OpenSSL does not offer SHA-256 or SHA-1",
                .where = "encode",
                .expected = "a hash function of OpenSSL that works",
                .found = "an error of the library",
                .hint = kDefectHint});
}

std::array<std::byte, 16> canonical_bytes(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return std::bit_cast<std::array<std::byte, 16>>(canonical);
}

}  // namespace

Digest::Digest(const EVP_MD* algorithm) : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), algorithm, nullptr) != 1)
    throw no_sha();
}

void Digest::Free::operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }

void Digest::update(const void* data, size_t size) { EVP_DigestUpdate(context_.get(), data, size); }

std::string hex_of(std::span<const std::byte> bytes) {
  const auto* first = reinterpret_cast<const unsigned char*>(bytes.data());
  return fmt::format("{:02x}", fmt::join(first, first + bytes.size(), ""));
}

std::optional<std::vector<std::byte>> bytes_of_hex(const std::string& digits) {
  std::vector<std::byte> bytes(digits.size() / 2);
  size_t size = 0;
  const bool read = OPENSSL_hexstr2buf_ex(reinterpret_cast<unsigned char*>(bytes.data()),
                                          bytes.size(), &size, digits.c_str(), '\0') == 1;
  if (!read) ERR_clear_error();  // OpenSSL would report it after a later call
  // Compares the digits, because OpenSSL stops at a NUL and also accepts capital letters.
  if (!read || size != bytes.size() || hex_of(bytes) != digits) return std::nullopt;
  return bytes;
}

std::string Digest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
  return hex_of(std::as_bytes(std::span(digest).first(size)));
}

Sha256::Sha256() : Digest(EVP_sha256()) {}

std::string sha256_hex(std::string_view data) {
  Sha256 hash;
  hash.update(data.data(), data.size());
  return hash.hex();
}

Sha256Bytes sha256_bytes(std::span<const std::byte> data) {
  std::array<unsigned char, 32> digest = {};
  if (EVP_Digest(data.data(), data.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
    throw no_sha();
  return std::bit_cast<Sha256Bytes>(digest);
}

std::optional<Sha256Bytes> sha256_from_hex(const std::string& digits) {
  const std::optional<std::vector<std::byte>> bytes = bytes_of_hex(digits);
  Sha256Bytes hash;
  if (!bytes || bytes->size() != hash.size()) return std::nullopt;
  std::ranges::copy(*bytes, hash.begin());
  return hash;
}

std::string sha256_of(const UniqueFd& fd, const std::string& path) {
  return hash_open_file<Sha256>(fd, path);
}

std::string git_blob_sha1_of(const UniqueFd& fd, const std::string& path) {
  Digest digest(EVP_sha1());
  const std::string header = fmt::format("blob {}", file_size(fd, path));
  digest.update(header.c_str(), header.size() + 1);  // with the NUL at its end
  return hash_open_file(fd, path, std::move(digest));
}

Xxh3::Xxh3() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }

void Xxh3::Free::operator()(XXH3_state_t* state) const { XXH3_freeState(state); }

void Xxh3::update(const void* data, size_t size) { XXH3_128bits_update(state_.get(), data, size); }

std::array<std::byte, 16> Xxh3::bytes() const {
  return canonical_bytes(XXH3_128bits_digest(state_.get()));
}

std::string xxh3_hex(std::string_view data) {
  Xxh3 hash;
  hash.update(data.data(), data.size());
  return hash.hex();
}

std::array<std::byte, 16> xxh3_bytes(std::span<const std::byte> data) {
  return canonical_bytes(XXH3_128bits(data.data(), data.size()));
}

std::string xxh3_file(const std::string& path) {
  return hash_open_file<Xxh3>(open_for_reading(path, kReadCode), path);
}

}  // namespace encode
