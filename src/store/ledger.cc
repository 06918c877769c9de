#include "store/ledger.h"

#include <algorithm>
#include <utility>

#include "encode/error.h"

#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kBlockBytes = 1 << 20;

std::string line_of(const TruncatedRow& row) {
  return "{\"row\":" + std::to_string(row.row) + ",\"tokens\":" + std::to_string(row.tokens) +
         ",\"lost_tokens\":" + std::to_string(row.lost_tokens) + "}\n";
}

}  // namespace

void LedgerWriter::append(std::span<const TruncatedRow> rows) {
  std::string text;
  for (const TruncatedRow& row : rows) text += line_of(row);
  if (!text.empty()) write(text);
}

void LedgerWriter::append_file(const std::string& path, const LedgerSeal& seal) {
  const UniqueFd fd = open_for_reading(path, "store.ledger");
  if (const int64_t size = file_size(fd, path); size != seal.file_bytes) {
    throw damage("a truncation ledger is damaged", path, std::to_string(seal.file_bytes) + " bytes",
                 std::to_string(size));
  }
  Xxh3 hash;
  std::string block;
  for (int64_t at = 0; at < seal.file_bytes; at += static_cast<int64_t>(block.size())) {
    block.resize(static_cast<size_t>(std::min(kBlockBytes, seal.file_bytes - at)));
    pread_all(fd, block.data(), block.size(), at, path);
    hash.update(block.data(), block.size());
    write(block);
  }
  if (const std::string found = hash.hex(); found != seal.xxh3_128)
    throw damage("a truncation ledger is damaged", path, "XXH3-128 " + seal.xxh3_128, found);
}

LedgerSeal LedgerWriter::publish() {
  if (!file_) file_.emplace(path_, 0);
  file_->commit();
  return {.file_bytes = file_->bytes_written(), .xxh3_128 = hash_.hex()};
}

void LedgerWriter::write(const std::string& text) {
  if (!file_) file_.emplace(path_, 0);
  file_->write(text.data(), text.size());
  hash_.update(text.data(), text.size());
}

std::string check_ledger(const std::string& path, const LedgerSeal& seal) {
  try {
    if (const int64_t size = file_size(open_for_reading(path, "store.ledger"), path);
        size != seal.file_bytes) {
      return "it has " + std::to_string(size) + " bytes, not " + std::to_string(seal.file_bytes);
    }
    return xxh3_file(path) == seal.xxh3_128 ? "" : "its checksum differs";
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kNoInput) return "the file is missing";
    if (error.exit_code() == ExitCode::kIoError) return error.detail().what;
    throw;
  }
}

}  // namespace encode
