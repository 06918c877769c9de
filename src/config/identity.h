// The parts of a stream's fingerprint that come from the config: what was read, and what was asked
// for.
#pragma once

#include "encode/config.h"
#include "encode/text.h"

#include "base/json.h"

namespace encode {

// How the file was read, its size and its SHA-256; not its path, so that a moved file keeps its
// cache. The format is the one in effect: "auto" for texts.jsonl.gz gives {"format": "jsonl",
// "compression": "gz"}, the same as "jsonl" would.
Json input_identity(const InputOptions& options, const InputScan& scan);

// Every field of ResultOptions but `model` and `revision`: the files of the model are hashed
// elsewhere. An option left to the model directory is null; call it on resolved options.
Json result_identity(const ResultOptions& options);

}  // namespace encode
