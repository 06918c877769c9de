// Runs a whole job on the real ChunkStore with a fake encoder: the vector of a row is a hash of the
// row number.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "encode/store.h"

namespace encode::testing {

struct FakeJob {
  StreamIdentity identity = {
      .name = "train_tc", .fingerprint = R"({"seed":1})", .rows = 30, .dim = 4};
  int64_t chunk_rows = 4;
  bool keep_chunks = true;
  ChunkStore::Open open = ChunkStore::Open::kResume;
  // The rows that the job quarantines, ascending. The final matrix has zeros in their place.
  std::vector<int64_t> set_aside = {};
  int64_t together = 1;  // the number of chunks that are committed together
  // Above 0: the chunks are in sub-folders of so many chunks, as those of a stream of very many
  // chunks are.
  int64_t folder_chunks = 0;
  // A table has the columns row and text.
  MatrixFormat file = MatrixFormat::kNpy;
  std::string table = "";  // the bytes of the final matrix if it is a table

  std::string final_path(const std::string& cache_dir) const;
  std::string chunk_path(const std::string& cache_dir, int64_t index) const;
};

// Returns a job of a stream with a filter, which keeps every third record.
FakeJob filtered_job();
inline int64_t fake_source_row(int64_t row) { return 3 * row + 1; }

// Returns a job of token embeddings, with 0 to 3 vectors for each row.
FakeJob token_embeddings_job();

// Returns a job of passages, with 0 to 3 vectors for each row.
FakeJob passages_job();
// Returns the passages of a row in such a job.
std::vector<PassagePlace> fake_passages(int64_t row);

// Returns a job whose final matrix is a table. Runs it once, to know the bytes of the table.
FakeJob table_job(MatrixFormat file);
// Returns the text of a row; nullopt for some rows.
std::optional<std::string> fake_text(int64_t row);
// Opens a source of the texts of all rows.
ColumnOpener fake_texts();

// Returns unit vectors, row-major [rows.size(), dim].
std::vector<float> fake_rows(RowRange rows, int64_t dim);
// Returns the vectors of the rows in a job of token embeddings.
std::vector<float> fake_vectors(RowRange rows, int64_t dim);
// Returns the number of vectors of each row in a job of token embeddings.
std::vector<int32_t> fake_lengths(RowRange rows);
RowStats fake_stats(RowRange rows);
// Returns every ninth row, so that some chunks have a ledger and others do not.
std::vector<TruncatedRow> fake_truncated(RowRange rows);

// These functions encode one chunk, append its rows one by one, and commit it.
ChunkRecord commit_chunk(ChunkStore& store, int64_t index, int64_t dim);
ChunkRecord commit_chunk(ChunkStore& store, int64_t index, const StreamIdentity& identity);
ChunkRecord commit_chunk(ChunkStore& store, int64_t index, const FakeJob& job);

// Locks the cache, opens the store, encodes the pending chunks, publishes the final matrix, and
// removes the chunks unless the job keeps them. Calls `on_commit` with the index of each committed
// chunk. Returns the indices of the chunks that it encoded.
std::vector<int64_t> run_fake_job(const std::string& cache_dir, const FakeJob& job,
                                  const std::function<void(int64_t)>& on_commit = {});

// These functions return the content that the matrix of some rows, and the files of the final
// matrix, must have. They do not use the store.
std::string expected_matrix(const FakeJob& job, RowRange rows);
std::string expected_final(const FakeJob& job);
std::string expected_ledger(const FakeJob& job);
std::string expected_set_aside(const FakeJob& job);    // "" if the job sets no row aside
std::string expected_offsets(const FakeJob& job);      // for a job with has_offsets()
std::string expected_passages(const FakeJob& job);     // for a job of passages
std::string expected_source_rows(const FakeJob& job);  // for a job with a filter

}  // namespace encode::testing
