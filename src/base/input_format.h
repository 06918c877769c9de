// Finds the format of an input file from the suffix of its name.
#pragma once

#include <string>

#include "encode/config.h"

namespace encode {

struct InputFormat {
  TextFormat format = TextFormat::kAuto;  // kAuto: the format is unknown
  std::string compression;                // "", "gz" or "zst"
};

// The suffix .gz or .zst gives the compression and is removed first. Then .txt means lines, .jsonl
// and .ndjson mean JSONL, .csv CSV and .tsv TSV. Case does not matter. If options.format is not
// kAuto, it overrides the name. The format of "-" is unknown. Throws no Error.
InputFormat input_format(const InputOptions& options);

}  // namespace encode
