// Hashes: SHA-256 identifies files and can be compared with the hashes of the Hugging Face Hub.
// XXH3-128 detects accidental damage. Any thread may call the functions.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

struct evp_md_st;
struct evp_md_ctx_st;
struct XXH3_state_s;

namespace encode {

// A hash of OpenSSL, of data that comes in pieces. The constructor throws Error kInternal
// "internal.sha256" if OpenSSL does not offer the hash. Not thread-safe.
class Digest {
 public:
  explicit Digest(const evp_md_st* algorithm);
  void update(const void* data, size_t size);
  std::string hex();  // no member function may be called after hex()

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

class Sha256 : public Digest {
 public:
  Sha256();
};

// Returns two lower-case hexadecimal digits for each byte.
std::string hex_of(std::span<const std::byte> bytes);
// Returns the bytes that hex_of() writes as `digits`, or nullopt for any other text.
std::optional<std::vector<std::byte>> bytes_of_hex(const std::string& digits);

using Sha256Bytes = std::array<std::byte, 32>;

std::string sha256_hex(std::string_view data);
// Returns the bytes that sha256_hex() writes as digits. Throws what Sha256() throws.
Sha256Bytes sha256_bytes(std::span<const std::byte> data);
// Returns the bytes of a SHA-256 from its 64 digits, or nullopt for any other text.
std::optional<Sha256Bytes> sha256_from_hex(const std::string& digits);
// Reads an open file in bounded memory. `path` is for messages. Throws what file_size() and
// pread_all() throw.
std::string sha256_of(const UniqueFd& fd, const std::string& path);
// Returns the 40 digits by which git names the content of an open file: the SHA-1 of
// "blob <size>\0" and the bytes. It identifies a file, but is no defence against an attacker.
// Throws what sha256_of() and Sha256() throw.
std::string git_blob_sha1_of(const UniqueFd& fd, const std::string& path);

// XXH3-128 of data that comes in pieces (xxHash). An attacker can forge it. Not thread-safe.
class Xxh3 {
 public:
  Xxh3();
  void update(const void* data, size_t size);
  // The high half first. update() may follow.
  std::array<std::byte, 16> bytes() const;
  std::string hex() const { return hex_of(bytes()); }  // 32 digits

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

std::string xxh3_hex(std::string_view data);
// Returns the 16 bytes that xxh3_hex() writes as digits.
std::array<std::byte, 16> xxh3_bytes(std::span<const std::byte> data);
// Reads the file in bounded memory. Throws what open_for_reading() and pread_all() throw.
std::string xxh3_file(const std::string& path);

}  // namespace encode
