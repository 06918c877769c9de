// The disk space of a whole experiment: chunks, final matrices and combined matrices. Any thread
// may call these functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"

namespace encode {

struct StreamDisk {
  std::string name = {};
  int64_t vectors = 0;        // rows, or tokens with token embeddings
  int64_t largest_chunk = 0;  // vectors of the largest chunk; 0: the stream has no chunk files
  int64_t dim = 0;
  int64_t column_bytes = 0;    // of the other columns, if the final matrix is a table
  int64_t existing_bytes = 0;  // what its chunks and its final matrix take on the disk now
  bool finished = false;       // its final matrix is complete, and the run keeps it
  bool filtered = false;       // its input has a filter
};

// Returns an upper estimate of the bytes of the other columns of a table. `text_bytes` are the
// bytes of all texts. The length of other fields is not known; each value counts as 32 bytes.
int64_t column_bytes(const FinalFormat& format, int64_t rows, int64_t text_bytes);

// `streams` are indices into the list of streams.
struct CombinedDisk {
  std::string name = {};
  std::vector<size_t> streams = {};
  bool finished = false;  // it is on the disk, and the run keeps it if its streams are finished
};

// The bytes on the disk at one time.
struct DiskParts {
  int64_t chunk_bytes = 0;
  int64_t float32_bytes = 0;  // in standard mode: the rows from which a final matrix of another
                              // type is made
  int64_t final_bytes = 0;
  int64_t combined_bytes = 0;
  int64_t record_bytes = 0;    // the log, the job, the status and the records of a short run
  int64_t existing_bytes = 0;  // the part of all this that is on the disk already

  int64_t total() const;  // all bytes, without existing_bytes
};
// Returns "4.1 GB = chunks 2.0 GB + matrices 2.1 GB". The parts are rounded, and add up to the sum
// as it is shown.
std::string describe(const DiskParts& parts);

struct DiskNeed {
  // The moment with the most bytes on the disk: the chunks of a stream are deleted after its final
  // matrix is published, unless StoreOptions::keep_chunk_cache is set.
  DiskParts peak = {};
  int64_t largest_file_bytes = 0;
  std::string largest_file = {};  // in words: "the matrix of train_tc"
};
DiskNeed disk_need(const std::vector<StreamDisk>& streams,
                   const std::vector<CombinedDisk>& combined, const StoreOptions& store);

// A file system, and the limits of this process.
struct DiskSpace {
  std::string path = {};         // the nearest existing directory
  int64_t free_bytes = 0;        // includes the blocks that only the superuser may use
  int64_t usable_bytes = 0;      // without these blocks
  uint64_t file_system = 0;      // an id of the file system
  int64_t file_limit_bytes = 0;  // RLIMIT_FSIZE; 0: no limit
};
// Asks for the file system that `directory` is or would be on. Throws Error "io.statvfs" with the
// exit code of the system error.
DiskSpace disk_space_at(const std::string& directory);

// Throws Error if the need certainly does not fit: kConfig "limit.file_size" for a file over the
// limit of the process, kIoError "limit.disk" for more bytes than the file system has free. Its
// hint names flags or keys; see setting_name().
void require_disk(const DiskNeed& need, const DiskSpace& space, bool on_command_line);

}  // namespace encode
