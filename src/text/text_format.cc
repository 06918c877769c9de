#include "text/text_format.h"

#include <filesystem>
#include <fmt/format.h>

#include "encode/error.h"

#include "base/input_format.h"

namespace encode {

FileFormat resolve_format(const InputOptions& options) {
  const InputFormat named = input_format(options);
  FileFormat resolved;
  resolved.format = named.format;
  if (named.compression == "gz") resolved.compression = Compression::kGzip;
  if (named.compression == "zst") resolved.compression = Compression::kZstd;
  if (resolved.format != TextFormat::kAuto) return resolved;
  throw Error(
      {.exit_code = ExitCode::kConfig,
       .code = "text.format",
       .what = "the file name does not state the format",
       .where = options.path,
       .expected = ".txt, .jsonl, .ndjson, .csv or .tsv, optionally followed by .gz or .zst",
       .found = fmt::format("'{}'", std::filesystem::path(options.path).filename().string()),
       .hint = "set the format to lines, jsonl, csv or tsv"});
}

}  // namespace encode
