#include "config/input_format.h"

#include <algorithm>
#include <string_view>

namespace encode {

InputFormat input_format(const InputOptions& options) {
  std::string name = options.path;
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  InputFormat result;
  for (const std::string_view compression : {"gz", "zst"}) {
    if (result.compression.empty() && name.ends_with("." + std::string(compression))) {
      result.compression = compression;
      name.resize(name.size() - compression.size() - 1);
    }
  }
  if (options.format != TextFormat::kAuto) {
    result.format = options.format;
  } else if (name.ends_with(".jsonl") || name.ends_with(".ndjson")) {
    result.format = TextFormat::kJsonl;
  } else if (name.ends_with(".csv")) {
    result.format = TextFormat::kCsv;
  } else if (name.ends_with(".tsv")) {
    result.format = TextFormat::kTsv;
  }
  return result;
}

}  // namespace encode
