#include "text/scanned_reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/hash.h"
#include "base/units.h"
#include "text/file_identity.h"
#include "text/row_hash.h"

namespace encode {
namespace {

// Returns true for an error with which the scan would have ended, too. In a later pass it means
// that the input has changed since the run began.
bool is_of_content(const ErrorDetail& error) {
  const ExitCode code = error.exit_code;
  return code == ExitCode::kData || code == ExitCode::kConfig || code == ExitCode::kNoInput ||
         error.code == "text.changed";
}

}  // namespace

ScannedReader::ScannedReader(const InputOptions& options, const InputScan& scan, size_t block_bytes)
    : options_(options), scan_(scan), block_bytes_(block_bytes) {}

bool ScannedReader::next(Text& text) {
  if (row_ == scan_.end_row) return false;
  if (row_ < first_unread_ || row_ >= block_end_) load_block(block_of(row_));
  std::swap(text, block_[static_cast<size_t>(row_ - block_begin_)]);
  first_unread_ = ++row_;
  return true;
}

void ScannedReader::seek(int64_t row) {
  const int64_t begin = scan_.checkpoints.empty() ? scan_.end_row : scan_.checkpoints.front().row;
  if (row < begin || row > scan_.end_row) {
    throw Error({.code = "text.seek",
                 .what = "no such row",
                 .where = options_.path,
                 .expected = fmt::format("{} to {}", begin, scan_.end_row),
                 .found = fmt::to_string(row),
                 .hint = kDefectHint});
  }
  row_ = row;
}

size_t ScannedReader::block_of(int64_t row) const {
  const auto next = std::upper_bound(
      scan_.checkpoints.begin(), scan_.checkpoints.end(), row,
      [](int64_t r, const InputScan::Checkpoint& checkpoint) { return r < checkpoint.row; });
  return static_cast<size_t>(next - scan_.checkpoints.begin()) - 1;
}

void ScannedReader::load_block(size_t index) {
  try {
    read_block(index);
  } catch (const Error& error) {
    const ErrorDetail& detail = error.detail();
    if (!is_of_content(detail)) throw;
    throw changed_in_run(detail.where, detail.what, detail.expected, detail.found);
  }
}

void ScannedReader::read_block(size_t index) {
  const InputScan::Checkpoint& begin = scan_.checkpoints[index];
  const bool is_last = index + 1 == scan_.checkpoints.size();
  const int64_t end = is_last ? scan_.end_row : scan_.checkpoints[index + 1].row;
  block_end_ = 0;  // if this function throws, no row of the block is returned
  block_.resize(static_cast<size_t>(end - begin.row));
  if (!reader_) {
    reader_.emplace(options_, scan_, block_bytes_);
    // The scan of a shard begins within the input. With a filter it may begin there even with row
    // 0, and the records before it count.
    const InputScan::Checkpoint& first = scan_.checkpoints.front();
    const bool at_begin = first.row == 0 && (first.rows_in == 0 || !options_.filter.any());
    next_block_ = at_begin ? 0 : scan_.checkpoints.size();
  }
  if (index != next_block_) reader_->go_to(begin);
  next_block_ = scan_.checkpoints.size();
  RowHash hash;
  for (Text& text : block_) {
    if (!reader_->next(text)) {
      throw changed_in_run(file_of(begin), "the input has fewer rows than when the run began",
                           format_count(scan_.rows, "row", "rows"), "fewer rows");
    }
    if (options_.filter.any()) hash.add_record(text.record);
    text.tokenized ? hash.add(text.input_ids) : hash.add(text.utf8);
  }
  if (hash.bytes() != begin.xxh3_128) {
    throw changed_in_run(
        file_of(begin), "the input is not the one that was read when the run began",
        fmt::format("rows {} to {} with the hash {}", begin.row, end - 1, hex_of(begin.xxh3_128)),
        hex_of(hash.bytes()));
  }
  next_block_ = index + 1;
  block_begin_ = first_unread_ = begin.row;
  block_end_ = end;
}

const std::string& ScannedReader::file_of(const InputScan::Checkpoint& block) const {
  return scan_.files[static_cast<size_t>(block.file)].path;
}

}  // namespace encode
