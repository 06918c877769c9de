// Checks files in a cache directory and does not change them. A function that returns a text
// returns one phrase that says what is wrong, or "" if the file is good. Any thread may call these
// functions. They throw Error kIoError or kNoPermission if a file cannot be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/store.h"

#include "base/file.h"

namespace encode {

// Checks that the file at `path` has the size and the checksum in `seal`.
std::string check_sealed_file(const std::string& path, const FileSeal& seal);

// Checks the list of truncated rows beside a matrix. A matrix without such rows has none.
std::string check_ledger(const std::string& matrix_path, const Manifest& manifest);

// Checks that the file at `path` has the size and the checksum in `seal`, and that it holds
// `rows` + 1 offsets that begin at 0, never decrease, and end at `vectors`.
std::string check_offsets(const std::string& path, const FileSeal& seal, int64_t rows,
                          int64_t vectors);

struct PassageRows {
  RowRange rows;         // of the matrix or the chunk
  int64_t passages = 0;  // the number of its passages
};
// Checks that the file at `path` has the size and the checksum in `seal`, and that it holds the
// places of as many passages, in the order of the rows and of the passages in a row.
std::string check_passages(const std::string& path, const FileSeal& seal,
                           const PassageRows& expected);
// Checks that the file at `path` has the size and the checksum in `seal`, and that it holds `rows`
// numbers of records that ascend.
std::string check_source_rows(const std::string& path, const FileSeal& seal, int64_t rows);

// Returns true if the output type in the manifest needs no ranges file, or if the ranges file
// beside the matrix has the checksum in the manifest.
bool ranges_fit(const std::string& matrix_path, const Manifest& manifest);

// Returns the first of the files of a final matrix (the matrix, its manifest, ranges, ledger and
// offsets) that encode did not write, or "" if there is none. A matrix is from encode if
// - the manifest beside it is valid and the matrix begins with the header of this shape and type,
//   or is a table as the manifest says; its values may be damaged, or
// - the manifest beside it is damaged, but still looks like one, and the matrix is a .npy file or a
//   table, or
// - a kill has interrupted publish_final(), and the file publishing_path() is left.
// Files beside a matrix are from encode if the matrix has a manifest or a publishing_path(). A
// ledger that no manifest names is from encode if it is empty or begins with a line of a ledger.
// Source rows that no manifest names are foreign.
std::string foreign_final_file(const std::string& matrix_path);
// Returns true if the ledger of rows that were set aside beside a matrix is foreign: the manifest
// does not name it, and it does not begin as encode writes such a ledger.
bool is_foreign_set_aside(const std::string& matrix_path);

// The state of a chunk folder on disk.
struct ChunkFolder {
  struct Damage {
    std::string path;   // the chunk file
    std::string wrong;  // one phrase that says what is wrong
  };

  StreamIdentity identity;      // from stream.json
  int64_t chunk_count = 0;      // the chunks of the whole stream
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

// Returns true if a run has used this directory as its cache directory.
bool has_run(const std::string& directory);
// Returns own_cache_dir(output), or the place that earlier versions used for it, if a run has such
// a directory there; "" if there is none. The output need not exist.
std::string own_run_dir(const std::string& output);

// The progress of a stream, from stream.json and chunks.log alone.
struct ChunkProgress {
  StreamIdentity identity;
  int64_t chunk_rows = 0;             // the rows of a whole chunk
  int64_t chunk_count = 0;            // the chunks of the whole stream
  int64_t chunks = 0;                 // the committed chunks; each has a record and a file
  int64_t rows = 0;                   // the rows of these chunks
  int64_t rows_set_aside = 0;         // of these chunks
  std::vector<ChunkOrigin> origins;   // where they were computed, each once
  std::vector<std::string> problems;  // one sentence for each thing that cannot be read
};

// Reads the state of a folder, while a run may be changing it. Does not read the chunks. Throws
// what read_chunk_folder() throws.
ChunkProgress read_chunk_progress(const std::string& directory);

// Returns the number of rows in the committed chunks of a stream, from stream.json and chunks.log
// alone: it looks at no chunk, so it takes two reads for any number of chunks. A run may be
// changing the folder. Returns nullopt if the folder has no chunks of this stream. Throws what
// read_chunk_folder() throws.
std::optional<int64_t> logged_rows(const std::string& cache_dir, const StreamIdentity& identity);

// The state of the lock of a cache directory, and what its holder has written about itself.
struct LockState {
  enum class Held { kNo, kYes, kUnknown };
  Held held = Held::kUnknown;
  int64_t pid = 0;      // 0: not known
  std::string host;     // text from the file; escape it before it is shown
  std::string started;  // the same
  // True: the process has certainly ended. Its worker ends later and may still hold the lock.
  bool owner_ended = false;
  std::string problem;  // one sentence if something cannot be read, or ""
};

// Throws Error kIoError "store.lock" if the file system has no locks, or if they do not exclude a
// second descriptor. `fd` is the file at `path`, opened for writing; nobody else may use the file.
void check_locks(const UniqueFd& fd, const std::string& path);

// Throws the Error that CacheLock::acquire() would throw for a directory that exists and for the
// file LOCK in it. Does not take the lock, but waits for it as long as acquire() does.
void check_lock_free(const std::string& cache_dir);

// Throws the Error with which ChunkStore::open(kResume) would refuse the folder of the stream,
// before it changes anything: something else has the name of the folder, or the chunks in it belong
// to another stream. `chunk_rows` is the argument of open().
void check_chunk_owner(const std::string& cache_dir, const StreamIdentity& identity,
                       int64_t chunk_rows);

// Asks the kernel whether the lock is held, without taking it and without changing LOCK. If the
// lock is free, the owner in LOCK is the last run. Throws no Error.
LockState read_lock_state(const std::string& cache_dir);

}  // namespace encode
