#include "text/encodings.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <vector>

#include "base/input_format.h"
#include "base/shell_quote.h"
#include "base/units.h"
#include "base/utf8.h"
#include "text/input_file.h"
#include "text/row_reader.h"

namespace encode {
namespace {

constexpr size_t kLeastBytes = 4;

bool is_high(char c) { return static_cast<unsigned char>(c) >= 0x80; }

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Windows-1252 has letters of Western European languages and typographic quotes above 7F. They
// stand alone or in short runs between letters of ASCII. In UTF-8, and in the encodings of Greek,
// Russian or Japanese, they do not.
bool looks_like_windows_1252(std::string_view text) {
  constexpr std::string_view kUndefined = "\x81\x8D\x8F\x90\x9D";
  constexpr size_t kLongestRun = 3;
  if (text.find_first_of(kUndefined) != std::string_view::npos) return false;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_high(text[end])) ++end;
    const std::string_view run = text.substr(at, end - at);
    if (run.size() > kLongestRun || (!run.empty() && is_valid_utf8(run))) return false;
    at = end + 1;
  }
  return std::count_if(text.begin(), text.end(), is_high) <=
         std::count_if(text.begin(), text.end(), is_ascii_letter);
}

bool many_replaced(const InputScan& scan) {
  constexpr int64_t kManyRows = 100;
  constexpr int64_t kPercent = 100;
  return scan.utf8_replaced > kManyRows || scan.utf8_replaced * kPercent > scan.rows;
}

// Returns conversion_advice() for the first row that is not UTF-8, or "". If no such row is near
// the start of the input, the advice is not worth reading the input for a second time.
std::string advice_of_first_row(InputOptions options, const InputScan& scan) {
  constexpr size_t kMostBytes = 64 << 20;
  size_t bytes = 0;
  for (const InputScan::File& part : scan.files) {
    options.path = part.path;
    const std::unique_ptr<InputFile> file =
        open_input_file(options, {.block_bytes = RowReader::kBlockBytes});
    for (Record record; file->next(record);) {
      bytes += record.text.size();
      if (bytes > kMostBytes) return "";
      if (!record.problem && !is_valid_utf8(record.text))
        return conversion_advice(options, record.text);
    }
  }
  return "";
}

}  // namespace

// Without a mark, a text is UTF-16 if at least 90 % of the bytes at even or at odd offsets are NUL.
// It is UTF-32 if at least 40 % of the other bytes are NUL, too.
std::string_view wide_encoding(std::string_view start) {
  start = start.substr(0, std::min(start.size(), kEncodingBytes) / 2 * 2);
  if (start.starts_with(std::string_view("\xFF\xFE\0\0", 4)) ||
      start.starts_with(std::string_view("\0\0\xFE\xFF", 4)))
    return "UTF-32";
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) return "UTF-16";
  if (start.size() < kLeastBytes) return "";
  std::array<size_t, 2> zeros = {};
  for (size_t i = 0; i < start.size(); ++i) zeros[i % 2] += start[i] == '\0' ? 1 : 0;
  const bool little_endian = zeros[1] >= zeros[0];
  const size_t pairs = start.size() / 2;
  if (10 * std::max(zeros[0], zeros[1]) < 9 * pairs) return "";
  if (10 * std::min(zeros[0], zeros[1]) >= 4 * pairs)
    return little_endian ? "UTF-32LE" : "UTF-32BE";
  return little_endian ? "UTF-16LE" : "UTF-16BE";
}

std::string iconv_command(const std::string& path, std::string_view encoding) {
  InputOptions options;
  options.path = path;
  const Compression compression = input_format(options).compression;
  std::filesystem::path converted = without_compression(path);
  converted.replace_extension(".utf8" + converted.extension().string());
  std::vector<std::string> convert = {"iconv", "-f", std::string(encoding), "-t", "UTF-8"};
  std::string unpack;
  for (const CompressionFacts& facts : kCompressions) {
    if (facts.compression == compression)
      unpack = shell_command({std::string(facts.title), "-dc", path}) + " | ";
  }
  if (unpack.empty()) convert.push_back(path);
  return fmt::format("{}{} > {}", unpack, shell_command(convert),
                     shell_command({converted.string()}));
}

std::string conversion_advice(const InputOptions& options, std::string_view text) {
  if (is_columnar(input_format(options).format) || !looks_like_windows_1252(text)) return "";
  return fmt::format("the text looks like Windows-1252 (Latin-1); convert the file with `{}`",
                     iconv_command(options.path, "WINDOWS-1252"));
}

ReplacedRows describe_replaced_rows(const InputOptions& options, const InputScan& scan) {
  const std::string refusal = "or refuse such rows with --utf8 error (utf8: error in the config)";
  ReplacedRows replaced = {
      .what = fmt::format("bytes that are not UTF-8 are in {} of {}",
                          format_count(scan.utf8_replaced), format_count(scan.rows, "row", "rows")),
      .advice = "correct them, " + refusal};
  if (!many_replaced(scan)) {
    replaced.what += ", and U+FFFD replaces them";
    return replaced;
  }
  replaced.what += fmt::format(
      " ({:.1f} %): U+FFFD replaces them, so the vectors of these rows are those of damaged texts",
      100 * static_cast<double>(scan.utf8_replaced) / static_cast<double>(scan.rows));
  std::string advice = advice_of_first_row(options, scan);
  if (advice.empty()) advice = "convert the file to UTF-8, for example with iconv";
  replaced.advice = fmt::format("{}, {}", advice, refusal);
  return replaced;
}

}  // namespace encode
