// An append-only log of JSON lines with a limited size. faults.jsonl and memory.jsonl are such
// files. read_records() may be called by any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace encode {

// What a RecordFile contains. The first line of the file is {"encode":"<kind>","format":1}, so that
// a file of another program is recognised.
struct RecordFileKind {
  std::string name;             // "faults"
  int64_t max_bytes = 4 << 20;  // the limit of one file; with the older file there is twice as much
};

// Appends records to a file. A record that does not fit moves the file to older_records_path() and
// begins a new file, so at most two files exist, and the oldest records are dropped. The first
// record of the new file then says so: {"dropped":true} if an older file was replaced, otherwise
// {"dropped":false}.
//
// The records help people, and no result depends on them. So they are written without fsync, and
// after a failure to write, the object reports the failure and writes no more. It does not touch a
// link, a device, or a file of another program. The writer must hold the CacheLock. Not
// thread-safe.
class RecordFile {
 public:
  // The file is opened when the first record is added. `on_problem` gets one sentence, at most
  // once.
  RecordFile(std::string path, RecordFileKind kind,
             std::function<void(const std::string&)> on_problem);

  // Appends one line. Characters that are not printable ASCII are escaped. Throws no Error.
  void add(const Json& record);

 private:
  void write(const std::string& line);
  void open();
  void rotate();
  void begin();
  void append(const std::string& text);

  const std::string path_;
  const RecordFileKind kind_;
  const std::function<void(const std::string&)> on_problem_;
  UniqueFd fd_;
  int64_t bytes_ = 0;
  bool failed_ = false;
};

struct Records {
  std::vector<Json> lines;  // objects, oldest first
  bool dropped = false;     // true: older records were dropped to limit the size
  // One sentence for each file that is not used, and for the damaged lines of a file.
  std::vector<std::string> problems;
};

// Returns at most `most` of the items: the first one, the last one and evenly spaced ones between
// them. Throws no Error.
template <typename Item>
std::vector<Item> evenly_spaced(std::span<const Item> items, size_t most) {
  std::vector<Item> chosen;
  const size_t count = std::min(items.size(), most);
  for (size_t i = 0; i < count; ++i)
    chosen.push_back(items[count == 1 ? 0 : i * (items.size() - 1) / (count - 1)]);
  return chosen;
}

// Reads both files of a RecordFile, while a run may be writing to them. A file that does not exist
// has no records. An unfinished last line is left out silently. Damaged lines are left out, and
// `problems` says so. Throws no Error.
Records read_records(const std::string& path, const RecordFileKind& kind);

}  // namespace encode
