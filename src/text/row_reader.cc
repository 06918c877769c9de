#include "text/row_reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/empty_rows.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "text/byte_source.h"
#include "text/encodings.h"
#include "text/row_hash.h"

namespace encode {
namespace {

InputOptions checked(InputOptions options) {
  if (options.is_standard_input()) {
    throw Error({.code = "text.stdin",
                 .what = "standard input can be read only once",
                 .where = "-",
                 .expected = "a file",
                 .found = "standard input",
                 .hint = "copy it with spool_standard_input() first"});
  }
  if (options.max_row_bytes < 1 || options.max_row_bytes > kMaxRecordBytes) {
    throw Error({.code = "text.max_row_bytes",
                 .what = "max_row_bytes is out of range",
                 .where = "max_row_bytes",
                 .expected = fmt::format("1 to {}", kMaxRecordBytes),
                 .found = fmt::to_string(options.max_row_bytes),
                 .hint = fmt::format("set max_row_bytes to 1 to {}", kMaxRecordBytes)});
  }
  return options;
}

// Divides the rows of a scan into blocks and hashes them.
class BlockHashes {
 public:
  // Appends to `checkpoints`, which must outlive the object.
  explicit BlockHashes(std::vector<InputScan::Checkpoint>& checkpoints)
      : checkpoints_(checkpoints) {}

  // Adds an accepted row, which begins at `place`.
  void add(const Record& record, const InputScan::Checkpoint& place, const InputOptions& options) {
    if (rows_ == 0 || rows_ == most_rows() || bytes_ >= InputScan::kBlockTextBytes) {
      finish();
      checkpoints_.push_back(place);
    }
    if (options.filter.any()) hash_.add_record(place.rows_in);
    if (!options.passage_field.empty())
      hash_.add_frame(static_cast<int64_t>(record.bytes_before),
                      static_cast<int64_t>(record.bytes_after));
    record.tokenized ? hash_.add(record.input_ids) : hash_.add(record.text);
    ++rows_;
    bytes_ += record.size_bytes();
  }
  // Ends the last block.
  void finish() {
    if (rows_ == 0) return;
    checkpoints_.back().xxh3_128 = hash_.bytes();
    hash_ = RowHash();
    rows_ = bytes_ = 0;
  }

 private:
  // The most rows of the block that is being filled.
  int64_t most_rows() const {
    const int64_t doublings = (std::ssize(checkpoints_) - 1) / InputScan::kBlocksOfOneSize;
    constexpr int64_t kMostDoublings = 6;
    static_assert(InputScan::kBlockRows << kMostDoublings == InputScan::kMaxBlockRows);
    return InputScan::kBlockRows << std::min(doublings, kMostDoublings);
  }

  std::vector<InputScan::Checkpoint>& checkpoints_;
  RowHash hash_;
  int64_t rows_ = 0;
  int64_t bytes_ = 0;
};

std::string reason_of(const RowProblem& problem) {
  std::string reason = problem.what;
  if (!problem.found.empty()) reason += ": " + problem.found;
  if (!problem.place.empty()) reason += fmt::format(" ({})", problem.place);
  return reason;
}

// Returns the byte at which a text is not valid UTF-8. One of its parts must not be.
size_t first_invalid_byte(const FramedText& parts) {
  size_t at = 0;
  for (const std::string_view part : {parts.before, parts.text, parts.after}) {
    if (!is_valid_utf8(part)) return at + first_invalid_utf8(part);
    at += part.size();
  }
  return at;
}

InputScan::File scanned_file(const std::string& path, int64_t first_row, const FileDigest& digest) {
  return {.path = path,
          .first_row = first_row,
          .bytes = digest.identity.bytes,
          .sha256 = digest.sha256,
          .inode = digest.identity.inode,
          .mtime_ns = digest.identity.mtime_ns};
}

}  // namespace

RowReader::RowReader(const InputOptions& options, Purpose purpose, size_t block_bytes)
    : options_(checked(options)),
      paths_(input_files(options_)),
      reading_({.hashed = purpose == Purpose::kScan, .block_bytes = block_bytes}) {
  make_filter();
  // Hashing a large file takes minutes, so a wrong field of the filter is refused first.
  if (filter_ != nullptr) filter_->open_first();
  open(0);
}

RowReader::RowReader(const InputOptions& options, const InputScan& scan, size_t block_bytes)
    : options_(checked(options)), reading_({.hashed = false, .block_bytes = block_bytes}) {
  for (const InputScan::File& file : scan.files) paths_.push_back(file.path);
  make_filter();
}

void RowReader::make_filter() {
  if (!options_.filter.any()) return;
  filter_ = std::make_unique<RecordFilter>(options_, paths_, reading_.block_bytes);
}

void RowReader::open(size_t index) {
  file_.reset();
  index_ = index;
  options_.path = paths_[index];
  file_ = open_input_file(options_, reading_);
  first_row_ = rows_;
}

// Reads the next record of the input. Returns false at the end of the last file.
bool RowReader::next_record() {
  if (file_ == nullptr) open(0);
  while (!file_->next(record_)) {
    if (index_ + 1 == paths_.size()) return false;
    if (reading_.hashed) finish_file();
    open(index_ + 1);
  }
  return true;
}

// Reads the next record that the filter does not drop. A record to which the filter cannot be
// applied has a problem then.
bool RowReader::next_kept_record() {
  for (;;) {
    if (!next_record()) break;
    ++records_;
    if (filter_ == nullptr) return true;
    const WhereFilter::Verdict verdict = filter_->next(record_);
    if (verdict == WhereFilter::Verdict::kTrue || verdict == WhereFilter::Verdict::kMismatch)
      return true;
    ++filtered_;
    if (verdict == WhereFilter::Verdict::kUnknown) ++filter_unknown_;
  }
  if (filter_ != nullptr) filter_->finish(records_);
  return false;
}

bool RowReader::next(Text& text) {
  if (!advance({})) return false;
  text.row = rows_ - 1;
  text.line = record_.line;
  text.record = records_ - 1;
  text.utf8.assign(record_.text);
  text.bytes_before = static_cast<int64_t>(record_.bytes_before);
  text.bytes_after = static_cast<int64_t>(record_.bytes_after);
  text.tokenized = record_.tokenized;
  text.input_ids.assign(record_.input_ids.begin(), record_.input_ids.end());
  text.file = named_.try_emplace(index_, options_.path).first->second;
  return true;
}

bool RowReader::advance(const std::function<void(const RejectedRow&)>& on_rejected) {
  while (options_.limit_rows == 0 || rows_ < options_.limit_rows) {
    record_.replaced = false;
    if (!next_kept_record()) return false;
    if (judge() == Verdict::kAccept) {
      ++rows_;
      return true;
    }
    if (!on_rejected) continue;
    const RowProblem& problem = record_.problem;
    on_rejected({.record = records_ - 1,
                 .line = record_.line,
                 .file = options_.path,
                 .reason = reason_of(problem)});
  }
  return false;
}

// Applies the policies to the record. Its text becomes valid UTF-8, or the record gets a problem.
RowReader::Verdict RowReader::judge() {
  if (!record_.problem) judge_utf8();
  if (!record_.problem && record_.size_bytes() > options_.max_row_bytes) {
    record_.problem = too_long_problem(options_.max_row_bytes);
  }
  if (record_.problem) return refuse(options_.bad_row == BadRowPolicy::kError);
  if (record_.size_bytes() > 0 || options_.empty_row == EmptyRowPolicy::kKeep)
    return Verdict::kAccept;
  record_.problem = {.code = "text.empty",
                     .what = "empty row",
                     .expected = "a text",
                     .found = "no bytes",
                     .hint = "give the row a text, or keep empty rows (--empty-row keep)"};
  return refuse(options_.empty_row == EmptyRowPolicy::kError);
}

void RowReader::judge_utf8() {
  // The parts are repaired one by one, because the passages of the field must be valid on their
  // own.
  const auto [before, text, after] = record_.framed();
  if (is_valid_utf8(before) && is_valid_utf8(text) && is_valid_utf8(after)) return;
  if (options_.utf8 == Utf8Policy::kError) {
    record_.problem = {.code = "text.utf8",
                       .what = "the row is not valid UTF-8",
                       .expected = "UTF-8",
                       .found = fmt::format("an invalid sequence at byte {} of the row",
                                            first_invalid_byte(record_.framed())),
                       .hint = conversion_advice(options_, record_.text)};
    return;
  }
  repaired_.clear();
  append_repaired_utf8(before, repaired_);
  record_.bytes_before = repaired_.size();
  append_repaired_utf8(text, repaired_);
  const size_t end = repaired_.size();
  append_repaired_utf8(after, repaired_);
  record_.bytes_after = repaired_.size() - end;
  record_.text = repaired_;
  record_.replaced = true;
}

// Returns true if a row without a problem was read or is among the next records. Reading ahead does
// no harm, because the run ends anyway.
bool RowReader::has_good_rows() {
  constexpr int kMostRecords = 100;
  if (rows_ > 0) return true;
  try {
    for (int i = 0; i < kMostRecords && file_->next(record_); ++i) {
      if (!record_.problem && record_.size_bytes() > 0) return true;
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the row that is refused comes first
  }
  return false;
}

RowReader::Verdict RowReader::refuse(bool fatal) {
  if (!fatal) return Verdict::kReject;
  const Record refused = record_;
  std::string advice = refused.problem.hint;
  if (!has_good_rows())
    throw record_error(refused, options_.path, advice.empty() ? "correct the row" : advice);
  // If other rows are good, the name of the field is not the problem.
  if (advice.empty() || refused.problem.other_field) advice = "correct the row";
  const char* separator = advice.ends_with('?') ? " Or " : "; ";
  if (refused.problem.no_value) {
    advice += separator;
    advice +=
        "to leave the field empty, give --missing-field empty, or set missing_field: empty "
        "in the config";
    separator = "; ";
  }
  const char* name = refused.problem.code == "text.empty" ? "empty" : "bad";
  throw record_error(refused, options_.path,
                     fmt::format("{}{}to leave such rows out, give --{}-row reject, or set "
                                 "{}_row: reject in the config",
                                 advice, separator, name, name));
}

void RowReader::go_to(const InputScan::Checkpoint& checkpoint) {
  const auto index = static_cast<size_t>(checkpoint.file);
  if (file_ == nullptr || index != index_) open(index);
  file_->seek(checkpoint.offset_bytes, checkpoint.line);
  rows_ = checkpoint.row;
  records_ = checkpoint.rows_in;
  if (filter_ != nullptr) filter_->go_to(checkpoint);
}

InputScan RowReader::scan(const std::function<void(const RejectedRow&)>& on_rejected) {
  InputScan scan;
  BlockHashes blocks(scan.checkpoints);
  Xxh3 kept;
  while (advance(on_rejected)) {
    const InputScan::Checkpoint place = {.row = rows_ - 1,
                                         .file = static_cast<int64_t>(index_),
                                         .line = record_.line,
                                         .rows_in = records_ - 1,
                                         .offset_bytes = record_.offset_bytes,
                                         .xxh3_128 = {}};
    blocks.add(record_, place, options_);
    if (filter_ != nullptr) kept.update(&place.rows_in, sizeof place.rows_in);
    const int64_t size = record_.size_bytes();
    scan.empty += size == 0 ? 1 : 0;
    scan.blank += is_white_space(record_.text) ? 1 : 0;
    scan.tokenized += record_.tokenized ? 1 : 0;
    scan.utf8_replaced += record_.replaced ? 1 : 0;
    scan.text_bytes += size;
    scan.frame_bytes += static_cast<int64_t>(record_.bytes_before + record_.bytes_after);
    scan.longest_bytes = std::max(scan.longest_bytes, size);
  }
  blocks.finish();
  scan.rows_in = records_;
  scan.rows = scan.end_row = rows_;
  scan.filtered = filtered_;
  scan.filter_unknown = filter_unknown_;
  if (filter_ != nullptr) scan.kept_xxh3_128 = kept.hex();
  scan.rejected = records_ - rows_ - filtered_;
  scan.files = finish_files();
  return scan;
}

void RowReader::finish_file() {
  files_.push_back(scanned_file(options_.path, first_row_, file_->digest()));
}

// Hashes the rest of the files. If limit_rows has ended the scan, some of them were not opened.
ScannedFiles RowReader::finish_files() {
  finish_file();
  for (size_t i = index_ + 1; i < paths_.size(); ++i) {
    DiskFile file(paths_[i], /*hashed=*/true);
    const std::string hash = file.finish_hash();
    files_.push_back(scanned_file(paths_[i], rows_, {.identity = file.identity(), .sha256 = hash}));
  }
  return std::move(files_);
}

}  // namespace encode
