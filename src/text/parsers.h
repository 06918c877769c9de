// The parsers of the formats of text, and what each format is. encode/text.h says what holds in all
// of them. If `options` has a template, the text of a row is made from its fields, which hold any
// values; the parser also throws what TextTemplate throws. A format of text without a parser does
// not compile.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "base/input_format.h"
#include "text/record.h"

namespace encode {

// `window` is at the beginning of the file, after a byte order mark, and must outlive the parser.
// `any_values` as in FileReading. Each parser states the errors that it throws.
using MakeParser = std::unique_ptr<RecordParser>(ByteWindow& window, const InputOptions& options,
                                                 bool any_values);

// txt: A line is a row. The line end at the end of the file makes no row. Throws Error:
//   kConfig "text.field"  `options` has a field or a template
MakeParser make_lines_parser;

// JSONL: A line is a JSON document of at most 64 levels. The field is a string, or an array of
// integers in [0, 2^31), which are token ids. A blank line is a bad row, unless it is the last. A
// line over 8 x max_row_bytes + 1 MiB is a bad row, even if its text is short. Throws Error:
//   kConfig "text.format"    the file has other JSON; see refuse_other_json()
//   kConfig "jsonl.pointer"  the field is no JSON pointer
MakeParser make_jsonl_parser;

// JSON: The file is one array. Each element is a document as in JSONL. If there is no field, the
// element itself is the string or the array of ids. These end the run under every policy, because
// the following elements cannot be found: damage that hides where the next element begins, text
// after the array, and a missing end of the array. Throws Error:
//   kConfig "jsonl.pointer"  the field is no JSON pointer
MakeParser make_json_array_parser;

// CSV and TSV: The file follows RFC 4180 and has a header. Quotes in the wrong place and a wrong
// number of fields make a bad row. A blank line is an empty row if there is one column. If there
// are more, it is a bad row, unless it is the last line. These end the run under every policy: a
// quote that is never closed, and a field over 16 MiB. Throws Error:
//   kData "csv.header"    the header cannot be read
//   kConfig "csv.column"  the header does not have the field
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
