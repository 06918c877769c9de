#include "encode/scanned_files.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>

#include "encode/error.h"

#include "base/hash.h"

namespace encode {
namespace {

// No file has a hash of zeros.
constexpr Sha256Bytes kUnknown = {};

Sha256Bytes bytes_of(const ScannedFile& file) {
  if (file.sha256.empty()) return kUnknown;
  const std::optional<Sha256Bytes> hash = sha256_from_hex(file.sha256);
  if (!hash)
    throw Error({.code = "store.misuse",
                 .what = "the SHA-256 of a file is not one",
                 .where = file.path,
                 .expected = "64 hexadecimal digits",
                 .found = file.sha256,
                 .hint = kDefectHint});
  return *hash;
}

}  // namespace

struct ScannedFiles::Content {
  struct Facts {
    int64_t first_row = 0;
    int64_t bytes = 0;
    int64_t inode = 0;
    int64_t mtime_ns = 0;
    Sha256Bytes sha256 = {};
  };
  PathList paths;
  std::deque<Facts> facts;  // a deque, because a vector that grows takes twice the memory
  int64_t bytes = 0;
};

ScannedFiles::ScannedFiles() : content_(std::make_shared<Content>()) {}

size_t ScannedFiles::size() const { return content_->facts.size(); }

int64_t ScannedFiles::bytes() const { return content_->bytes; }

ScannedFile ScannedFiles::operator[](size_t index) const {
  const Content::Facts& facts = content_->facts[index];
  return {.path = content_->paths[index],
          .first_row = facts.first_row,
          .bytes = facts.bytes,
          .sha256 = facts.sha256 == kUnknown ? "" : hex_of(facts.sha256),
          .inode = facts.inode,
          .mtime_ns = facts.mtime_ns};
}

size_t ScannedFiles::index_of_row(int64_t row) const {
  const auto after = std::upper_bound(
      content_->facts.begin(), content_->facts.end(), row,
      [](int64_t number, const Content::Facts& facts) { return number < facts.first_row; });
  return static_cast<size_t>(after - content_->facts.begin()) - 1;
}

bool ScannedFiles::operator==(const ScannedFiles& other) const {
  return content_ == other.content_ || std::ranges::equal(*this, other);
}

void ScannedFiles::push_back(const ScannedFile& file) {
  const Sha256Bytes hash = bytes_of(file);
  if (content_.use_count() > 1) content_ = std::make_shared<Content>(*content_);
  content_->paths.push_back(file.path);
  content_->facts.push_back({.first_row = file.first_row,
                             .bytes = file.bytes,
                             .inode = file.inode,
                             .mtime_ns = file.mtime_ns,
                             .sha256 = hash});
  content_->bytes += file.bytes;
}

void ScannedFiles::clear() { content_ = std::make_shared<Content>(); }

}  // namespace encode
