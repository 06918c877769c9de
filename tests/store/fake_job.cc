#include "store/fake_job.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "base/npy.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

// Computes one step of the random number generator splitmix64.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

std::string FakeJob::final_path(const std::string& cache_dir) const {
  return encode::final_path(cache_dir, identity.name, file);
}

std::optional<std::string> fake_text(int64_t row) {
  if (row % 7 == 3) return std::nullopt;
  return fmt::format("text of row {}", row);
}

namespace {

class FakeTexts final : public ColumnSource {
 public:
  void next(std::vector<std::optional<std::string>>& values) override {
    values = {fake_text(row_++)};
  }
  int64_t source_row() const override { return fake_source_row(row_ - 1); }
  void finish() override {}

 private:
  int64_t row_ = 0;
};

}  // namespace

ColumnOpener fake_texts() {
  return [] { return std::make_unique<FakeTexts>(); };
}

FakeJob filtered_job() {
  FakeJob job;
  job.identity.fingerprint = R"({"input":{"where":"a == 1"},"seed":1})";
  return job;
}

FakeJob table_job(MatrixFormat file) {
  const TempDir dir;
  FakeJob job;
  job.file = file;
  run_fake_job(dir.path(), job);
  job.table = read_bytes(job.final_path(dir.path()));
  return job;
}

std::vector<float> fake_rows(RowRange rows, int64_t dim) {
  std::vector<float> values;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    double square_sum = 0;
    for (int64_t column = 0; column < dim; ++column) {
      const uint64_t bits = mix(static_cast<uint64_t>(row * 8191 + column));
      values.push_back(static_cast<float>(bits >> 40) / static_cast<float>(1 << 23) - 1.0F);
      square_sum += static_cast<double>(values.back()) * values.back();
    }
    const auto scale = static_cast<float>(1 / std::sqrt(square_sum));
    for (auto value = values.end() - dim; value != values.end(); ++value) *value *= scale;
  }
  return values;
}

FakeJob token_embeddings_job() {
  FakeJob job;
  job.identity.token_embeddings = true;
  return job;
}

FakeJob passages_job() {
  FakeJob job;
  job.identity.passages = true;
  return job;
}

std::vector<PassagePlace> fake_passages(int64_t row) {
  std::vector<PassagePlace> passages;
  for (int64_t i = 0; i < fake_lengths({row, row + 1}).front(); ++i)
    passages.push_back({.row = row,
                        .passage = i,
                        .byte_begin = 20 * i,
                        .byte_end = 20 * i + 25,
                        .char_begin = 10 * i,
                        .char_end = 10 * i + 12,
                        .tokens = 7});
  return passages;
}

std::vector<int32_t> fake_lengths(RowRange rows) {
  std::vector<int32_t> lengths;
  for (int64_t row = rows.begin; row < rows.end; ++row)
    lengths.push_back(static_cast<int32_t>(row % 4));
  return lengths;
}

std::vector<float> fake_vectors(RowRange rows, int64_t dim) {
  std::vector<float> values;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t first = row * 8;
    const std::vector<float> vectors =
        fake_rows({.begin = first, .end = first + fake_lengths({row, row + 1}).front()}, dim);
    values.insert(values.end(), vectors.begin(), vectors.end());
  }
  return values;
}

RowStats fake_stats(RowRange rows) {
  RowStats stats;
  stats.tokens = rows.size() * 7;
  for (const TruncatedRow& row : fake_truncated(rows)) {
    ++stats.truncated_rows;
    stats.lost_tokens += row.lost_tokens;
  }
  return stats;
}

std::vector<TruncatedRow> fake_truncated(RowRange rows) {
  std::vector<TruncatedRow> truncated;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    if (row % 9 == 0) truncated.push_back({.row = row, .tokens = 7, .lost_tokens = row + 1});
  }
  return truncated;
}

namespace {

bool is_set_aside(const FakeJob& job, int64_t row) {
  return std::binary_search(job.set_aside.begin(), job.set_aside.end(), row);
}

SetAsideRow set_aside_row(int64_t row) {
  return {.row = row, .code = "device.cuda", .message = "illegal address"};
}

std::vector<int32_t> lengths_of(const FakeJob& job, RowRange rows) {
  std::vector<int32_t> lengths = fake_lengths(rows);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    if (is_set_aside(job, row)) lengths[static_cast<size_t>(row - rows.begin)] = 0;
  }
  return lengths;
}

// The vectors of one row. A row that is set aside has zeros, or no vector of tokens.
std::vector<float> vectors_of(const FakeJob& job, RowRange row) {
  const bool aside = is_set_aside(job, row.begin);
  const int64_t dim = job.identity.dim;
  if (job.identity.has_offsets()) return aside ? std::vector<float>() : fake_vectors(row, dim);
  return aside ? std::vector<float>(static_cast<size_t>(dim)) : fake_rows(row, dim);
}

WrittenChunk write_chunk(ChunkStore& store, int64_t index, const FakeJob& job) {
  WrittenChunk chunk = {.writer = store.begin(index), .stats = {}, .origin = {.device = "cpu"}};
  const RowRange rows = store.chunk(index);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const RowRange one = {.begin = row, .end = row + 1};
    chunk.writer->append(vectors_of(job, one));
    if (job.identity.has_offsets()) chunk.writer->append_lengths(lengths_of(job, one));
    if (job.identity.passages && !is_set_aside(job, row))
      chunk.writer->append_passages(fake_passages(row));
    if (is_set_aside(job, row)) {
      const SetAsideRow aside = set_aside_row(row);
      chunk.writer->append_set_aside({&aside, 1});
      ++chunk.stats.set_aside_rows;
      continue;
    }
    RowStats row_stats = fake_stats(one);
    if (job.identity.token_embeddings) row_stats.tokens = fake_lengths(one).front();
    if (job.identity.passages) row_stats.passages = fake_lengths(one).front();
    chunk.stats.add(row_stats);
    chunk.writer->append_truncated(fake_truncated(one));
  }
  return chunk;
}

// Encodes the pending chunks, and commits `job.together` of them at a time.
std::vector<int64_t> encode_pending(ChunkStore& store, const FakeJob& job,
                                    const std::function<void(int64_t)>& on_commit) {
  std::vector<int64_t> encoded;
  std::vector<WrittenChunk> chunks;
  const auto commit = [&] {
    for (const ChunkRecord& record : store.commit(chunks)) {
      encoded.push_back(record.index);
      if (on_commit) on_commit(record.index);
    }
    chunks.clear();
  };
  for (const int64_t index : store.pending()) {
    chunks.push_back(write_chunk(store, index, job));
    if (std::ssize(chunks) == job.together) commit();
  }
  commit();
  return encoded;
}

}  // namespace

ChunkRecord commit_chunk(ChunkStore& store, int64_t index, int64_t dim) {
  return commit_chunk(store, index,
                      StreamIdentity{.name = "", .fingerprint = "", .rows = 0, .dim = dim});
}

ChunkRecord commit_chunk(ChunkStore& store, int64_t index, const StreamIdentity& identity) {
  FakeJob job;
  job.identity = identity;
  return commit_chunk(store, index, job);
}

ChunkRecord commit_chunk(ChunkStore& store, int64_t index, const FakeJob& job) {
  const WrittenChunk chunk = write_chunk(store, index, job);
  return chunk.writer->commit(chunk.stats, chunk.origin);
}

std::vector<int64_t> run_fake_job(const std::string& cache_dir, const FakeJob& job,
                                  const std::function<void(int64_t)>& on_commit) {
  const CacheLock lock = CacheLock::acquire(cache_dir);
  const std::string final_path = job.final_path(cache_dir);
  std::vector<int64_t> encoded;
  if (final_state(final_path, job.identity, /*check_hash=*/true) != FinalState::kValid) {
    const auto store = ChunkStore::open(cache_dir, job.identity, job.chunk_rows, job.open);
    encoded = encode_pending(*store, job, on_commit);
    FinalContent content;
    content.format.file = job.file;
    if (job.file != MatrixFormat::kNpy)
      content.format.columns = {{kRowColumn, kRowColumn}, {kTextColumn, kTextColumn}};
    content.columns = fake_texts();
    content.set_aside = store->set_aside();
    if (!content.set_aside.empty()) content.quarantine = QuarantinePolicy::kZeros;
    store->assemble(final_path, content, {});
  }
  if (!job.keep_chunks) remove_chunks(cache_dir, job.identity.name);
  return encoded;
}

std::string expected_matrix(const FakeJob& job, RowRange rows) {
  std::vector<float> values;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const std::vector<float> vectors = vectors_of(job, {row, row + 1});
    values.insert(values.end(), vectors.begin(), vectors.end());
  }
  std::string bytes = make_npy_header(static_cast<int64_t>(values.size()) / job.identity.dim,
                                      job.identity.dim, ItemType::kFloat32);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return bytes;
}

std::string expected_final(const FakeJob& job) {
  if (job.file != MatrixFormat::kNpy) return job.table;
  return expected_matrix(job, {.begin = 0, .end = job.identity.rows});
}

namespace {

// Returns the bytes that numpy.save (NumPy 2.2) writes for an int64 vector.
std::string npy_of(const std::vector<int64_t>& numbers) {
  std::string bytes("\x93NUMPY\x01\x00\x76\x00", 10);
  bytes +=
      fmt::format("{{'descr': '<i8', 'fortran_order': False, 'shape': ({},), }}", numbers.size());
  bytes.resize(127, ' ');
  bytes += '\n';
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t));
  return bytes;
}

}  // namespace

std::string expected_offsets(const FakeJob& job) {
  std::vector<int64_t> offsets = {0};
  for (const int32_t length : lengths_of(job, {.begin = 0, .end = job.identity.rows}))
    offsets.push_back(offsets.back() + length);
  return npy_of(offsets);
}

std::string expected_source_rows(const FakeJob& job) {
  std::vector<int64_t> records;
  for (int64_t row = 0; row < job.identity.rows; ++row) records.push_back(fake_source_row(row));
  return npy_of(records);
}

std::string expected_passages(const FakeJob& job) {
  std::vector<PassagePlace> passages;
  for (int64_t row = 0; row < job.identity.rows; ++row) {
    const std::vector<PassagePlace> own = fake_passages(row);
    if (!is_set_aside(job, row)) passages.insert(passages.end(), own.begin(), own.end());
  }
  // Makes the header that numpy.save (NumPy 2.2) writes for an int64 matrix.
  std::string bytes("\x93NUMPY\x01\x00\x76\x00", 10);
  bytes += fmt::format("{{'descr': '<i8', 'fortran_order': False, 'shape': ({}, 7), }}",
                       passages.size());
  bytes.resize(127, ' ');
  bytes += '\n';
  bytes.append(reinterpret_cast<const char*>(passages.data()),
               passages.size() * sizeof(PassagePlace));
  return bytes;
}

std::string expected_ledger(const FakeJob& job) {
  std::string lines;
  for (const TruncatedRow& row : fake_truncated({.begin = 0, .end = job.identity.rows})) {
    if (is_set_aside(job, row.row)) continue;
    lines += fmt::format("{{\"row\":{},\"tokens\":7,\"lost_tokens\":{}}}\n", row.row, row.row + 1);
  }
  return lines;
}

std::string expected_set_aside(const FakeJob& job) {
  std::string lines;
  for (const int64_t row : job.set_aside) {
    lines += fmt::format(R"({{"code":"device.cuda","message":"illegal address","row":{}}})"
                         "\n",
                         row);
  }
  return lines;
}

}  // namespace encode::testing
