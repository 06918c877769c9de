#include "text/text_format.h"

#include <filesystem>
#include <fmt/format.h>

#include "encode/error.h"

#include "base/foreign_input.h"

namespace encode {
namespace {

Error refusal(const InputOptions& options, std::string what, std::string expected,
              std::string hint) {
  return Error(
      {.code = "text.format",
       .what = std::move(what),
       .where = options.path,
       .expected = std::move(expected),
       .found = fmt::format("'{}'", std::filesystem::path(options.path).filename().string()),
       .hint = std::move(hint)});
}

}  // namespace

InputFormat resolve_format(const InputOptions& options) {
  const InputFormat resolved = input_format(options);
  if (resolved.format == TextFormat::kAuto) {
    refuse_foreign_input(options.path, options.path);
    throw refusal(options, "the file name does not state the format",
                  fmt::format("{}, optionally followed by {}; {}", text_suffixes(),
                              compression_suffixes(), columnar_suffixes()),
                  format_hint());
  }
  if (is_columnar(resolved.format) && resolved.compression != Compression::kNone) {
    throw refusal(options, fmt::format("a {} file is compressed as a whole", columnar_titles()),
                  "a file without .gz and .zst: these formats have compression of their own",
                  "decompress the file");
  }
  return resolved;
}

}  // namespace encode
