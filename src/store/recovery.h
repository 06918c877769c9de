// From whatever a crash, a full disk or a bad cable left in a chunk folder to a list of chunks that
// can be trusted.
#pragma once

#include <string>
#include <vector>

#include "encode/store.h"

#include "store/records.h"

namespace encode {

struct Recovered {
  StreamFile stream;                   // as on disk: its chunk_rows may differ from those wanted
  std::vector<ChunkRecord> committed;  // by index; each file was read and its hash fits
  std::vector<std::string> dropped;    // a sentence for each thing that was not kept
};

// Creates the folder where there is none. Afterwards it holds stream.json, a log of exactly the
// `committed` records, and their files. Throws as ChunkStore::open().
Recovered recover(const std::string& cache_dir, const StreamFile& wanted);

// "" where the record fits the stream and its file in `directory` fits the record, else what is
// wrong. Reads the whole file.
std::string check_chunk(const std::string& directory, const StreamFile& stream,
                        const ChunkRecord& record);

}  // namespace encode
