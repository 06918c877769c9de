#include "text/row_reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/utf8.h"
#include "text/row_hash.h"
#include "text/text_format.h"

namespace encode {
namespace {

InputOptions checked(InputOptions options) {
  if (options.path == "-") {
    throw Error({.exit_code = ExitCode::kInternal,
                 .code = "text.stdin",
                 .what = "standard input can be read only once",
                 .where = "-",
                 .expected = "a file",
                 .found = "standard input",
                 .hint = "copy it with spool_standard_input() first"});
  }
  if (options.max_row_bytes < 1 || options.max_row_bytes > kMaxRecordBytes) {
    throw Error({.exit_code = ExitCode::kConfig,
                 .code = "text.max_row_bytes",
                 .what = "max_row_bytes is out of range",
                 .where = "max_row_bytes",
                 .expected = fmt::format("1 to {}", kMaxRecordBytes),
                 .found = fmt::to_string(options.max_row_bytes),
                 .hint = fmt::format("set max_row_bytes to 1 to {}", kMaxRecordBytes)});
  }
  return options;
}

std::unique_ptr<RecordParser> make_parser(ByteWindow& window, const InputOptions& options) {
  switch (resolve_format(options).format) {
    case TextFormat::kJsonl:
      return make_jsonl_parser(window, options);
    case TextFormat::kCsv:
      return make_csv_parser(window, options, ',');
    case TextFormat::kTsv:
      return make_csv_parser(window, options, '\t');
    default:
      break;
  }
  if (options.field.empty()) return make_lines_parser(window, options);
  throw Error({.exit_code = ExitCode::kConfig,
               .code = "text.field",
               .what = "a text file of lines has no fields",
               .where = options.path,
               .expected = "no field",
               .found = fmt::format("field: '{}'", options.field),
               .hint = "leave out the field, or set the format to jsonl, csv or tsv"});
}

// Divides the rows of a scan into blocks and hashes them.
class BlockHashes {
 public:
  // Appends to `checkpoints`, which must outlive the object.
  explicit BlockHashes(std::vector<InputScan::Checkpoint>& checkpoints)
      : checkpoints_(checkpoints) {}

  // Adds an accepted row, which begins at `place`.
  void add(const Record& record, InputScan::Checkpoint place) {
    if (rows_ == 0 || rows_ == most_rows() || bytes_ >= InputScan::kBlockTextBytes) {
      finish();
      checkpoints_.push_back(std::move(place));
    }
    record.tokenized ? hash_.add(record.input_ids) : hash_.add(record.text);
    ++rows_;
    bytes_ += record.size_bytes();
  }
  // Ends the last block.
  void finish() {
    if (rows_ == 0) return;
    checkpoints_.back().xxh3_128 = hash_.hex();
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

}  // namespace

RowReader::RowReader(const InputOptions& options, Purpose purpose, size_t block_bytes)
    : options_(checked(options)),
      file_(options_.path, purpose == Purpose::kScan),
      window_(make_byte_source(file_, resolve_format(options_).compression), block_bytes) {
  check_encoding();
  parser_ = make_parser(window_, options_);
}

// Skips a byte order mark. Refuses a file that begins like gzip, zstd or UTF-16, because
// Utf8Policy::kReplace would silently turn it into rows of U+FFFD.
void RowReader::check_encoding() {
  while (window_.view().size() < 4 && window_.extend()) {
  }
  const std::string_view start = window_.view();
  if (start.starts_with("\xEF\xBB\xBF")) {
    window_.consume(3);
    return;
  }
  const char* found = nullptr;
  if (start.starts_with("\x1F\x8B")) found = "gzip";
  if (start.starts_with("\x28\xB5\x2F\xFD")) found = "zstd";
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) found = "UTF-16";
  if (found == nullptr) return;
  throw Error({.exit_code = ExitCode::kData,
               .code = "text.encoding",
               .what = "the file is not UTF-8 text",
               .where = options_.path,
               .expected = "UTF-8",
               .found = fmt::format("{}, by its first bytes", found),
               .hint = "compressed files need the suffix .gz or .zst; convert UTF-16 with iconv"});
}

bool RowReader::next(Text& text) {
  if (!advance({})) return false;
  text.row = rows_ - 1;
  text.line = record_.line;
  text.utf8.assign(record_.text);
  text.tokenized = record_.tokenized;
  text.input_ids.assign(record_.input_ids.begin(), record_.input_ids.end());
  return true;
}

bool RowReader::advance(const std::function<void(const RejectedRow&)>& on_rejected) {
  while (options_.limit_rows == 0 || rows_ < options_.limit_rows) {
    record_.replaced = false;
    if (!parser_->next(record_)) return false;
    ++records_;
    if (judge() == Verdict::kAccept) {
      ++rows_;
      return true;
    }
    if (!on_rejected) continue;
    const RowProblem& problem = record_.problem;
    on_rejected({.record = records_ - 1,
                 .line = record_.line,
                 .reason = problem.found.empty()
                               ? problem.what
                               : fmt::format("{}: {}", problem.what, problem.found)});
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
  record_.problem = {
      .code = "text.empty", .what = "empty row", .expected = "a text", .found = "no bytes"};
  return refuse(options_.empty_row == EmptyRowPolicy::kError);
}

void RowReader::judge_utf8() {
  if (is_valid_utf8(record_.text)) return;
  if (options_.utf8 == Utf8Policy::kError) {
    record_.problem = {.code = "text.utf8",
                       .what = "the row is not valid UTF-8",
                       .expected = "UTF-8",
                       .found = fmt::format("an invalid sequence at byte {} of the row",
                                            first_invalid_utf8(record_.text))};
    return;
  }
  repaired_.clear();
  append_repaired_utf8(record_.text, repaired_);
  record_.text = repaired_;
  record_.replaced = true;
}

RowReader::Verdict RowReader::refuse(bool fatal) {
  if (!fatal) return Verdict::kReject;
  const RowProblem& problem = record_.problem;
  throw Error({.exit_code = ExitCode::kData,
               .code = std::string(problem.code),
               .what = problem.what,
               .where = fmt::format("{}:{}", options_.path, record_.line),
               .expected = problem.expected,
               .found = problem.found,
               .hint = fmt::format("correct the row, or drop such rows with {}: reject",
                                   problem.code == "text.empty" ? "empty_row" : "bad_row")});
}

void RowReader::go_to(const InputScan::Checkpoint& checkpoint) {
  parser_->seek(checkpoint.offset_bytes, checkpoint.line);
  rows_ = checkpoint.row;
  records_ = checkpoint.rows_in;
}

InputScan RowReader::scan(const std::function<void(const RejectedRow&)>& on_rejected) {
  InputScan scan;
  BlockHashes blocks(scan.checkpoints);
  while (advance(on_rejected)) {
    blocks.add(record_, {.row = rows_ - 1,
                         .line = record_.line,
                         .rows_in = records_ - 1,
                         .offset_bytes = record_.offset_bytes,
                         .xxh3_128 = {}});
    const int64_t size = record_.size_bytes();
    scan.empty += size == 0 ? 1 : 0;
    scan.tokenized += record_.tokenized ? 1 : 0;
    scan.utf8_replaced += record_.replaced ? 1 : 0;
    scan.text_bytes += size;
    scan.longest_bytes = std::max(scan.longest_bytes, size);
  }
  blocks.finish();
  scan.rows_in = records_;
  scan.rows = rows_;
  scan.rejected = records_ - rows_;
  scan.sha256 = file_.finish_hash();
  scan.file_bytes = file_.size();
  return scan;
}

}  // namespace encode
