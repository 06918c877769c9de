#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <unistd.h>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/npy_reader.h"
#include "store/final_values.h"
#include "store/layout.h"
#include "store/ledger.h"
#include "store/matrix_file.h"
#include "store/offsets.h"
#include "store/records.h"
#include "store/recovery.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// Appends lines to chunks.log. A failed write may leave half a line, and a failed sync may lose a
// line. So after the first failure, all later calls of append() throw. The next ChunkStore::open()
// repairs the log.
class LogAppender {
 public:
  explicit LogAppender(std::string path) : path_(std::move(path)) {}

  void append(const std::string& line) {
    if (failed_) {
      throw Error(
          {.exit_code = ExitCode::kIoError,
           .code = "store.log",
           .what = "the chunk log could not be written earlier in this run",
           .where = path_,
           .expected = "a log that can be written",
           .found = "an earlier error of the log",
           .hint = "run the same command again; it continues after the last committed chunk"});
    }
    failed_ = true;
    // Opens the log at the first append, because a process that only reads chunks does not need it.
    if (!fd_) fd_ = UniqueFd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
    if (!fd_) throw log_error("open", errno);
    write_all(fd_, line.data(), line.size(), path_);
    if (::fdatasync(fd_.get()) != 0) throw log_error("sync", errno);
    failed_ = false;
  }

 private:
  Error log_error(const char* action, int error_number) const {
    ErrorDetail detail = system_error("store.log", action, path_, error_number).detail();
    if (detail.exit_code == ExitCode::kNoInput) detail.exit_code = ExitCode::kIoError;
    return Error(std::move(detail));
  }

  std::string path_;
  UniqueFd fd_;
  bool failed_ = false;
};

class ChunkStoreImpl : public ChunkStore {
 public:
  ChunkStoreImpl(std::string cache_dir, Recovered recovered)
      : cache_dir_(std::move(cache_dir)),
        directory_(chunks_dir(cache_dir_, recovered.stream.identity.name)),
        stream_(std::move(recovered.stream)),
        committed_(std::move(recovered.committed)),
        dropped_(std::move(recovered.dropped)),
        log_(join_path(directory_, kLogFile)) {}

  int64_t chunk_rows() const override { return stream_.chunk_rows; }
  int64_t chunk_count() const override { return stream_.chunk_count(); }
  RowRange chunk(int64_t index) const override { return stream_.chunk(index); }
  const std::vector<ChunkRecord>& committed() const override { return committed_; }
  const std::vector<std::string>& dropped() const override { return dropped_; }
  std::string chunk_path(int64_t index) const override {
    return join_path(directory_, chunk_file_name(index));
  }
  std::string ledger_path(int64_t index) const {
    return join_path(directory_, chunk_ledger_name(index));
  }
  std::string offsets_path(int64_t index) const {
    return join_path(directory_, chunk_offsets_name(index));
  }
  std::vector<int64_t> pending() const override;
  std::unique_ptr<ChunkWriter> begin(int64_t index) override;
  void assemble(const std::string& final_path, const FinalFormat& format,
                const std::function<void(int64_t)>& on_chunk) override;
  void remove() override { remove_chunks(cache_dir_, stream_.identity.name); }

  // Commits a chunk that was just published: appends its record to the log.
  void record(const ChunkRecord& record);
  const StreamFile& stream() const { return stream_; }

 private:
  void read_chunk(const ChunkRecord& record, const RowBlock& block) const;

  std::string cache_dir_;
  std::string directory_;
  StreamFile stream_;
  // Guards committed_ and log_, because ChunkWriters may commit on other threads.
  mutable std::mutex mutex_;
  std::vector<ChunkRecord> committed_;
  std::vector<std::string> dropped_;
  LogAppender log_;
};

class ChunkWriterImpl : public ChunkWriter {
 public:
  ChunkWriterImpl(ChunkStoreImpl& store, int64_t index)
      : store_(store),
        index_(index),
        writer_(store.chunk_path(index),
                {.rows = store.chunk(index),
                 .columns = store.stream().identity.dim,
                 .counted_at_end = store.stream().identity.token_embeddings}),
        ledger_(store.ledger_path(index)) {
    if (store.stream().identity.token_embeddings)
      offsets_.emplace(store.offsets_path(index), store.chunk(index).size());
  }

  void append(std::span<const float> values) override { writer_.append(values); }
  void append_lengths(std::span<const int32_t> lengths) override {
    offsets_.value().append(lengths);
  }
  void append_truncated(std::span<const TruncatedRow> rows) override { ledger_.append(rows); }
  int64_t rows_written() const override { return writer_.rows_written(); }
  ChunkRecord commit(const RowStats& stats, const ChunkOrigin& origin) override {
    std::optional<FileSeal> ledger;
    std::optional<FileSeal> offsets;
    if (!ledger_.empty()) ledger = ledger_.publish();
    if (offsets_) offsets = offsets_->publish();
    writer_.publish();
    ChunkRecord record = {.index = index_,
                          .rows = store_.chunk(index_),
                          .file_bytes = writer_.bytes_written(),
                          .xxh3_128 = writer_.xxh3_hex(),
                          .stats = stats,
                          .origin = origin,
                          .ledger = std::move(ledger),
                          .offsets = std::move(offsets)};
    store_.record(record);
    return record;
  }

 private:
  ChunkStoreImpl& store_;
  int64_t index_ = 0;
  NpyWriter writer_;
  LedgerWriter ledger_;
  std::optional<OffsetsWriter> offsets_;
};

bool by_index(const ChunkRecord& a, const ChunkRecord& b) { return a.index < b.index; }

Error misuse(std::string what, std::string where) {
  return Error({.exit_code = ExitCode::kInternal,
                .code = "store.misuse",
                .what = std::move(what),
                .where = std::move(where),
                .expected = "correct use of the store",
                .found = "a call in the wrong order",
                .hint = "this is a defect of encode; please report it"});
}

std::vector<int64_t> ChunkStoreImpl::pending() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::vector<int64_t> indices;
  auto record = committed_.begin();
  for (int64_t index = 0; index < chunk_count(); ++index) {
    if (record != committed_.end() && record->index == index) {
      ++record;
    } else {
      indices.push_back(index);
    }
  }
  return indices;
}

std::unique_ptr<ChunkWriter> ChunkStoreImpl::begin(int64_t index) {
  if (index < 0 || index >= chunk_count())
    throw misuse("the stream has no chunk of this number", chunk_path(index));
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto same_index = [index](const ChunkRecord& record) { return record.index == index; };
    const bool known = std::any_of(committed_.begin(), committed_.end(), same_index);
    if (known) throw misuse("the chunk is already committed", chunk_path(index));
  }
  return std::make_unique<ChunkWriterImpl>(*this, index);
}

void ChunkStoreImpl::record(const ChunkRecord& record) {
  const std::lock_guard<std::mutex> guard(mutex_);
  log_.append(to_line({.stream = stream_.checksum, .chunk = record}));
  committed_.insert(std::upper_bound(committed_.begin(), committed_.end(), record, by_index),
                    record);
}

void ChunkStoreImpl::read_chunk(const ChunkRecord& record, const RowBlock& block) const {
  NpyReader reader(chunk_path(record.index));
  if (reader.file_bytes() != stream_.chunk_file_bytes(record) ||
      reader.dim() != stream_.identity.dim) {
    throw damage(
        "a chunk does not have the shape in its record", reader.path(),
        fmt::format("{} bytes, {} columns", stream_.chunk_file_bytes(record), stream_.identity.dim),
        fmt::format("{} bytes, {} columns", reader.file_bytes(), reader.dim()));
  }
  for (auto values = reader.next(reader.block_rows()); !values.empty();
       values = reader.next(reader.block_rows())) {
    block(values);
  }
  // A check after the last block is early enough, because nothing is published yet. The reader has
  // hashed the bytes that it passed to `block`.
  if (const std::string found = reader.xxh3_hex(); found != record.xxh3_128) {
    throw damage("a chunk is damaged", reader.path(), "XXH3-128 " + record.xxh3_128, found);
  }
}

void ChunkStoreImpl::assemble(const std::string& final_path, const FinalFormat& format,
                              const std::function<void(int64_t)>& on_chunk) {
  if (!pending().empty()) throw misuse("not all chunks are committed", directory_);
  Manifest manifest;
  manifest.identity = stream_.identity;
  for (const ChunkRecord& record : committed_) {
    manifest.stats.add(record.stats);
    add_origin(manifest.origins, record.origin);
  }
  const FinalSource source = {
      .rows =
          [&](const RowBlock& block) {
            for (const ChunkRecord& record : committed_) {
              read_chunk(record, block);
              if (on_chunk) on_chunk(record.index);
            }
          },
      .fill_ledger =
          [&](LedgerWriter& ledger) {
            for (const ChunkRecord& record : committed_) {
              if (record.ledger) ledger.append_file(ledger_path(record.index), *record.ledger);
            }
          },
      .fill_offsets =
          [&](OffsetsWriter& offsets) {
            for (const ChunkRecord& record : committed_)
              offsets.append_file(offsets_path(record.index), record.offsets.value());
          }};
  write_final(source, final_path, std::move(manifest), format);
}

}  // namespace

std::unique_ptr<ChunkStore> ChunkStore::open(const std::string& cache_dir,
                                             const StreamIdentity& identity, int64_t chunk_rows,
                                             Open mode) {
  check_identity(identity);
  if (chunk_rows < 1) throw misuse("a chunk must have at least one row", identity.name);
  if (mode == Open::kFresh) remove_chunks(cache_dir, identity.name);
  Recovered recovered =
      recover(cache_dir, {.identity = identity, .chunk_rows = chunk_rows, .checksum = ""});
  return std::make_unique<ChunkStoreImpl>(cache_dir, std::move(recovered));
}

}  // namespace encode
