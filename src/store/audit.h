// Checks files in a cache directory and does not change them. A function that returns a text
// returns one phrase that says what is wrong, or "" if the file is good. Any thread may call these
// functions. They throw Error kIoError or kNoPermission if a file cannot be read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/store.h"

namespace encode {

// Checks that the file at `path` has the size and the checksum in `seal`.
std::string check_sealed_file(const std::string& path, const FileSeal& seal);

// Checks that the file at `path` has the size and the checksum in `seal`, and that it holds
// `rows` + 1 offsets that begin at 0, never decrease, and end at `vectors`.
std::string check_offsets(const std::string& path, const FileSeal& seal, int64_t rows,
                          int64_t vectors);

// Returns true if the output type in the manifest needs no ranges file, or if the ranges file
// beside the matrix has the checksum in the manifest.
bool ranges_fit(const std::string& matrix_path, const Manifest& manifest);

// The state of a chunk folder on disk.
struct ChunkFolder {
  struct Damage {
    std::string path;   // the chunk file
    std::string wrong;  // one phrase that says what is wrong
  };

  StreamIdentity identity;      // from stream.json
  int64_t chunk_count = 0;      // the number of chunks in the whole stream
  int64_t records = 0;          // the number of valid lines in chunks.log
  bool has_each_once = false;   // whether each of the chunk_count chunks has exactly one record
  std::vector<Damage> damaged;  // the chunks that do not agree with their records
  std::vector<std::string> log_problems;  // one sentence for each log line that was left out
  std::vector<std::string> strays;        // the names of chunk files that no record mentions
};

// Reads stream.json, chunks.log, and all files of the chunks in the folder. Throws Error kNoInput
// if stream.json does not exist, kData if it is damaged, and kConfig "store.format" if it has a
// format that this version cannot read.
ChunkFolder read_chunk_folder(const std::string& directory);

}  // namespace encode
