// Repairs a chunk folder after a crash, a full disk or damage to a file, and finds the chunks in it
// that can be trusted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encode/store.h"

#include "store/records.h"
#include "store/shared_log.h"

namespace encode {

struct Recovered {
  StreamFile stream;                   // from the disk; its chunk_rows may differ from `wanted`
  std::vector<ChunkRecord> committed;  // sorted by index; the hashes of all files are right
  std::vector<std::string> dropped;    // one sentence for each chunk or file that was not kept
};

// Creates the chunk folder if it does not exist. Afterwards the folder holds stream.json, a log
// with exactly the `committed` records, and the files of these chunks. The process must hold the
// CacheLock. Throws what ChunkStore::open() throws.
Recovered recover(const std::string& cache_dir, const StreamFile& wanted);

struct Joined {
  StreamFile stream;
  SharedLog log;
};

// Opens the folder of a stream to which other processes write. Changes nothing. Returns nullopt if
// there is no log or no stream.json: the stream is finished, and its chunks are removed. Throws
// Error kConfig "store.foreign", and what read_stream_file() throws.
std::optional<Joined> join(const std::string& cache_dir, const StreamFile& wanted);

// Checks a record against the stream, and the whole content of the chunk's files in `directory`
// against the record. Returns a phrase that says what is wrong, or "".
std::string check_chunk(const std::string& directory, const StreamFile& stream,
                        const ChunkRecord& record);

}  // namespace encode
