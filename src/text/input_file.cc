#include "text/input_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/file.h"
#include "base/foreign_input.h"
#include "base/input_format.h"
#include "base/lfs_pointer.h"
#include "base/named_path.h"
#include "base/utf8.h"
#include "text/byte_source.h"
#include "text/byte_window.h"
#include "text/columnar_file.h"
#include "text/encodings.h"
#include "text/parsers.h"
#include "text/text_format.h"

namespace encode {
namespace {

constexpr size_t kByteOrderMarkBytes = 4;  // the longest one

// The format that the first bytes of a file show if it is no text, or "".
std::string_view binary_format_of(std::string_view start) {
  for (const CompressionFacts& facts : kCompressions) {
    if (start.starts_with(facts.magic)) return facts.title;
  }
  for (const auto& [name, format] : kTextFormats) {
    const FormatFacts facts = facts_of(format);
    if (!facts.magic.empty() && start.starts_with(facts.magic)) return facts.title;
  }
  return "";
}

// "Parquet files .parquet, and Arrow files .arrow"
std::string columnar_suffix_rules() {
  std::vector<std::string> rules;
  for (const auto& [name, format] : kTextFormats) {
    const FormatFacts facts = facts_of(format);
    if (facts.columnar) rules.push_back(fmt::format("{} files {}", facts.title, facts.suffixes[0]));
  }
  return fmt::format("{}", fmt::join(rules, ", and "));
}

Error not_text(const std::string& path, std::string_view found, std::string hint) {
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
  while (window.view().size() < kByteOrderMarkBytes && window.extend()) {
  }
  std::string_view start = window.peek(kEncodingBytes);
  if (may_be_zip(start)) start = window.peek(kForeignBytes);
  if (start.starts_with(kByteOrderMark)) {
    window.consume(kByteOrderMark.size());
    return;
  }
  if (const std::optional<ForeignFile> file = foreign_file(path, start))
    throw not_text(path, file->name, std::string(file->hint));
  if (const std::string_view format = binary_format_of(start); !format.empty()) {
    throw not_text(path, format,
                   fmt::format("compressed files need the suffix {}, {}", compression_suffixes(),
                               columnar_suffix_rules()));
  }
  if (const std::string_view encoding = wide_encoding(start); !encoding.empty()) {
    throw not_text(
        path, encoding,
        fmt::format("convert it with `{}`, and give the new file", iconv_command(path, encoding)));
  }
}

// Refuses a Git LFS pointer, which would be taken for a text of three lines.
void refuse_lfs_pointer(const std::string& path) {
  const UniqueFd fd = open_named_file(path, "text.open");
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

// A file in a format of text, plain or compressed. The format's parser cuts it into records.
class TextFile final : public InputFile {
 public:
  TextFile(const InputOptions& options, const FileReading& reading)
      : file_(options.path, reading.hashed),
        window_(make_byte_source(file_, resolve_format(options).compression), reading.block_bytes) {
    check_encoding(window_, options.path);
    parser_ = parser_of(resolve_format(options).format)(window_, options, reading.any_values);
  }

  bool next(Record& record) override { return parser_->next(record); }
  void seek(int64_t offset_bytes, int64_t line) override { parser_->seek(offset_bytes, line); }
  FileDigest digest() override {
    return {.identity = file_.identity(), .sha256 = file_.finish_hash()};
  }

 private:
  DiskFile file_;
  ByteWindow window_;
  std::unique_ptr<RecordParser> parser_;
};

// Adds to an error about a field the setting in which the user has named it.
Error naming_setting(const Error& error, const InputOptions& options, const FileReading& reading) {
  ErrorDetail detail = error.detail();
  const bool about_name = detail.code == "csv.column" || detail.code == "arrow.column" ||
                          detail.code == "arrow.type" || detail.code == "jsonl.pointer";
  if (!about_name) return error;
  detail.hint += reading.for_filter              ? " (--where, or where in the config)"
                 : reading.any_values            ? " (--columns, or output.columns in the config)"
                 : options.text_template.empty() ? " (--field, or field in the config)"
                                                 : " (--text, or text in the config)";
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
    throw naming_setting(error, options, reading);
  }
}

}  // namespace encode
