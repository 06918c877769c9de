// A whole job over the real ChunkStore with an encoder that costs nothing: the vector of a row is a
// hash of the row.
#pragma once

#include <cstdint>
#include <functional>
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

  std::string final_path(const std::string& cache_dir) const;
};

// The same with 0 to 3 vectors a row.
FakeJob token_embeddings_job();

// Unit vectors, row-major [rows.size(), dim].
std::vector<float> fake_rows(RowRange rows, int64_t dim);
// Those of a job of token embeddings, and how many of them each row has.
std::vector<float> fake_vectors(RowRange rows, int64_t dim);
std::vector<int32_t> fake_lengths(RowRange rows);
RowStats fake_stats(RowRange rows);
// Every ninth row, so that there are chunks with a ledger and chunks without.
std::vector<TruncatedRow> fake_truncated(RowRange rows);

// Encodes and commits one chunk, its rows appended one by one.
ChunkRecord commit_chunk(ChunkStore& store, int64_t index, int64_t dim);
ChunkRecord commit_chunk(ChunkStore& store, int64_t index, const StreamIdentity& identity);

// Lock, open, encode what is pending, assemble, publish, remove the chunks unless they are kept.
// `on_commit` is called after each commit, with the chunk's index. Returns the chunks encoded.
std::vector<int64_t> run_fake_job(const std::string& cache_dir, const FakeJob& job,
                                  const std::function<void(int64_t)>& on_commit = {});

// What the final of the job must be, made without the store.
std::string expected_final(const FakeJob& job);
std::string expected_ledger(const FakeJob& job);
std::string expected_offsets(const FakeJob& job);  // of token embeddings

}  // namespace encode::testing
