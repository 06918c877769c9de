// Reads and writes stream.json, the lines of chunks.log, and the JSON objects that both the log and
// the manifest contain. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/store.h"

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"

namespace encode {

// The from_json functions throw Error kData "store.damaged" for a field that is missing or
// wrong. `where` names the document in the error.
Json to_json(const FileSeal& seal);
FileSeal file_seal_from_json(const Json& json, const std::string& where);
Json to_json(const RowStats& stats);
RowStats row_stats_from_json(const Json& json, const std::string& where);
Json to_json(const ChunkOrigin& origin);
ChunkOrigin chunk_origin_from_json(const Json& json, const std::string& where);
Json to_json(const std::vector<ChunkOrigin>& origins);
// Reads the field "origins".
std::vector<ChunkOrigin> chunk_origins_from(const JsonFields& fields, const std::string& where);
// Appends `origin` unless the list already contains it.
void add_origin(std::vector<ChunkOrigin>& origins, const ChunkOrigin& origin);

// Throws Error kConfig "store.format" if this version cannot read the document's format.
void check_format(const Json& json, const std::string& where);

// The content of stream.json, which describes the stream of the chunks beside it. The file is
// written once. Its text depends only on the identity and the chunk size, and every log record
// holds its checksum. So if the file is lost or damaged, the log shows whether it belonged to this
// run.
struct StreamFile {
  StreamIdentity identity;
  int64_t chunk_rows = 0;
  std::string checksum = {};  // the checksum that stream.json begins with

  int64_t chunk_count() const { return (identity.rows + chunk_rows - 1) / chunk_rows; }
  RowRange chunk(int64_t index) const;
  // Returns the size in bytes that the .npy file of a recorded chunk must have.
  int64_t chunk_file_bytes(const ChunkRecord& record) const;
  // Returns the content of the file: sealed JSON (sealed_json.h) that ends in '\n'. It does not
  // depend on `checksum`.
  std::string text() const;
};

// Throws Error kData "store.damaged" if the .npy file of a recorded chunk does not have the type,
// the columns and the size that the record implies.
void require_chunk_shape(const NpyHeader& header, const StreamFile& stream,
                         const ChunkRecord& record, const std::string& path);

// Returns true if the chunks of the two streams can be shared.
bool same_stream(const StreamIdentity& a, const StreamIdentity& b);
// Throws Error kConfig "store.stream_name" for an invalid name. Throws Error kInternal if the
// fingerprint is not canonical JSON, if dim < 1, or if rows < 0.
void check_identity(const StreamIdentity& identity);
// Both functions throw Error kData if the content is damaged, and kConfig "store.format" if this
// version cannot read its format. read_stream_file() throws kNoInput if the file does not exist.
StreamFile read_stream_file(const std::string& path);
StreamFile parse_stream_file(std::string_view text, const std::string& where);

// One line of chunks.log.
struct LogRecord {
  std::string stream;  // the checksum of the stream.json that the chunk belongs to
  ChunkRecord chunk;

  // Returns true if the record is about a chunk of the stream that `file` describes.
  bool belongs_to(const StreamFile& file) const {
    return stream == file.checksum && chunk.index < file.chunk_count();
  }
};

// Returns the line for chunks.log: sealed JSON (sealed_json.h) that ends in '\n'.
std::string to_line(const LogRecord& record);
// Returns the content of a log with these records.
std::string log_text(const StreamFile& stream, std::span<const ChunkRecord> chunks);
// Parses a line without its newline. Throws Error kData if the line is damaged.
LogRecord parse_log_line(std::string_view line, const std::string& where);
inline constexpr size_t kMaxLogLineBytes = 4096;   // the limit for a line without its newline
inline constexpr size_t kLogReadBytes = 64 << 10;  // the log is read in blocks of this size

struct ChunkLog {
  std::vector<LogRecord> records;     // in the order of the file
  std::vector<std::string> problems;  // one sentence for each line that was left out
};

// Reads the log. Leaves out damaged lines and an unfinished last line, and reports them in
// `problems`. Returns an empty log if the file does not exist. Throws Error kIoError or
// kNoPermission.
ChunkLog read_chunk_log(const std::string& path);
// Returns the records of `stream` by the index of their chunk. If a chunk has several records, the
// last one counts.
std::map<int64_t, ChunkRecord> committed_chunks(const ChunkLog& log, const StreamFile& stream);

}  // namespace encode
