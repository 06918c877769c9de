// The formats of inputs. facts_of() states everything in which the formats differ, except the code
// that reads them: text/parsers.h has a parser for each format of text, and
// columnar/arrow/array_reader.h a source for each columnar format. A format that is missing here or
// there does not compile. Any thread may call these functions. They throw no Error.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "encode/config.h"

#include "base/names.h"

namespace encode {

// Whether a user names the field that has the text of a row.
enum class FieldUse {
  kNone,      // a row has no fields
  kOptional,  // a row may be a text, which has no fields
  kRequired,
};

struct FormatFacts {
  std::string_view name = "";                     // in a config, and for --format
  std::string_view title = "";                    // in a sentence: "Parquet"
  std::array<std::string_view, 2> suffixes = {};  // of file names, in lower case; "" is none
  FieldUse field = FieldUse::kRequired;
  bool columns = false;              // the field is a column, which all rows have
  std::string_view record = "line";  // what the number behind a file name counts: "in.json:17"
  bool may_be_empty = false;         // true: a file of 0 bytes has no rows; false: it is damaged
  // True: the plugin libencode_arrow.so reads the file, one block of rows at a time, and not from
  // front to back. The format has compression of its own. `blocks` says what the writer of a file
  // can make smaller if a block needs too much memory.
  bool columnar = false;
  std::string_view blocks = "";
  std::string_view magic = "";  // the first bytes of every file; "": they do not show the format
  // The variant of the format that a writer makes if it cannot seek: its name and its first bytes.
  std::string_view stream_title = "";
  std::string_view stream_magic = "";
};

constexpr FormatFacts facts_of(TextFormat format) {
  using std::string_view_literals::operator""sv;
  switch (format) {
    case TextFormat::kAuto:  // also a file of an unknown format
      return {.name = "auto"};
    case TextFormat::kLines:
      return {.name = "lines",
              .title = "txt",
              .suffixes = {".txt"},
              .field = FieldUse::kNone,
              .may_be_empty = true};
    case TextFormat::kJsonl:
      return {.name = "jsonl",
              .title = "JSONL",
              .suffixes = {".jsonl", ".ndjson"},
              .may_be_empty = true};
    case TextFormat::kJson:
      return {.name = "json",
              .title = "JSON",
              .suffixes = {".json"},
              .field = FieldUse::kOptional,
              .record = "element"};
    case TextFormat::kCsv:
      return {.name = "csv", .title = "CSV", .suffixes = {".csv"}, .columns = true};
    case TextFormat::kTsv:
      return {.name = "tsv", .title = "TSV", .suffixes = {".tsv"}, .columns = true};
    case TextFormat::kParquet:
      return {.name = "parquet",
              .title = "Parquet",
              .suffixes = {".parquet"},
              .columns = true,
              .record = "row",
              .columnar = true,
              .blocks = "pages or row groups",
              .magic = "PAR1"};
    case TextFormat::kArrow:
      return {.name = "arrow",
              .title = "Arrow",
              .suffixes = {".arrow"},
              .columns = true,
              .record = "row",
              .columnar = true,
              .blocks = "record batches (in pyarrow: max_chunksize=1000)",
              .magic = "ARROW1\0\0"sv,
              .stream_title = "an Arrow IPC stream",
              .stream_magic = "\xFF\xFF\xFF\xFF"};
  }
  return {};
}

constexpr bool is_columnar(TextFormat format) { return facts_of(format).columnar; }

inline constexpr auto kTextFormats = names_from_facts<TextFormat>();  // all formats, and kAuto

// How a whole file of text is compressed.
enum class Compression { kNone, kGzip, kZstd };

struct CompressionFacts {
  Compression compression;
  std::string_view name;   // its suffix without the dot
  std::string_view title;  // in a sentence, and the name of its tool
  std::string_view magic;  // the first bytes of every file
};
inline constexpr auto kCompressions =
    std::to_array<CompressionFacts>({{Compression::kGzip, "gz", "gzip", "\x1F\x8B"},
                                     {Compression::kZstd, "zst", "zstd", "\x28\xB5\x2F\xFD"}});

// Returns the compression of a file with these first bytes.
Compression compression_of_magic(std::string_view start);

std::string_view name_of(Compression compression);  // "gz"; "" for kNone

// Returns the last suffix of a file name in lower case: ".npy" for "a/X.NPY"; "" if there is none.
std::string lower_case_suffix(const std::string& path);

// Returns the path without the suffix of a compression, if it has one.
std::string without_compression(const std::string& path);

struct InputFormat {
  TextFormat format = TextFormat::kAuto;  // kAuto: the format is unknown
  Compression compression = Compression::kNone;
};

// Finds the format and the compression of a file. The suffix of a compression is removed first. The
// next suffix states the format, unless options.format does. Case does not matter. The format of
// "-" is unknown. Throws no Error.
InputFormat input_format(const InputOptions& options);

// These functions list names for texts.
std::string text_suffixes();         // ".txt, .jsonl, .ndjson, .json, .csv or .tsv"
std::string columnar_suffixes();     // ".parquet or .arrow"
std::string compression_suffixes();  // ".gz or .zst"
std::string text_titles();           // "txt, JSONL, JSON, CSV, TSV"
std::string columnar_titles();       // "Parquet or Arrow"
std::string column_titles();         // "CSV, TSV, Parquet, Arrow": the field is a column
std::string fieldless_names();       // "lines": rows have no fields
std::string text_fields_names();     // "jsonl, json, csv or tsv": formats of text with fields
std::string format_hint();           // what to do about a name that states no format
std::string field_flag_help();       // the help of --field
std::string text_flag_help();        // the help of --text
std::string where_flag_help();       // the help of --where

}  // namespace encode
