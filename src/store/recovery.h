// Repairs a chunk folder after a crash, a full disk or damage to a file, and finds the chunks in it
// that can be trusted.
#pragma once

#include <string>
#include <vector>

#include "encode/store.h"

#include "store/records.h"

namespace encode {

struct Recovered {
  StreamFile stream;                   // from the disk; its chunk_rows may differ from the caller's
  std::vector<ChunkRecord> committed;  // by index; each file was read and its hash is right
  std::vector<std::string> dropped;    // one sentence for each thing that was not kept
};

// Creates the folder if it does not exist. Afterwards the folder holds stream.json, a log of
// exactly the `committed` records, and their files. Requires the CacheLock. Throws as
// ChunkStore::open() does.
Recovered recover(const std::string& cache_dir, const StreamFile& wanted);

// Checks a record against the stream, and the chunk's files in `directory` against the record.
// Returns a phrase that says what is wrong, or "". Reads the files whole.
std::string check_chunk(const std::string& directory, const StreamFile& stream,
                        const ChunkRecord& record);

}  // namespace encode
