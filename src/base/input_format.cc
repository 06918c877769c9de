#include "base/input_format.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

#include "base/units.h"

namespace encode {
namespace {

// Returns the member `text_of` of each format for which `wanted` returns true.
std::vector<std::string> of_formats(bool (*wanted)(const FormatFacts&),
                                    std::string_view FormatFacts::*text_of) {
  std::vector<std::string> texts;
  for (const auto& [name, format] : kTextFormats) {
    const FormatFacts facts = facts_of(format);
    if (format != TextFormat::kAuto && wanted(facts)) texts.emplace_back(facts.*text_of);
  }
  return texts;
}

std::string suffixes_of(bool columnar) {
  std::vector<std::string> suffixes;
  for (const auto& [name, format] : kTextFormats) {
    for (const std::string_view suffix : facts_of(format).suffixes) {
      if (is_columnar(format) == columnar && !suffix.empty()) suffixes.emplace_back(suffix);
    }
  }
  return list_in_words(suffixes, "or");
}

bool is_text(const FormatFacts& facts) { return !facts.columnar; }
bool is_table(const FormatFacts& facts) { return facts.columnar; }

TextFormat format_of_suffix(const std::string& suffix) {
  for (const auto& [name, format] : kTextFormats) {
    const auto suffixes = facts_of(format).suffixes;
    if (!suffix.empty() && std::find(suffixes.begin(), suffixes.end(), suffix) != suffixes.end())
      return format;
  }
  return TextFormat::kAuto;
}

Compression compression_of_suffix(const std::string& suffix) {
  for (const CompressionFacts& facts : kCompressions) {
    if (suffix.size() == facts.name.size() + 1 && suffix.ends_with(facts.name))
      return facts.compression;
  }
  return Compression::kNone;
}

}  // namespace

Compression compression_of_magic(std::string_view start) {
  for (const CompressionFacts& facts : kCompressions) {
    if (start.starts_with(facts.magic)) return facts.compression;
  }
  return Compression::kNone;
}

std::string_view name_of(Compression compression) {
  for (const CompressionFacts& facts : kCompressions) {
    if (facts.compression == compression) return facts.name;
  }
  return "";
}

std::string lower_case_suffix(const std::string& path) {
  return lower_case(std::filesystem::path(path).extension().string());
}

std::string without_compression(const std::string& path) {
  const std::string suffix = lower_case_suffix(path);
  const bool compressed = compression_of_suffix(suffix) != Compression::kNone;
  return path.substr(0, path.size() - (compressed ? suffix.size() : 0));
}

InputFormat input_format(const InputOptions& options) {
  InputFormat result = {.format = options.format,
                        .compression = compression_of_suffix(lower_case_suffix(options.path))};
  if (result.format == TextFormat::kAuto)
    result.format = format_of_suffix(lower_case_suffix(without_compression(options.path)));
  return result;
}

std::string text_suffixes() { return suffixes_of(/*columnar=*/false); }

std::string columnar_suffixes() { return suffixes_of(/*columnar=*/true); }

std::string compression_suffixes() {
  std::vector<std::string> suffixes;
  for (const CompressionFacts& facts : kCompressions)
    suffixes.push_back(fmt::format(".{}", facts.name));
  return list_in_words(suffixes, "or");
}

std::string text_titles() {
  return fmt::format("{}", fmt::join(of_formats(is_text, &FormatFacts::title), ", "));
}

std::string columnar_titles() {
  return list_in_words(of_formats(is_table, &FormatFacts::title), "or");
}

std::string column_titles() {
  const auto has_columns = [](const FormatFacts& facts) { return facts.columns; };
  return fmt::format("{}", fmt::join(of_formats(has_columns, &FormatFacts::title), ", "));
}

std::string text_fields_names() {
  const auto has_fields = [](const FormatFacts& facts) {
    return !facts.columnar && facts.field != FieldUse::kNone;
  };
  return list_in_words(of_formats(has_fields, &FormatFacts::name), "or");
}

std::string fieldless_names() {
  const auto has_none = [](const FormatFacts& facts) { return facts.field == FieldUse::kNone; };
  return fmt::format("{}", fmt::join(of_formats(has_none, &FormatFacts::name), ", "));
}

std::string field_flag_help() {
  return fmt::format(
      "Field or column that has the text. JSON: a name or a JSON pointer (/meta/title); {}: a "
      "column",
      column_titles());
}

std::string where_flag_help() {
  return "Encode only the records for which this filter is true, as in 'lang == \"en\" and "
         "length(text) > 20'";
}

std::string text_flag_help() {
  return "Text made from several fields, in place of --field, as in 'title: {title} | text: "
         "{/body/main}'; {{ and }} are braces";
}

std::string format_hint() {
  const auto any = [](const FormatFacts& /*facts*/) { return true; };
  return fmt::format("give its format: --format {}, or format: in the config",
                     fmt::join(of_formats(any, &FormatFacts::name), "|"));
}

}  // namespace encode
