#include "base/input_format.h"

#include <algorithm>
#include <filesystem>

namespace encode {

std::string lower_case_suffix(const std::string& path) {
  std::string suffix = std::filesystem::path(path).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return suffix;
}

namespace {

TextFormat format_of(const std::string& suffix) {
  if (suffix == ".txt") return TextFormat::kLines;
  if (suffix == ".jsonl" || suffix == ".ndjson") return TextFormat::kJsonl;
  if (suffix == ".json") return TextFormat::kJson;
  if (suffix == ".csv") return TextFormat::kCsv;
  if (suffix == ".tsv") return TextFormat::kTsv;
  if (suffix == ".parquet") return TextFormat::kParquet;
  if (suffix == ".arrow") return TextFormat::kArrow;
  return TextFormat::kAuto;
}

}  // namespace

InputFormat input_format(const InputOptions& options) {
  std::string name = options.path;
  InputFormat result;
  const std::string suffix = lower_case_suffix(name);
  if (suffix == ".gz" || suffix == ".zst") {
    result.compression = suffix.substr(1);
    name.resize(name.size() - suffix.size());
  }
  result.format =
      options.format == TextFormat::kAuto ? format_of(lower_case_suffix(name)) : options.format;
  return result;
}

}  // namespace encode
