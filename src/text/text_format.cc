#include "text/text_format.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>

#include "encode/error.h"

namespace encode {
namespace {

std::string lower_case_suffix(const std::filesystem::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return suffix;
}

TextFormat format_of_suffix(const std::string& suffix) {
  if (suffix == ".txt") return TextFormat::kLines;
  if (suffix == ".jsonl" || suffix == ".ndjson") return TextFormat::kJsonl;
  if (suffix == ".csv") return TextFormat::kCsv;
  if (suffix == ".tsv") return TextFormat::kTsv;
  return TextFormat::kAuto;
}

}  // namespace

FileFormat resolve_format(const InputOptions& options) {
  std::filesystem::path path(options.path);
  FileFormat resolved;
  const std::string suffix = lower_case_suffix(path);
  if (suffix == ".gz") resolved.compression = Compression::kGzip;
  if (suffix == ".zst") resolved.compression = Compression::kZstd;
  if (resolved.compression != Compression::kNone) path = path.stem();
  resolved.format = options.format;
  if (resolved.format == TextFormat::kAuto)
    resolved.format = format_of_suffix(lower_case_suffix(path));
  if (resolved.format != TextFormat::kAuto) return resolved;
  throw Error({.exit_code = ExitCode::kConfig,
               .code = "text.format",
               .what = "the file name does not tell the format",
               .where = options.path,
               .expected = ".txt, .jsonl, .ndjson, .csv or .tsv, perhaps with .gz or .zst",
               .found = "'" + lower_case_suffix(path) + "'",
               .hint = "name the format: lines, jsonl, csv or tsv"});
}

}  // namespace encode
