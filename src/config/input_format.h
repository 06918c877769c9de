// What a file's name says about how to read it. The one place that knows the suffixes.
#pragma once

#include <string>

#include "encode/config.h"

namespace encode {

struct InputFormat {
  TextFormat format = TextFormat::kLines;  // never kAuto
  std::string compression;                 // "", "gz" or "zst"
};

// A compression suffix is taken off first; then .jsonl, .ndjson, .csv and .tsv have their formats
// and every other name,
// "-" among them, is lines. Letter case does not matter. An explicit options.format wins over the
// name.
InputFormat input_format(const InputOptions& options);

}  // namespace encode
