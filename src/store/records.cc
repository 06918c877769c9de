#include "store/records.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/json_values.h"
#include "base/npy.h"
#include "store/chunk_places.h"
#include "store/identity_fields.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr size_t kMaxOriginBytes = 200;
constexpr ErrorCode kRecordCode = "store.damaged";

// Calls `parse` and turns its Error into the error for damage (kData). A document with a missing or
// wrong field cannot be used, so it is treated as damaged.
template <typename Parse>
auto parse_fields(const std::string& where, const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    throw damage(error.detail().what, where, error.detail().expected, error.detail().found);
  }
}

}  // namespace

void RowStats::add(const RowStats& other) {
  tokens += other.tokens;
  truncated_rows += other.truncated_rows;
  lost_tokens += other.lost_tokens;
  zero_token_rows += other.zero_token_rows;
  redone_rows += other.redone_rows;
  set_aside_rows += other.set_aside_rows;
  passages += other.passages;
}

Json to_json(const FileSeal& seal) {
  return {{"file_bytes", seal.file_bytes}, {"xxh3_128", seal.xxh3_128}};
}

FileSeal file_seal_from_json(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, kRecordCode);
  return {.file_bytes = fields.integer("file_bytes", 0, kMaxInteger),
          .xxh3_128 = fields.string("xxh3_128")};
}

Json to_json(const FileList& list) {
  return {{"path", list.path},     {"files", list.files},
          {"bytes", list.bytes},   {"first_path", list.first_path},
          {"sha256", list.sha256}, {"xxh3_128", list.root}};
}

FileList file_list_from_json(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, kRecordCode);
  return {.path = fields.string("path"),
          .files = fields.integer("files", 1, kMaxInteger),
          .bytes = fields.integer("bytes", 0, kMaxInteger),
          .first_path = fields.string("first_path"),
          .sha256 = fields.string("sha256"),
          .root = fields.string("xxh3_128")};
}

Json to_json(const RowStats& stats) {
  Json json = {{"tokens", stats.tokens},           {"truncated_rows", stats.truncated_rows},
               {"lost_tokens", stats.lost_tokens}, {"zero_token_rows", stats.zero_token_rows},
               {"redone_rows", stats.redone_rows}, {"set_aside_rows", stats.set_aside_rows}};
  if (stats.passages > 0) json["passages"] = stats.passages;
  return json;
}

RowStats row_stats_from_json(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, kRecordCode);
  return {.tokens = fields.integer("tokens", 0, kMaxInteger),
          .truncated_rows = fields.integer("truncated_rows", 0, kMaxInteger),
          .lost_tokens = fields.integer("lost_tokens", 0, kMaxInteger),
          .zero_token_rows = fields.integer("zero_token_rows", 0, kMaxInteger),
          .redone_rows = fields.integer_or("redone_rows", 0, 0, kMaxInteger),
          .set_aside_rows = fields.integer_or("set_aside_rows", 0, 0, kMaxInteger),
          .passages = fields.integer_or("passages", 0, 0, kMaxInteger)};
}

Json to_json(const ChunkOrigin& origin) {
  const auto cut = [](const std::string& text) { return text.substr(0, kMaxOriginBytes); };
  Json json = {{"device", cut(origin.device)},
               {"libtorch", cut(origin.libtorch)},
               {"driver", cut(origin.driver)},
               {"batch_tokens", origin.batch_tokens}};
  if (!origin.products.empty()) json["products"] = cut(origin.products);
  if (!origin.kernels.empty()) {
    json["kernels"] = cut(origin.kernels);
    json["cuda_numerics"] = origin.cuda_numerics;
  }
  return json;
}

ChunkOrigin chunk_origin_from_json(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, kRecordCode);
  return {.device = fields.string("device"),
          .libtorch = fields.string_or("libtorch", ""),
          .driver = fields.string_or("driver", ""),
          .batch_tokens = fields.integer_or("batch_tokens", 0, 0, kMaxInteger),
          .products = fields.string_or("products", ""),
          .kernels = fields.string_or("kernels", ""),
          .cuda_numerics = fields.integer_or("cuda_numerics", 0, 0, kMaxInteger)};
}

Json to_json(const std::vector<ChunkOrigin>& origins) {
  return array_of(origins, [](const ChunkOrigin& origin) { return to_json(origin); });
}

std::vector<ChunkOrigin> chunk_origins_from(const JsonFields& fields, const std::string& where) {
  std::vector<ChunkOrigin> origins;
  for (const Json& origin : fields.array("origins"))
    origins.push_back(chunk_origin_from_json(origin, where));
  return origins;
}

void add_origin(std::vector<ChunkOrigin>& origins, const ChunkOrigin& origin) {
  if (std::find(origins.begin(), origins.end(), origin) == origins.end()) origins.push_back(origin);
}

void check_format(const Json& json, const std::string& where) {
  const int64_t format = parse_fields(where, [&] {
    return JsonFields(json, where, kRecordCode).integer("format", 1, kMaxInteger);
  });
  if (format >= kOldestStoreFormat && format <= kFolderFormat) return;
  throw Error({.code = "store.format",
               .what = "another version of encode wrote this file",
               .where = where,
               .expected = fmt::format("format {} to {}", kOldestStoreFormat, kFolderFormat),
               .found = fmt::format("format {}", format),
               .hint = "use that version; or give another --cache-dir DIR; --fresh deletes the old "
                       "result and starts over"});
}

StreamFile new_stream(const StreamIdentity& identity, int64_t chunk_rows) {
  StreamFile stream = {.identity = identity, .chunk_rows = chunk_rows};
  if (stream.chunk_count() > kMostFlatChunks) stream.folder_chunks = kFolderChunks;
  return stream;
}

RowRange StreamFile::chunk(int64_t index) const {
  const int64_t begin = identity.first_row + index * chunk_rows;
  return {.begin = begin, .end = std::min(identity.range().end, begin + chunk_rows)};
}

bool same_stream(const StreamIdentity& a, const StreamIdentity& b) {
  return a.name == b.name && a.fingerprint == b.fingerprint && a.range() == b.range() &&
         a.dim == b.dim;
}

int64_t StreamFile::chunk_file_bytes(const ChunkRecord& record) const {
  const int64_t vectors = identity.vectors_of(record.stats, record.rows.size());
  return kNpyHeaderBytes + vectors * identity.dim * static_cast<int64_t>(sizeof(float));
}

void require_chunk_shape(const NpyHeader& header, const StreamFile& stream,
                         const ChunkRecord& record, const std::string& path) {
  const auto describe = [](ItemType item, int64_t columns, int64_t bytes) {
    return fmt::format("{} columns of {} in {} bytes", columns, facts_of(item).word, bytes);
  };
  const std::string expected =
      describe(ItemType::kFloat32, stream.identity.dim, stream.chunk_file_bytes(record));
  const std::string found = describe(header.item, header.cols, header.file_bytes());
  if (found != expected)
    throw damage("a chunk does not have the shape in its record", path, expected, found);
}

std::string StreamFile::text() const {
  Json json = {{"format", folder_chunks > 0 ? kFolderFormat : kStoreFormat},
               {"name", identity.name},
               {"rows", identity.rows},
               {"dim", identity.dim},
               {"chunk_rows", chunk_rows},
               {"dtype", kElementType},
               {"fingerprint", Json::parse(identity.fingerprint)}};
  if (identity.token_embeddings) json["token_embeddings"] = true;
  if (identity.passages) json["passages"] = true;
  if (identity.first_row > 0) json["first_row"] = identity.first_row;
  if (folder_chunks > 0) json["folder_chunks"] = folder_chunks;
  return seal(json, /*indent=*/2) + "\n";
}

void check_identity(const StreamIdentity& identity) {
  const auto refuse = [&identity](std::string expected, std::string found) {
    throw misuse("the identity of a stream is not valid", identity.name, std::move(expected),
                 std::move(found));
  };
  check_stream_name(identity.name);
  const Json fingerprint = Json::parse(identity.fingerprint, nullptr, /*allow_exceptions=*/false);
  if (!fingerprint.is_object() ||
      fingerprint.dump(-1, ' ', false, Json::error_handler_t::replace) != identity.fingerprint) {
    refuse("a fingerprint in canonical JSON: an object, sorted keys, no spaces",
           identity.fingerprint.substr(0, 80));
  }
  if (identity.rows < 0 || identity.dim < 1 || identity.first_row < 0) {
    refuse("rows >= 0, dim >= 1, first_row >= 0",
           fmt::format("{} x {} from row {}", identity.rows, identity.dim, identity.first_row));
  }
}

StreamFile read_stream_file(const std::string& path) {
  return parse_stream_file(read_file(path, kMaxSealedBytes, "store.stream"), path);
}

StreamFile parse_stream_file(std::string_view text, const std::string& where) {
  if (!text.ends_with('\n'))
    throw damage("the file does not end with a newline", where, "a whole file",
                 "a file that was cut off");
  const Json json = unseal(text.substr(0, text.size() - 1), where);
  check_format(json, where);
  return parse_fields(where, [&] {
    const JsonFields fields(json, where, kRecordCode);
    if (fields.string("dtype") != kElementType)
      fields.refuse("dtype", std::string(kElementType), fields.string("dtype"));
    StreamFile stream;
    stream.identity = identity_from(fields);
    stream.identity.first_row = fields.integer_or("first_row", 0, 0, kMaxInteger);
    stream.chunk_rows = fields.integer("chunk_rows", 1, kMaxInteger);
    stream.folder_chunks = fields.integer_or("folder_chunks", 0, 0, kMaxInteger);
    stream.checksum = stated_checksum(text);
    return stream;
  });
}

std::string to_line(const LogRecord& record) {
  const ChunkRecord& chunk = record.chunk;
  Json json = {{"stream", record.stream},       {"index", chunk.index},
               {"rows", rows_json(chunk.rows)}, {"file_bytes", chunk.file_bytes},
               {"xxh3_128", chunk.xxh3_128},    {"stats", to_json(chunk.stats)}};
  json.update(to_json(chunk.origin));
  if (chunk.ledger) json["ledger"] = to_json(*chunk.ledger);
  if (chunk.offsets) json["offsets"] = to_json(*chunk.offsets);
  if (chunk.set_aside) json["set_aside"] = to_json(*chunk.set_aside);
  if (chunk.passages) json["passages"] = to_json(*chunk.passages);
  return seal(json) + "\n";
}

std::string log_text(const StreamFile& stream, std::span<const ChunkRecord> chunks) {
  std::string text;
  for (const ChunkRecord& chunk : chunks)
    text += to_line({.stream = stream.checksum, .chunk = chunk});
  return text;
}

LogRecord parse_log_line(std::string_view line, const std::string& where) {
  const Json json = unseal(line, where);
  return parse_fields(where, [&] {
    const JsonFields fields(json, where, kRecordCode);
    LogRecord record;
    record.stream = fields.string("stream");
    record.chunk = {.index = fields.integer("index", 0, kMaxInteger),
                    .rows = rows_from(fields, "rows"),
                    .file_bytes = fields.integer("file_bytes", 0, kMaxInteger),
                    .xxh3_128 = fields.string("xxh3_128"),
                    .stats = row_stats_from_json(fields.object("stats"), where),
                    .origin = chunk_origin_from_json(json, where)};
    if (fields.has("ledger"))
      record.chunk.ledger = file_seal_from_json(fields.object("ledger"), where);
    if (fields.has("offsets"))
      record.chunk.offsets = file_seal_from_json(fields.object("offsets"), where);
    if (fields.has("set_aside"))
      record.chunk.set_aside = file_seal_from_json(fields.object("set_aside"), where);
    if (fields.has("passages"))
      record.chunk.passages = file_seal_from_json(fields.object("passages"), where);
    return record;
  });
}

namespace {

// Reads the log block by block and splits it into lines. So a large log, or a damaged log without
// line ends, does not need much memory.
class LogReader {
 public:
  explicit LogReader(std::string path) : path_(std::move(path)) {}

  ChunkLog read() {
    const UniqueFd fd = open_for_reading(path_, "store.log");
    const int64_t size = file_size(fd, path_);
    std::array<char, kLogReadBytes> block = {};
    for (int64_t offset = 0; offset < size; offset += static_cast<int64_t>(block.size())) {
      const auto n =
          static_cast<size_t>(std::min<int64_t>(size - offset, static_cast<int64_t>(block.size())));
      pread_all(fd, {block.data(), n}, offset, path_);
      for (const char c : std::string_view(block.data(), n)) take(c);
    }
    if (line_bytes_ > 0) leave_out("is unfinished, as after a crash or on a full disk");
    return std::move(log_);
  }

 private:
  void take(char c) {
    if (c == '\n') {
      end_line();
      line_.clear();
      line_bytes_ = 0;
      ++line_number_;
    } else if (++line_bytes_ <= kMaxLogLineBytes) {
      line_ += c;
    }
  }

  void end_line() {
    if (line_bytes_ > kMaxLogLineBytes) return leave_out("is too long");
    try {
      log_.records.push_back(parse_log_line(line_, fmt::format("{}:{}", path_, line_number_)));
    } catch (const Error& error) {
      leave_out(fmt::format("is damaged ({})", error.detail().what));
    }
  }

  void leave_out(const std::string& reason) {
    log_.problems.push_back(
        fmt::format("{}: line {} {}; it is left out", path_, line_number_, reason));
  }

  std::string path_;
  std::string line_;
  size_t line_bytes_ = 0;
  int64_t line_number_ = 1;
  ChunkLog log_;
};

}  // namespace

ChunkLog read_chunk_log(const std::string& path) {
  try {
    return LogReader(path).read();
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kNoInput) throw;
    return {};
  }
}

std::map<int64_t, ChunkRecord> committed_chunks(const ChunkLog& log, const StreamFile& stream) {
  std::map<int64_t, ChunkRecord> chunks;
  for (const LogRecord& record : log.records) {
    if (record.belongs_to(stream)) chunks.insert_or_assign(record.chunk.index, record.chunk);
  }
  return chunks;
}

}  // namespace encode
