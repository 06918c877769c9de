// `encode merge`: gives the parts of all shards their public names and lists them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"

#include "run_record/terminal.h"

namespace encode {

struct MergedMatrix {
  std::string name;
  std::string list;  // the path of the list of the parts, x.parts.json; or of the only matrix
  int64_t parts = 0;
  int64_t rows = 0;
};

// Checks every part against the plan and its own hash, several at a time. Links each matrix and the
// files beside it to their public names, beside the place where an undivided run has its matrix,
// and then writes the list of the parts. Copies files only where the file system has no hard links,
// and changes nothing of the attempts: an attempt that publishes later has no effect on a merged
// result. Can be repeated after an interruption. Throws Error: kNoInput "shards.missing" if parts
// are missing, with the command that makes them; kData "store.damaged" for a damaged part, whose
// shard then counts as not encoded; kConfig "shards.foreign" if the plan was made for other
// streams, and with strict_numerics if parts were computed on devices of different kinds;
// kCantCreate "output.exists" if a file that encode did not write has a public name; kIoError.
std::vector<MergedMatrix> merge_shards(const RunConfig& config, Terminal& err, Terminal& out);

// Returns true if merge_shards() has published the parts that the shards have now. Compares no
// hash. Throws what merge_shards() throws if a part is missing or the parts do not fit together.
bool is_merged(const RunConfig& config);

}  // namespace encode
