// What an audit of a cache directory asks the store beyond encode/store.h. Every function here
// reads and changes nothing. A text that says what is wrong is one phrase; "" means that all is
// well. Any thread. Throws Error kIoError or kNoPermission when the file system refuses to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/store.h"

namespace encode {

// What is wrong with the file at `path` that should be the one that was sealed.
std::string check_sealed_file(const std::string& path, const FileSeal& seal);

// What is wrong with an offsets file that should hold, as it was sealed, ascending offsets of
// `rows` rows from 0 to `vectors`.
std::string check_offsets(const std::string& path, const FileSeal& seal, int64_t rows,
                          int64_t vectors);

// True when the manifest's type has no ranges, or when the ranges file beside the matrix has the
// hash that the manifest states.
bool ranges_fit(const std::string& matrix_path, const Manifest& manifest);

// A chunk folder as it is on disk.
struct ChunkFolder {
  struct Damage {
    std::string path;  // of the chunk
    std::string wrong;
  };

  StreamIdentity identity;     // of stream.json
  int64_t chunk_count = 0;     // of the whole stream
  int64_t records = 0;         // whole lines of chunks.log
  bool has_each_once = false;  // one record for each of the chunk_count chunks
  std::vector<Damage> damaged;
  std::vector<std::string> log_problems;  // one sentence for each line that was left out
  std::vector<std::string> strays;        // names of files that belong to no record
};

// Reads every file of the folder. Throws Error kNoInput when there is no stream.json, kData when it
// is damaged, kConfig "store.format" when another version wrote it.
ChunkFolder read_chunk_folder(const std::string& directory);

}  // namespace encode
