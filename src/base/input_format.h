// Finds the format of an input file from the suffix of its name.
#pragma once

#include <string>

#include "encode/config.h"

namespace encode {

struct InputFormat {
  TextFormat format = TextFormat::kAuto;  // kAuto: the format is unknown
  std::string compression;                // "", "gz" or "zst"
};

// The suffix .gz or .zst gives the compression. The suffix before it gives the format: .txt means
// lines, .jsonl and .ndjson mean JSONL, .csv means CSV, and .tsv means TSV. Case does not matter.
// If options.format is not kAuto, it overrides the format of the name. The format of the path "-"
// (standard input) is unknown.
InputFormat input_format(const InputOptions& options);

}  // namespace encode
