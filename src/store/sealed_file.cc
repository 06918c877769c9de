#include "store/sealed_file.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/npy.h"
#include "store/audit.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr ErrorCode kSealCode = "store.beside";

}  // namespace

std::string check_sealed_file(const std::string& path, const FileSeal& seal) {
  try {
    if (const int64_t size = file_size(open_for_reading(path, kSealCode), path);
        size != seal.file_bytes) {
      return fmt::format("it has {} bytes, not {}", size, seal.file_bytes);
    }
    return xxh3_file(path) == seal.xxh3_128 ? "" : "its checksum is not the recorded one";
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kNoInput) return "the file is missing";
    throw;
  }
}

void read_sealed_file(const std::string& path, const FileSeal& seal,
                      const std::function<void(std::string_view)>& on_bytes) {
  const UniqueFd fd = open_for_reading(path, kSealCode);
  if (const int64_t size = file_size(fd, path); size != seal.file_bytes) {
    throw damage("a file beside a matrix is damaged", path,
                 fmt::format("{} bytes", seal.file_bytes), fmt::format("{} bytes", size));
  }
  Xxh3 hash;
  for_blocks(fd, seal.file_bytes, path, [&](std::string_view block) {
    hash.update(block.data(), block.size());
    on_bytes(block);
  });
  if (const std::string found = hash.hex(); found != seal.xxh3_128)
    throw damage("a file beside a matrix is damaged", path, "XXH3-128 " + seal.xxh3_128, found);
}

void read_sealed_numbers(const std::string& path, const FileSeal& seal,
                         const std::function<void(int64_t)>& on_number) {
  bool header = true;  // the first block begins with the header
  read_sealed_file(path, seal, [&](std::string_view block) {
    if (header) block.remove_prefix(std::min<size_t>(block.size(), kNpyHeaderBytes));
    header = false;
    for (; block.size() >= sizeof(int64_t); block.remove_prefix(sizeof(int64_t))) {
      int64_t number = 0;
      std::memcpy(&number, block.data(), sizeof number);
      on_number(number);
    }
  });
}

}  // namespace encode
