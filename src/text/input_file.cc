#include "text/input_file.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/foreign_input.h"
#include "base/input_format.h"
#include "base/lfs_pointer.h"
#include "text/byte_source.h"
#include "text/byte_window.h"
#include "text/columnar_file.h"
#include "text/json_layout.h"
#include "text/text_format.h"

namespace encode {
namespace {

std::unique_ptr<RecordParser> make_parser(ByteWindow& window, const InputOptions& options,
                                          bool any_values) {
  switch (resolve_format(options).format) {
    case TextFormat::kJsonl:
      refuse_other_json(window, options);
      return make_jsonl_parser(window, options, any_values);
    case TextFormat::kJson:
      return make_json_array_parser(window, options, any_values);
    case TextFormat::kCsv:
      return make_csv_parser(window, options, kCsvDelimiters.front());
    case TextFormat::kTsv:
      return make_csv_parser(window, options, '\t');
    default:
      break;
  }
  if (options.field.empty()) return make_lines_parser(window, options);
  throw Error({.code = "text.field",
               .what = "a text file of lines has no fields",
               .where = options.path,
               .expected = "no field",
               .found = fmt::format("field: '{}'", options.field),
               .hint = "leave out the field, or set the format to jsonl, json, csv or tsv"});
}

// How much of a file is looked at to tell UTF-16 without a byte order mark from UTF-8.
constexpr size_t kEncodingBytes = 4096;
constexpr size_t kLeastBytes = 4;

// Returns true for texts in UTF-16 whose characters are mostly of Latin-1: at least 90 % of the
// bytes at even or at odd offsets are NUL. UTF-32 has such bytes too.
bool looks_like_utf16(std::string_view start) {
  start = start.substr(0, std::min(start.size(), kEncodingBytes) / 2 * 2);
  if (start.size() < kLeastBytes) return false;
  std::array<size_t, 2> zeros = {};
  for (size_t i = 0; i < start.size(); ++i) zeros[i % 2] += start[i] == '\0' ? 1 : 0;
  return 10 * std::max(zeros[0], zeros[1]) >= 9 * (start.size() / 2);
}

Error not_text(const std::string& path, const std::string& found, std::string hint) {
  return Error({.code = "text.encoding",
                .what = "the file is not UTF-8 text",
                .where = path,
                .expected = "UTF-8",
                .found = fmt::format("{}, by its first bytes", found),
                .hint = std::move(hint)});
}

// Skips a byte order mark. Refuses a file that begins like gzip, zstd or UTF-16, or like a file of
// another program, because Utf8Policy::kReplace would silently turn it into rows of U+FFFD, or into
// texts with NULs.
void check_encoding(ByteWindow& window, const std::string& path) {
  while (window.view().size() < kLeastBytes && window.extend()) {
  }
  std::string_view start = window.peek(kEncodingBytes);
  if (may_be_zip(start)) start = window.peek(kForeignBytes);
  if (start.starts_with("\xEF\xBB\xBF")) {
    window.consume(3);
    return;
  }
  const char* found = nullptr;
  if (start.starts_with("\x1F\x8B")) found = "gzip";
  if (start.starts_with("\x28\xB5\x2F\xFD")) found = "zstd";
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) found = "UTF-16";
  if (start.starts_with("PAR1")) found = "Parquet";
  if (start.starts_with(std::string_view("ARROW1\0\0", 8))) found = "Arrow";
  if (const std::optional<ForeignFile> file = foreign_file(path, start))
    throw not_text(path, std::string(file->name), std::string(file->hint));
  if (found == nullptr && looks_like_utf16(start))
    found = "UTF-16 or UTF-32 without a byte order mark";
  if (found == nullptr) return;
  throw not_text(path, found,
                 "compressed files need the suffix .gz or .zst, Parquet files .parquet, and Arrow "
                 "files .arrow; convert UTF-16 with iconv -f UTF-16LE -t UTF-8");
}

// Refuses a Git LFS pointer, which would be taken for a text of three lines.
void refuse_lfs_pointer(const std::string& path) {
  const UniqueFd fd = open_for_reading(path, "text.open");
  const int64_t size = file_size(fd, path);
  if (size >= kMaxLfsPointerBytes) return;
  std::string start(static_cast<size_t>(size), '\0');
  pread_all(fd, start, 0, path);
  if (!is_lfs_pointer(start)) return;
  throw Error({.code = "text.lfs_pointer",
               .what = "the input is a Git LFS pointer",
               .where = path,
               .expected = "the texts",
               .found = std::string(kLfsFound),
               .hint = std::string(kLfsHint)});
}

// A file of lines, JSONL, CSV, TSV or a JSON array.
class TextFile final : public InputFile {
 public:
  TextFile(const InputOptions& options, const FileReading& reading)
      : file_(options.path, reading.hashed),
        window_(make_byte_source(file_, resolve_format(options).compression), reading.block_bytes) {
    check_encoding(window_, options.path);
    parser_ = make_parser(window_, options, reading.any_values);
  }

  bool next(Record& record) override { return parser_->next(record); }
  void seek(int64_t offset_bytes, int64_t line) override { parser_->seek(offset_bytes, line); }
  FileDigest digest() override { return {.bytes = file_.size(), .sha256 = file_.finish_hash()}; }

 private:
  DiskFile file_;
  ByteWindow window_;
  std::unique_ptr<RecordParser> parser_;
};

// Adds to an error about the name of a field where the user has given the name.
Error naming_setting(const Error& error, const FileReading& reading) {
  ErrorDetail detail = error.detail();
  const bool about_name = detail.code == "csv.column" || detail.code == "arrow.column" ||
                          detail.code == "arrow.type" || detail.code == "jsonl.pointer";
  if (!about_name) return error;
  detail.hint += reading.any_values ? " (--columns, or output.columns in the config)"
                                    : " (--field, or field in the config)";
  return Error(std::move(detail));
}

}  // namespace

std::unique_ptr<InputFile> open_input_file(const InputOptions& options,
                                           const FileReading& reading) {
  const TextFormat format = resolve_format(options).format;
  refuse_lfs_pointer(options.path);
  try {
    if (is_columnar(format)) return open_columnar_file(options, format, reading);
    return std::make_unique<TextFile>(options, reading);
  } catch (const Error& error) {
    throw naming_setting(error, reading);
  }
}

}  // namespace encode
