// Reads and writes stream.json and the lines of chunks.log, and the JSON objects inside them that
// the manifest also has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/store.h"

#include "base/file.h"
#include "base/json.h"

namespace encode {

// The from_json functions throw Error kData "store.damaged" for a field that is missing or
// wrong. `where` names the document in the error.
Json to_json(const FileSeal& seal);
FileSeal file_seal_from_json(const Json& json, const std::string& where);
Json to_json(const RowStats& stats);
RowStats row_stats_from_json(const Json& json, const std::string& where);
Json to_json(const ChunkOrigin& origin);
ChunkOrigin chunk_origin_from_json(const Json& json, const std::string& where);
// Appends `origin` unless the list already contains it.
void add_origin(std::vector<ChunkOrigin>& origins, const ChunkOrigin& origin);

// Throws Error kConfig "store.format" if this version cannot read the document's format.
void check_format(const Json& json, const std::string& where);

// stream.json, which says what the chunks beside it belong to. It is written once. Its text depends
// only on the identity and the chunk size, and every log record holds its checksum. The log
// therefore shows whether a lost or damaged stream.json belonged to this run.
struct StreamFile {
  StreamIdentity identity;
  int64_t chunk_rows = 0;
  std::string checksum;  // the checksum at the beginning of the text

  int64_t chunk_count() const { return (identity.rows + chunk_rows - 1) / chunk_rows; }
  RowRange chunk(int64_t index) const;
  // Returns the size that the file of a recorded chunk must have.
  int64_t chunk_file_bytes(const ChunkRecord& record) const;
  // Returns the sealed text, which ends in '\n'. It does not depend on `checksum`.
  std::string text() const;
};

// Throws Error kConfig "store.stream_name" for a bad name, and kInternal unless the fingerprint is
// canonical JSON, dim > 0 and rows >= 0.
void check_identity(const StreamIdentity& identity);
// Throws Error: kNoInput if the file does not exist, kData if it is damaged, kConfig
// "store.format".
StreamFile read_stream_file(const std::string& path);
StreamFile parse_stream_file(std::string_view text, const std::string& where);

// One line of chunks.log. `stream` is the checksum of the stream.json that it belongs to.
struct LogRecord {
  std::string stream;
  ChunkRecord chunk;
};

// Returns a sealed line that ends in '\n' and has at most kMaxLogLineBytes.
std::string to_line(const LogRecord& record);
// Throws Error kData for a damaged line. `line` has no newline.
LogRecord parse_log_line(std::string_view line, const std::string& where);
inline constexpr size_t kMaxLogLineBytes = 4096;  // without the newline

struct ChunkLog {
  std::vector<LogRecord> records;     // in the order of the file
  std::vector<std::string> problems;  // one sentence for each line that was left out
};

// Reads the log in bounded memory. It leaves out each damaged line and an unfinished last line, and
// reports them in `problems`. A log that does not exist is empty. Throws Error kIoError or
// kNoPermission.
ChunkLog read_chunk_log(const std::string& path);

}  // namespace encode
