#include "store/audit.h"

#include <set>

#include "base/file.h"
#include "store/layout.h"
#include "store/records.h"
#include "store/recovery.h"

namespace encode {
namespace {

std::vector<std::string> stray_files(const std::string& directory,
                                     const std::vector<LogRecord>& records) {
  std::set<std::string> known = {std::string(kLogFile), std::string(kStreamFile)};
  for (const LogRecord& record : records) {
    known.insert(chunk_file_name(record.chunk.index));
    if (record.chunk.ledger) known.insert(chunk_ledger_name(record.chunk.index));
    if (record.chunk.offsets) known.insert(chunk_offsets_name(record.chunk.index));
  }
  std::vector<std::string> strays;
  for (const std::string& name : list_directory(directory)) {
    if (!known.contains(name)) strays.push_back(name);
  }
  return strays;
}

}  // namespace

ChunkFolder read_chunk_folder(const std::string& directory) {
  const StreamFile stream = read_stream_file(join_path(directory, kStreamFile));
  ChunkLog log = read_chunk_log(join_path(directory, kLogFile));
  ChunkFolder folder;
  folder.identity = stream.identity;
  folder.chunk_count = stream.chunk_count();
  folder.records = static_cast<int64_t>(log.records.size());
  folder.log_problems = std::move(log.problems);
  folder.strays = stray_files(directory, log.records);
  std::set<int64_t> chunks;
  for (const LogRecord& record : log.records) {
    chunks.insert(record.chunk.index);
    const std::string wrong = record.stream == stream.checksum
                                  ? check_chunk(directory, stream, record.chunk)
                                  : "its record belongs to another stream.json";
    if (wrong.empty()) continue;
    folder.damaged.push_back(
        {.path = join_path(directory, chunk_file_name(record.chunk.index)), .wrong = wrong});
  }
  folder.has_each_once =
      folder.records == folder.chunk_count && std::ssize(chunks) == folder.chunk_count;
  return folder;
}

}  // namespace encode
