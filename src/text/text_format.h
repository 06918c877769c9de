// How a file name says what a file is.
#pragma once

#include "encode/config.h"

#include "text/byte_source.h"

namespace encode {

struct FileFormat {
  TextFormat format = TextFormat::kAuto;  // never kAuto once resolved
  Compression compression = Compression::kNone;
};

// By the suffixes of `options.path`, in any case: [.txt|.jsonl|.ndjson|.csv|.tsv][.gz|.zst];
// `options.format` overrides the first. Throws Error (kConfig) where neither tells.
FileFormat resolve_format(const InputOptions& options);

}  // namespace encode
