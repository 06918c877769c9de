// SHA-256 for identity (comparable with Hub hashes), XXH3-128 for accidental damage.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace encode {

// Streaming SHA-256 (OpenSSL).
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();
  void update(const void* data, size_t size);
  std::string hex();  // 64 digits; ends the hash

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view data);
std::string sha256_file(const std::string& path);  // streams; throws Error

// Streaming XXH3-128 (xxHash), 32 hex digits, high half first. No protection against an attacker.
class Xxh3 {
 public:
  Xxh3();
  Xxh3(Xxh3&&) noexcept;
  Xxh3& operator=(Xxh3&&) noexcept;
  ~Xxh3();
  void update(const void* data, size_t size);
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string xxh3_hex(std::string_view data);
std::string xxh3_file(const std::string& path);  // streams; throws Error

}  // namespace encode
