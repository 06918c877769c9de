// Random access to the bytes of an input file, for the formats that are not read from front to
// back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "columnar/columnar.h"
#include "text/file_identity.h"

namespace encode {

// The bytes of a file as stored on disk. Not thread-safe.
class CheckedFile final : public ByteFile {
 public:
  // If `hashed`, reads the file once, for its SHA-256 and for a hash of each block. read() then
  // compares each block that it reads with its hash. So the bytes that are parsed have this
  // SHA-256, even if somebody writes to the file. Throws what open_for_reading() and pread_all()
  // throw.
  CheckedFile(std::string path, bool hashed);

  int64_t size() const override { return opened_.bytes; }
  // Throws Error kIoError "text.changed" if a block has changed, or if the file has shrunk.
  void read(int64_t offset, std::span<char> to) override;

  // The SHA-256 of the file in hex; "" if it is not `hashed`.
  const std::string& sha256() const { return sha256_; }
  const FileIdentity& identity() const { return opened_; }  // when it was opened
  // Throws Error kIoError "text.changed" if the size of the file has changed.
  void check_size() const;

 private:
  static constexpr int64_t kBlockBytes = int64_t{256} << 10;
  using BlockHash = std::array<std::byte, 16>;

  void hash_all();
  void load_block(int64_t index);

  std::string path_;
  UniqueFd fd_;
  FileIdentity opened_;
  std::string sha256_;
  std::vector<BlockHash> hashes_;  // of the blocks, in order; empty if the file is not hashed
  std::vector<char> block_;        // the last block that read() has used
  int64_t block_index_ = -1;
};

}  // namespace encode
