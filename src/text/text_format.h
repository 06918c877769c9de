// Finds the format and the compression of an input file.
#pragma once

#include "encode/config.h"

#include "text/byte_source.h"

namespace encode {

struct FileFormat {
  TextFormat format = TextFormat::kAuto;  // resolve_format() never returns kAuto
  Compression compression = Compression::kNone;
};

// Reads the suffixes of `options.path`: [.txt|.jsonl|.ndjson|.csv|.tsv][.gz|.zst], or .parquet or
// .arrow, in upper or lower case. `options.format` overrides the first suffix. Throws Error
// (kConfig) "text.format" if neither the suffix nor `options.format` states a format, and for a
// compressed Parquet or Arrow file, because these formats have compression of their own. Without a
// format, also throws what refuse_foreign_input() throws.
FileFormat resolve_format(const InputOptions& options);

}  // namespace encode
