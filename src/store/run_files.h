// The names of the files of a cache directory, apart from the chunks and the final matrices, which
// chunks_dir() and final_path() name. docs/store-format.md lists them. Any thread may call these
// functions. They throw no Error.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace encode {

// Builds the paths of the files that a run keeps in its cache directory.
class RunFiles {
 public:
  explicit RunFiles(std::string cache_dir) : cache_dir_(std::move(cache_dir)) {}

  std::string lock() const;  // see CacheLock
  std::string log() const;   // the default of LogOptions::file
  std::string status() const;
  std::string attempts() const;          // see FaultMemory
  std::string faults() const;            // see FaultLog
  std::string memory() const;            // see MemoryLog
  std::string job(size_t worker) const;  // "job.json" for worker 0, "job.1.json"
  std::string model_hashes() const;      // see HashCache
  std::string self_test() const;         // the vectors of fixed texts
  std::string commit_probe() const;  // a file of kCommitProbeText that is written to time a commit
  std::string own_attempts() const;  // the directory of attempts (attempt_folders.h)
  std::string rejected_rows(const std::string& stream) const;
  std::string file_list(const std::string& stream) const;  // see store/file_list.h
  // The copy of standard input, before ".gz" or ".zst" is appended.
  std::string standard_input(const std::string& stream) const;

 private:
  std::string path(std::string_view name) const;

  std::string cache_dir_;
};

inline constexpr std::string_view kCommitProbeText = "encode times a commit with this file\n";

// faults.jsonl -> faults.older.jsonl: where a RecordFile keeps its older records.
std::string older_records_path(const std::string& path);

// The kind of a file of a cache directory, which its name determines: how encode recognises its own
// files.
struct RunFileKind {
  enum class Form {
    kMarked,         // one of `marks` is near its beginning
    kRecords,        // a RecordFile; it begins with {"encode":"
    kLog,            // each line begins with a time
    kLock,           // empty, apart from LOCK, which CacheLock writes
    kRejectedRows,   // any content; `name` is the part after the name of the stream
    kStandardInput,  // the same
    kFileList,       // as kMarked; `name` is as for kRejectedRows
  };

  std::string_view name;
  Form form = Form::kMarked;
  std::array<std::string_view, 2> marks = {};

  bool has_any_content() const {
    return form == Form::kRejectedRows || form == Form::kStandardInput;
  }
  bool of_stream() const { return has_any_content() || form == Form::kFileList; }
};

// Returns null for a name that a run gives to no file of its cache directory. "job.7.json" and
// "faults.older.jsonl" are of the kinds of "job.json" and "faults.jsonl".
const RunFileKind* run_file_kind(std::string_view name);

}  // namespace encode
