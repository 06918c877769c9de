// The parsers of the formats of text. A format of text without a parser does not compile.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "base/input_format.h"
#include "text/record.h"

namespace encode {

// `window` begins at the first record (CSV and TSV: at the header) and must outlive the parser.
// `any_values` as in FileReading. Throws Error:
//   kConfig "text.field"    lines have no field
//   kConfig "text.format"   a file of JSONL has other JSON; see refuse_other_json()
//   kConfig "jsonl.pointer" the field is no JSON pointer
//   kData "csv.header"      the header of CSV or TSV cannot be read
//   kConfig "csv.column"    the header does not have the field
using MakeParser = std::unique_ptr<RecordParser>(ByteWindow& window, const InputOptions& options,
                                                 bool any_values);
MakeParser make_lines_parser;
MakeParser make_jsonl_parser;
MakeParser make_json_array_parser;
MakeParser make_csv_parser;
MakeParser make_tsv_parser;

struct FormatParser {
  TextFormat format;
  MakeParser* make;
};
inline constexpr auto kParsers =
    std::to_array<FormatParser>({{TextFormat::kLines, make_lines_parser},
                                 {TextFormat::kJsonl, make_jsonl_parser},
                                 {TextFormat::kJson, make_json_array_parser},
                                 {TextFormat::kCsv, make_csv_parser},
                                 {TextFormat::kTsv, make_tsv_parser}});

// Returns nullptr for kAuto and columnar formats.
constexpr MakeParser* parser_of(TextFormat format) {
  const auto* const found =
      std::find_if(kParsers.begin(), kParsers.end(),
                   [format](const FormatParser& parser) { return parser.format == format; });
  return found == kParsers.end() ? nullptr : found->make;
}
static_assert(std::all_of(kTextFormats.begin(), kTextFormats.end(), [](const auto& entry) {
  return entry.second == TextFormat::kAuto || is_columnar(entry.second) ||
         parser_of(entry.second) != nullptr;
}));

}  // namespace encode
