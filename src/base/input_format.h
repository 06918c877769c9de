// What a file's name says about how to read it. The one place that knows the suffixes.
#pragma once

#include <string>

#include "encode/config.h"

namespace encode {

struct InputFormat {
  TextFormat format = TextFormat::kAuto;  // kAuto: the name does not tell
  std::string compression;                // "", "gz" or "zst"
};

// A compression suffix is taken off first; then .txt is lines and .jsonl, .ndjson, .csv and .tsv
// are what they say. Letter case does not matter. An explicit options.format wins over the name.
// "-" tells nothing.
InputFormat input_format(const InputOptions& options);

}  // namespace encode
