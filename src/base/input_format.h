// Finds the format of an input file from the suffix of its name.
#pragma once

#include <string>

#include "encode/config.h"

namespace encode {

// The suffixes that state a format, for messages.
inline constexpr const char* kTextSuffixes = ".txt, .jsonl, .ndjson, .json, .csv or .tsv";
inline constexpr const char* kColumnarSuffixes = ".parquet or .arrow";
// What to do about a name without such a suffix.
inline constexpr const char* kFormatHint =
    "give its format: --format lines|jsonl|json|csv|tsv|parquet|arrow, or format: in the config";

// The last suffix of a file name in lower case: ".npy" for "a/X.NPY"; "" if there is none.
std::string lower_case_suffix(const std::string& path);

struct InputFormat {
  TextFormat format = TextFormat::kAuto;  // kAuto: the format is unknown
  std::string compression;                // "", "gz" or "zst"
};

// The suffix .gz or .zst gives the compression and is removed first. Then .txt means lines, .jsonl
// and .ndjson mean JSONL, .json a JSON array, .csv CSV, .tsv TSV, .parquet Parquet and .arrow Arrow
// IPC. Case does not matter. If options.format is not kAuto, it overrides the name. The format of
// "-" is unknown. Throws no Error.
InputFormat input_format(const InputOptions& options);

// True for Parquet and Arrow, which the plugin libencode_arrow.so reads.
inline bool is_columnar(TextFormat format) {
  return format == TextFormat::kParquet || format == TextFormat::kArrow;
}

}  // namespace encode
