#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <mutex>
#include <set>
#include <utility>

#include "encode/store.h"
#include "encode/vector_rows.h"

#include "base/file.h"
#include "base/npy_reader.h"
#include "store/chunk_places.h"
#include "store/chunk_recovery.h"
#include "store/final_values.h"
#include "store/layout.h"
#include "store/ledger.h"
#include "store/matrix_file.h"
#include "store/offsets.h"
#include "store/passage_file.h"
#include "store/records.h"
#include "store/sealed_json.h"
#include "store/set_aside.h"
#include "store/shared_log.h"

namespace encode {
namespace {

class ChunkStoreImpl : public ChunkStore {
 public:
  ChunkStoreImpl(std::string cache_dir, Recovered recovered)
      : cache_dir_(std::move(cache_dir)),
        directory_(chunks_dir(cache_dir_, recovered.stream.identity.name)),
        stream_(std::move(recovered.stream)),
        places_(directory_, stream_.folder_chunks),
        folders_(places_),
        committed_(std::move(recovered.committed)),
        dropped_(std::move(recovered.dropped)),
        joined_(false),
        log_(join_path(directory_, kLogFile)) {}
  ChunkStoreImpl(std::string cache_dir, Joined joined)
      : cache_dir_(std::move(cache_dir)),
        directory_(chunks_dir(cache_dir_, joined.stream.identity.name)),
        stream_(std::move(joined.stream)),
        places_(directory_, stream_.folder_chunks),
        folders_(places_),
        joined_(true),
        log_(std::move(joined.log)) {
    take_new();
  }

  int64_t chunk_rows() const override { return stream_.chunk_rows; }
  int64_t chunk_count() const override { return stream_.chunk_count(); }
  RowRange chunk(int64_t index) const override { return stream_.chunk(index); }
  const std::vector<ChunkRecord>& committed() const override { return committed_; }
  const std::vector<std::string>& dropped() const override { return dropped_; }
  std::string chunk_path(int64_t index) const override { return path(index, ChunkPart::kVectors); }
  std::string path(int64_t index, ChunkPart part) const { return places_.path(index, part); }
  std::vector<int64_t> pending() const override;
  bool claim(int64_t index) override;
  std::unique_ptr<ChunkWriter> begin(int64_t index) override;
  std::vector<ChunkRecord> commit(std::span<const WrittenChunk> chunks) override;
  std::vector<SetAsideRow> set_aside() const override;
  void discard(const std::vector<int64_t>& indices) override;
  void assemble(const std::string& final_path, const FinalContent& content,
                const std::function<void(int64_t)>& on_chunk) override;
  void remove() override { remove_chunks(cache_dir_, stream_.identity.name); }

  // Commits chunks whose files have been renamed: syncs their folders, and appends the records to
  // the log.
  void record(std::span<const ChunkRecord> records);
  const StreamFile& stream() const { return stream_; }

 private:
  template <typename Chunks>
  void sync_folders(const Chunks& chunks) const;
  void take_new();
  void insert(const ChunkRecord& record);
  bool is_committed(int64_t index) const;
  void read_chunk(const ChunkRecord& record, const RowBlock& block) const;
  void check_content(const FinalContent& content) const;
  FinalSource source_of(const FinalContent& content,
                        const std::function<void(int64_t)>& on_chunk) const;

  std::string cache_dir_;
  std::string directory_;
  StreamFile stream_;
  ChunkPlaces places_;
  ChunkFolders folders_;
  // Guards committed_ and log_, because ChunkWriters may commit on other threads.
  mutable std::mutex mutex_;
  std::vector<ChunkRecord> committed_;
  std::vector<std::string> dropped_;
  const bool joined_;  // true: other processes may write to the folder
  SharedLog log_;
};

class ChunkWriterImpl : public ChunkWriter {
 public:
  ChunkWriterImpl(ChunkStoreImpl& store, int64_t index)
      : store_(store),
        index_(index),
        writer_(store.chunk_path(index), {.rows = store.chunk(index),
                                          .columns = store.stream().identity.dim,
                                          .counted_at_end = store.stream().identity.has_offsets()}),
        ledger_(store.path(index, ChunkPart::kLedger)),
        set_aside_(store.path(index, ChunkPart::kSetAside)) {
    if (store.stream().identity.has_offsets())
      offsets_.emplace(store.path(index, ChunkPart::kOffsets), store.chunk(index).size());
    if (store.stream().identity.passages)
      passages_.emplace(store.path(index, ChunkPart::kPassages));
  }

  void append(std::span<const float> values) override { writer_.append(values); }
  void append_lengths(std::span<const int32_t> lengths) override {
    offsets_.value().append(lengths);
  }
  void append_passages(std::span<const PassagePlace> passages) override {
    passages_.value().append(passages);
  }
  void append_truncated(std::span<const TruncatedRow> rows) override { ledger_.append(rows); }
  void append_set_aside(std::span<const SetAsideRow> rows) override { set_aside_.append(rows); }
  int64_t rows_written() const override { return writer_.rows_written(); }
  ChunkRecord commit(const RowStats& stats, const ChunkOrigin& origin) override {
    const ChunkRecord record = sync(stats, origin);
    rename();
    store_.record({&record, 1});
    return record;
  }

  // Makes the files durable under their temporary names, and returns the record of the chunk.
  ChunkRecord sync(const RowStats& stats, const ChunkOrigin& origin) {
    ChunkRecord record;
    record.index = index_;
    record.rows = store_.chunk(index_);
    record.stats = stats;
    record.origin = origin;
    if (!ledger_.empty()) record.ledger = ledger_.sync();
    if (offsets_) record.offsets = offsets_->sync();
    if (!set_aside_.empty()) record.set_aside = set_aside_.sync();
    if (passages_) record.passages = passages_->sync(writer_.rows_written());
    writer_.sync();
    record.file_bytes = writer_.bytes_written();
    record.xxh3_128 = writer_.xxh3_hex();
    return record;
  }
  // Gives the files their final names. record() then syncs the folder.
  void rename() {
    if (!ledger_.empty()) ledger_.rename();
    if (offsets_) offsets_->rename();
    if (!set_aside_.empty()) set_aside_.rename();
    if (passages_) passages_->rename();
    writer_.rename();
  }

 private:
  ChunkStoreImpl& store_;
  int64_t index_ = 0;
  NpyWriter writer_;
  LedgerWriter ledger_;
  LedgerWriter set_aside_;
  std::optional<OffsetsWriter> offsets_;
  std::optional<PassagesWriter> passages_;
};

bool by_index(const ChunkRecord& a, const ChunkRecord& b) { return a.index < b.index; }

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
    if (!joined_ && is_committed(index))
      throw misuse("the chunk is already committed", chunk_path(index));
  }
  folders_.create(index);
  return std::make_unique<ChunkWriterImpl>(*this, index);
}

std::vector<ChunkRecord> ChunkStoreImpl::commit(std::span<const WrittenChunk> chunks) {
  // The cast is safe, because begin() makes all writers and makes only ChunkWriterImpl.
  const auto writer = [](const WrittenChunk& chunk) -> ChunkWriterImpl& {
    return static_cast<ChunkWriterImpl&>(*chunk.writer);
  };
  std::vector<ChunkRecord> records;
  for (const WrittenChunk& chunk : chunks)
    records.push_back(writer(chunk).sync(chunk.stats, chunk.origin));
  for (const WrittenChunk& chunk : chunks) writer(chunk).rename();
  record(records);
  return records;
}

void ChunkStoreImpl::record(std::span<const ChunkRecord> records) {
  if (records.empty()) return;
  sync_folders(records);
  std::string lines;
  for (const ChunkRecord& record : records)
    lines += to_line({.stream = stream_.checksum, .chunk = record});
  const std::lock_guard<std::mutex> guard(mutex_);
  log_.append(lines);
  for (const ChunkRecord& record : records) {
    insert(record);
    if (joined_) log_.release(record.index);
  }
}

template <typename Chunks>
void ChunkStoreImpl::sync_folders(const Chunks& chunks) const {
  std::set<std::string> folders;
  for (const ChunkRecord& chunk : chunks) folders.insert(places_.folder(chunk.index));
  for (const std::string& folder : folders) sync_directory(folder);
}

bool ChunkStoreImpl::claim(int64_t index) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!joined_) throw misuse("only a joined store has claims", directory_);
  if (is_committed(index) || !log_.claim(index)) return false;
  // The store that had the claim before may have committed the chunk.
  take_new();
  if (!is_committed(index)) return true;
  log_.release(index);
  return false;
}

void ChunkStoreImpl::take_new() {
  log_.read_new([this](const LogRecord& record) {
    if (record.belongs_to(stream_)) insert(record.chunk);
  });
}

// A later record of a chunk replaces the earlier one. recover() reads the log in the same way.
void ChunkStoreImpl::insert(const ChunkRecord& record) {
  const auto place = std::lower_bound(committed_.begin(), committed_.end(), record, by_index);
  if (place != committed_.end() && place->index == record.index) {
    *place = record;
  } else {
    committed_.insert(place, record);
  }
}

bool ChunkStoreImpl::is_committed(int64_t index) const {
  const auto place =
      std::partition_point(committed_.begin(), committed_.end(),
                           [index](const ChunkRecord& record) { return record.index < index; });
  return place != committed_.end() && place->index == index;
}

void ChunkStoreImpl::read_chunk(const ChunkRecord& record, const RowBlock& block) const {
  NpyReader reader(chunk_path(record.index));
  require_chunk_shape(reader.header(), stream_, record, reader.path());
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

std::vector<SetAsideRow> ChunkStoreImpl::set_aside() const {
  std::vector<SetAsideRow> all;
  for (const ChunkRecord& record : committed_) {
    if (!record.set_aside) continue;
    const std::string ledger = path(record.index, ChunkPart::kSetAside);
    for (SetAsideRow& row : read_set_aside(ledger, *record.set_aside)) {
      if (row.row < record.rows.begin || row.row >= record.rows.end) {
        throw damage("a list of rows that were set aside has a row of another chunk", ledger,
                     fmt::format("rows {} to {}", record.rows.begin, record.rows.end - 1),
                     fmt::format("row {}", row.row));
      }
      all.push_back(std::move(row));
    }
  }
  return all;
}

void ChunkStoreImpl::discard(const std::vector<int64_t>& indices) {
  if (indices.empty()) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  const std::set<int64_t> discarded(indices.begin(), indices.end());
  std::vector<ChunkRecord> kept;
  std::vector<ChunkRecord> removed;
  for (const ChunkRecord& record : committed_)
    (discarded.contains(record.index) ? removed : kept).push_back(record);
  if (kept.size() + indices.size() != committed_.size())
    throw misuse("a chunk to discard is not committed", directory_);
  // The records are removed first. If the process ends after that, open() deletes the files.
  const std::string log_path = join_path(directory_, kLogFile);
  write_file_durably(log_path, log_text(stream_, kept));
  log_ = SharedLog(log_path);
  committed_ = std::move(kept);
  for (const int64_t index : indices) {
    for (const ChunkPart part : kChunkParts) remove_file(path(index, part));
  }
  sync_folders(removed);
}

void ChunkStoreImpl::check_content(const FinalContent& content) const {
  const auto in_order = std::ranges::less();
  if (!std::ranges::includes(content.set_aside, set_aside(), in_order, &SetAsideRow::row,
                             &SetAsideRow::row))
    throw misuse("a row was set aside, and the content of the matrix does not say so", directory_);
  if (content.set_aside.empty()) return;
  if (content.quarantine == QuarantinePolicy::kError)
    throw misuse("rows were set aside, and the policy allows no matrix without them", directory_);
  if (content.quarantine == QuarantinePolicy::kDrop && stream_.identity.has_offsets())
    throw misuse("rows with several vectors cannot be dropped", directory_);
}

FinalSource ChunkStoreImpl::source_of(const FinalContent& content,
                                      const std::function<void(int64_t)>& on_chunk) const {
  const bool drops = content.quarantine == QuarantinePolicy::kDrop;
  const VectorRows kept(stream_.identity.range(),
                        drops ? row_numbers(content.set_aside) : std::vector<int64_t>(),
                        directory_);
  const auto rows = [this, kept, &on_chunk](const RowBlock& block) {
    RowFilter filter(kept, stream_.identity.dim);
    for (const ChunkRecord& record : committed_) {
      read_chunk(record, [&](std::span<const float> values) { filter.take(values, block); });
      if (on_chunk) on_chunk(record.index);
    }
  };
  return {.rows = rows,
          .fill_ledger =
              [this](LedgerWriter& ledger) {
                for (const ChunkRecord& record : committed_) {
                  if (record.ledger)
                    ledger.append_file(path(record.index, ChunkPart::kLedger), *record.ledger);
                }
              },
          .fill_offsets =
              [this](OffsetsWriter& offsets) {
                for (const ChunkRecord& record : committed_)
                  offsets.append_file(path(record.index, ChunkPart::kOffsets),
                                      record.offsets.value());
              },
          .fill_passages =
              [this](PassagesWriter& passages) {
                for (const ChunkRecord& record : committed_)
                  passages.append_file(path(record.index, ChunkPart::kPassages),
                                       record.passages.value());
              },
          .set_aside = content.set_aside,
          .columns = content.columns};
}

void ChunkStoreImpl::assemble(const std::string& final_path, const FinalContent& content,
                              const std::function<void(int64_t)>& on_chunk) {
  if (!pending().empty()) throw misuse("not all chunks are committed", directory_);
  check_content(content);
  Manifest manifest;
  manifest.identity = stream_.identity;
  for (const ChunkRecord& record : committed_) {
    manifest.stats.add(record.stats);
    add_origin(manifest.origins, record.origin);
  }
  if (!content.set_aside.empty()) manifest.quarantine = content.quarantine;
  if (manifest.quarantine == QuarantinePolicy::kDrop)
    manifest.dropped_rows = static_cast<int64_t>(content.set_aside.size());
  write_final(source_of(content, on_chunk), final_path, std::move(manifest), content.format);
}

}  // namespace

std::unique_ptr<ChunkStore> ChunkStore::open(const std::string& cache_dir,
                                             const StreamIdentity& identity, int64_t chunk_rows,
                                             Open mode) {
  check_identity(identity);
  if (chunk_rows < 1) throw misuse("a chunk must have at least one row", identity.name);
  const StreamFile wanted = new_stream(identity, chunk_rows);
  if (mode == Open::kJoin) {
    std::optional<Joined> joined = join(cache_dir, wanted);
    if (!joined) return nullptr;
    joined->stream.identity = identity;
    return std::make_unique<ChunkStoreImpl>(cache_dir, std::move(*joined));
  }
  if (mode == Open::kFresh) remove_chunks(cache_dir, identity.name);
  Recovered recovered = recover(cache_dir, wanted);
  recovered.stream.identity = identity;  // with `inputs`, which stream.json does not have
  return std::make_unique<ChunkStoreImpl>(cache_dir, std::move(recovered));
}

}  // namespace encode
