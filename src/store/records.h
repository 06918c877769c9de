// The small documents of the store as structs: stream.json, the lines of chunks.log and their JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/store.h"

#include "base/file.h"
#include "base/json.h"

namespace encode {

Json to_json(const FileSeal& seal);
FileSeal file_seal_from_json(const Json& json, const std::string& where);
Json to_json(const RowStats& stats);
RowStats row_stats_from_json(const Json& json, const std::string& where);
Json to_json(const ChunkOrigin& origin);
ChunkOrigin chunk_origin_from_json(const Json& json, const std::string& where);
void add_origin(std::vector<ChunkOrigin>& origins,
                const ChunkOrigin& origin);  // unless it is there

// Throws Error kConfig, code "store.format", for a document of another format version.
void check_format(const Json& json, const std::string& where);

// stream.json: what the chunks beside it belong to. Written once. Its text is a function of its
// content, so a damaged one can be told from a foreign one: its checksum stands in every record of
// the log.
struct StreamFile {
  StreamIdentity identity;
  int64_t chunk_rows = 0;
  std::string checksum;  // that its text states

  int64_t chunk_count() const { return (identity.rows + chunk_rows - 1) / chunk_rows; }
  RowRange chunk(int64_t index) const;
  // Of the file of a chunk that was recorded.
  int64_t chunk_file_bytes(const ChunkRecord& record) const;
  // Sealed, ends in '\n'; does not depend on `checksum`.
  std::string text() const;
};

// Throws Error kInternal unless the fingerprint is canonical JSON, dim > 0 and rows >= 0.
void check_identity(const StreamIdentity& identity);
// Throws Error kNoInput where there is none, kData where it is damaged.
StreamFile read_stream_file(const std::string& path);
StreamFile parse_stream_file(std::string_view text, const std::string& where);

// One line of chunks.log. `stream` is the checksum of the stream.json that it belongs to.
struct LogRecord {
  std::string stream;
  ChunkRecord chunk;
};

std::string to_line(const LogRecord& record);  // sealed, ends in '\n', at most kMaxLogLineBytes
LogRecord parse_log_line(std::string_view line, const std::string& where);
inline constexpr size_t kMaxLogLineBytes = 4096;

struct ChunkLog {
  std::vector<LogRecord> records;     // in the order of the file
  std::vector<std::string> problems;  // one sentence per line that was left out
};

// Streams the log. A line that does not check out is left out and told; so is an unfinished last
// line. A missing log is empty. Throws Error kIoError, kNoPermission.
ChunkLog read_chunk_log(const std::string& path);

}  // namespace encode
