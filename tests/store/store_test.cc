#include "encode/store.h"

#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/hash.h"
#include "store/fake_job.h"
#include "support/error_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::unique_ptr<ChunkStore> open_store(const std::string& cache_dir, const FakeJob& job) {
  return ChunkStore::open(cache_dir, job.identity, job.chunk_rows, job.open);
}

TEST(Store, FinalIsTheRowsInOrder) {
  const TempDir dir;
  const FakeJob job;
  EXPECT_THAT(run_fake_job(dir.path(), job), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(read_bytes(job.final_path(dir.path())), expected_final(job));
}

TEST(Store, ChunkSizeDoesNotChangeTheFinal) {
  for (const int64_t chunk_rows : {1, 7, 30, 1000}) {
    const TempDir dir;
    FakeJob job;
    job.chunk_rows = chunk_rows;
    run_fake_job(dir.path(), job);
    EXPECT_EQ(read_bytes(job.final_path(dir.path())), expected_final(job)) << chunk_rows;
  }
}

TEST(Store, NoRowsGiveAnEmptyMatrix) {
  const TempDir dir;
  FakeJob job;
  job.identity.rows = 0;
  EXPECT_THAT(run_fake_job(dir.path(), job), IsEmpty());
  EXPECT_EQ(read_bytes(job.final_path(dir.path())), expected_final(job));
  EXPECT_EQ(final_state(job.final_path(dir.path()), job.identity, true), FinalState::kValid);
}

TEST(Store, ManifestTellsWhatTheMatrixIs) {
  const TempDir dir;
  const FakeJob job;
  run_fake_job(dir.path(), job);
  const std::string path = job.final_path(dir.path());
  const Manifest manifest = read_manifest(path).value();
  EXPECT_EQ(manifest.identity.fingerprint, job.identity.fingerprint);
  EXPECT_EQ(manifest.identity.rows, 30);
  EXPECT_EQ(manifest.identity.dim, 4);
  EXPECT_EQ(manifest.xxh3_128, xxh3_file(path));
  EXPECT_EQ(manifest.stats.tokens, 30 * 7);
  EXPECT_EQ(manifest.stats.truncated_rows, 4);
  EXPECT_EQ(manifest.stats.lost_tokens, 1 + 10 + 19 + 28);
  EXPECT_EQ(manifest.ledger.value().xxh3_128, xxh3_file(ledger_path(path)));
  EXPECT_THAT(manifest.origins, ElementsAre(ChunkOrigin{.device = "cpu"}));
}

TEST(Store, LedgerNamesTheTruncatedRowsHoweverTheRunWasCutUp) {
  for (const int64_t chunk_rows : {1, 7, 30}) {
    const TempDir dir;
    FakeJob job;
    job.chunk_rows = chunk_rows;
    run_fake_job(dir.path(), job);
    EXPECT_EQ(read_bytes(ledger_path(job.final_path(dir.path()))), expected_ledger(job))
        << chunk_rows;
  }
}

TEST(Store, ChunkWithoutItsLedgerIsEncodedAgain) {
  const TempDir dir;
  const FakeJob job;
  {
    const auto store = open_store(dir.path(), job);
    for (const int64_t index : {0, 1, 2}) commit_chunk(*store, index, job.identity.dim);
  }
  const std::string folder = chunks_dir(dir.path(), job.identity.name);
  write_bytes(folder + "/chunk_0000.truncated.jsonl", "{}\n");
  std::filesystem::remove(folder + "/chunk_0002.truncated.jsonl");
  EXPECT_THAT(run_fake_job(dir.path(), job), ElementsAre(0, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(read_bytes(ledger_path(job.final_path(dir.path()))), expected_ledger(job));
}

TEST(TokenEmbeddings, FinalAndOffsetsAreTheRowsHoweverTheRunWasCutUp) {
  for (const int64_t chunk_rows : {1, 7, 30}) {
    const TempDir dir;
    FakeJob job = token_embeddings_job();
    job.chunk_rows = chunk_rows;
    run_fake_job(dir.path(), job);
    const std::string path = job.final_path(dir.path());
    EXPECT_EQ(read_bytes(path), expected_final(job)) << chunk_rows;
    EXPECT_EQ(read_bytes(offsets_path(path)), expected_offsets(job)) << chunk_rows;
    // There are 30 rows, and row r has r % 4 vectors.
    EXPECT_EQ(read_manifest(path).value().vectors(), 7 * (0 + 1 + 2 + 3) + 0 + 1);
    EXPECT_EQ(final_state(path, job.identity, true), FinalState::kValid);
  }
}

TEST(TokenEmbeddings, StandardModeWritesTheSameBytes) {
  const TempDir dir;
  const FakeJob job = token_embeddings_job();
  const std::string path = job.final_path(dir.path());
  const RowRange rows = {.begin = 0, .end = job.identity.rows};
  const auto writer = begin_final(path, job.identity);
  writer->append(fake_vectors(rows, job.identity.dim));
  writer->append_lengths(fake_lengths(rows));
  RowStats stats;
  stats.tokens = writer->rows_written();
  writer->publish(stats, {.device = "cpu"});
  EXPECT_EQ(read_bytes(path), expected_final(job));
  EXPECT_EQ(read_bytes(offsets_path(path)), expected_offsets(job));
}

TEST(TokenEmbeddings, OtherTypesKeepTheOffsets) {
  const TempDir dir;
  const FakeJob job = token_embeddings_job();
  run_fake_job(dir.path(), job);
  const std::string path = job.final_path(dir.path());
  reformat_final(path, path, {.type = OutputType::kFloat16, .ranges_file = ""}, {});
  EXPECT_EQ(read_bytes(offsets_path(path)), expected_offsets(job));
  EXPECT_EQ(final_state(path, job.identity, true), FinalState::kValid);
}

TEST(TokenEmbeddings, ChunkOfDamagedOffsetsIsEncodedAgain) {
  const TempDir dir;
  const FakeJob job = token_embeddings_job();
  {
    const auto store = open_store(dir.path(), job);
    for (const int64_t index : {0, 1, 2}) commit_chunk(*store, index, job.identity);
  }
  const std::string folder = chunks_dir(dir.path(), job.identity.name);
  std::string bytes = read_bytes(folder + "/chunk_0000.offsets.npy");
  bytes.back() ^= 1;
  write_bytes(folder + "/chunk_0000.offsets.npy", bytes);
  std::filesystem::remove(folder + "/chunk_0002.offsets.npy");
  EXPECT_THAT(run_fake_job(dir.path(), job), ElementsAre(0, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(read_bytes(job.final_path(dir.path())), expected_final(job));
}

TEST(TokenEmbeddings, FinalOfDamagedOffsetsIsDamaged) {
  const TempDir dir;
  const FakeJob job = token_embeddings_job();
  run_fake_job(dir.path(), job);
  const std::string path = job.final_path(dir.path());
  write_bytes(offsets_path(path), read_bytes(offsets_path(path)) + "x");
  EXPECT_EQ(final_state(path, job.identity, true), FinalState::kDamaged);
}

TEST(TokenEmbeddings, NeedTheLengthsOfAllRows) {
  const TempDir dir;
  const FakeJob job = token_embeddings_job();
  const auto store = open_store(dir.path(), job);
  const auto writer = store->begin(0);
  writer->append(fake_vectors({.begin = 0, .end = 4}, job.identity.dim));
  writer->append_lengths(fake_lengths({.begin = 0, .end = 3}));
  EXPECT_EQ(error_of([&] { writer->commit({}, {.device = "cpu"}); }).code.name(), "store.misuse");
}

TEST(Store, ResumeEncodesOnlyWhatIsMissing) {
  const TempDir dir;
  const FakeJob job;
  {
    const auto store = open_store(dir.path(), job);
    commit_chunk(*store, 2, job.identity.dim);
    commit_chunk(*store, 0, job.identity.dim);
    EXPECT_THAT(store->pending(), ElementsAre(1, 3, 4, 5, 6, 7));
  }
  EXPECT_THAT(run_fake_job(dir.path(), job), ElementsAre(1, 3, 4, 5, 6, 7));
  EXPECT_EQ(read_bytes(job.final_path(dir.path())), expected_final(job));
}

TEST(Store, ExistingFolderKeepsItsChunkSize) {
  const TempDir dir;
  FakeJob job;
  commit_chunk(*open_store(dir.path(), job), 0, job.identity.dim);
  job.chunk_rows = 9;
  const auto store = open_store(dir.path(), job);
  EXPECT_EQ(store->chunk_rows(), 4);
  EXPECT_EQ(store->committed().size(), 1U);
}

TEST(Store, UncommittedChunkLeavesNothing) {
  const TempDir dir;
  const FakeJob job;
  const auto store = open_store(dir.path(), job);
  store->begin(0)->append(fake_rows({.begin = 0, .end = 2}, job.identity.dim));
  EXPECT_EQ(store->pending().size(), 8U);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(chunks_dir(dir.path(), job.identity.name))) {
    ++files;
  }
  EXPECT_EQ(files, 2U) << "stream.json and chunks.log";
}

TEST(Store, ForeignFingerprintIsRefusedWithTheFieldsThatDiffer) {
  const TempDir dir;
  FakeJob job;
  job.identity.fingerprint = R"({"model":{"files":{"w":{"sha256":"ab"}}},"normalize":true})";
  commit_chunk(*open_store(dir.path(), job), 0, job.identity.dim);
  FakeJob other = job;
  other.identity.fingerprint = R"({"model":{"files":{"w":{"sha256":"cd"}}},"normalize":true})";
  const ErrorDetail error = error_of([&] { open_store(dir.path(), other); });
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  EXPECT_EQ(error.code.name(), "store.foreign");
  EXPECT_EQ(error.found, "model file 'w': other content than before (the checksum differs)");
  EXPECT_EQ(open_store(dir.path(), job)->committed().size(), 1U) << "the refusal deleted nothing";
}

TEST(Store, FreshDeletesAForeignStreamButNotFilesOfOthers) {
  const TempDir dir;
  FakeJob job;
  commit_chunk(*open_store(dir.path(), job), 0, job.identity.dim);
  const std::string note = dir.write("train_tc_chunks/notes.txt", "mine");
  job.identity.fingerprint = R"({"seed":2})";
  job.open = ChunkStore::Open::kFresh;
  EXPECT_EQ(open_store(dir.path(), job)->pending().size(), 8U);
  EXPECT_EQ(read_bytes(note), "mine");
}

TEST(Store, NonFiniteValueIsRefusedNamingTheRow) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    // The check for NaN works on blocks of 16 values. The columns are inside and after such a
    // block.
    for (const size_t column : {size_t{0}, size_t{15}, size_t{16}, size_t{18}}) {
      const TempDir dir;
      FakeJob job;
      job.identity.dim = 19;
      const auto store = open_store(dir.path(), job);
      const auto writer = store->begin(1);
      std::vector<float> rows = fake_rows(store->chunk(1), job.identity.dim);
      rows[size_t{2} * 19 + column] = bad;
      const ErrorDetail error = error_of([&] { writer->append(rows); });
      EXPECT_EQ(error.code.name(), "store.nonfinite");
      EXPECT_EQ(error.exit_code, ExitCode::kData);
      EXPECT_EQ(error.where, dir.path() + "/train_tc_chunks/chunk_0001.npy: row 6");
      EXPECT_EQ(error.expected, "finite numbers");
      EXPECT_EQ(error.hint,
                "the file was not stored; look at the text of this row and at the weights of the "
                "model, because some number overflows or is not finite");
    }
  }
}

TEST(Store, ExtremeFiniteValuesAreKept) {
  const TempDir dir;
  FakeJob job;
  job.identity.rows = 1;
  const auto store = open_store(dir.path(), job);
  const auto writer = store->begin(0);
  const float largest = std::numeric_limits<float>::max();
  writer->append(
      std::vector<float>{largest, -largest, std::numeric_limits<float>::denorm_min(), -0.0F});
  writer->commit({}, {.device = "cpu"});
  EXPECT_THAT(store->pending(), IsEmpty());
}

TEST(Store, MisuseIsAnErrorAndNoCorruption) {
  const TempDir dir;
  const FakeJob job;
  const auto store = open_store(dir.path(), job);
  const auto code = [](const std::function<void()>& action) {
    return std::string(error_of(action).code.name());
  };
  EXPECT_EQ(code([&] { store->begin(8); }), "store.misuse") << "no such chunk";
  EXPECT_EQ(code([&] { store->begin(0)->append(std::vector<float>(3)); }), "store.misuse")
      << "part of a row";
  EXPECT_EQ(code([&] { store->begin(0)->append(std::vector<float>(20)); }), "store.misuse")
      << "too many rows";
  EXPECT_EQ(code([&] { store->begin(0)->commit({}, {.device = "cpu"}); }), "store.misuse")
      << "rows are missing";
  EXPECT_EQ(code([&] { store->assemble(dir.file("x.npy"), {}, {}); }), "store.misuse")
      << "chunks are missing";
  commit_chunk(*store, 0, job.identity.dim);
  EXPECT_EQ(code([&] { store->begin(0); }), "store.misuse") << "committed already";
}

TEST(Store, StreamNamesCannotLeaveTheCache) {
  for (const std::string name : {"", "../x", "a/b", ".hidden", "a b", "-x"}) {
    EXPECT_EQ(error_of([&] { chunks_dir("cache", name); }).code.name(), "store.stream_name")
        << name;
  }
  EXPECT_EQ(chunks_dir("cache", "train_tc"), "cache/train_tc_chunks");
}

TEST(Store, RemoveDeletesTheFolder) {
  const TempDir dir;
  FakeJob job;
  job.keep_chunks = false;
  run_fake_job(dir.path(), job);
  EXPECT_FALSE(std::filesystem::exists(chunks_dir(dir.path(), job.identity.name)));
  remove_chunks(dir.path(), job.identity.name);  // does nothing if there is no folder
}

TEST(Final, StandardModeWritesTheSameBytes) {
  const TempDir dir;
  const FakeJob job;
  const std::string path = dir.file("out/final.npy");
  const auto writer = begin_final(path, job.identity);
  writer->append(fake_rows({.begin = 0, .end = 30}, job.identity.dim));
  writer->append_truncated(fake_truncated({.begin = 0, .end = 30}));
  EXPECT_FALSE(std::filesystem::exists(path));
  writer->publish(fake_stats({.begin = 0, .end = 30}), {.device = "cpu"});
  EXPECT_EQ(read_bytes(path), expected_final(job));
  EXPECT_EQ(read_bytes(ledger_path(path)), expected_ledger(job));
  EXPECT_EQ(final_state(path, job.identity, true), FinalState::kValid);
}

// An empty list is accepted, because earlier versions wrote one.
TEST(Final, WithoutTruncatedRowsHasNoListAndWithThemNeedsOne) {
  const TempDir dir;
  const FakeJob job;
  const std::string path = dir.file("final.npy");
  const RowRange rows = {.begin = 0, .end = 30};
  for (const bool counted : {false, true}) {
    write_bytes(ledger_path(path), "");
    const auto writer = begin_final(path, job.identity);
    writer->append(fake_rows(rows, job.identity.dim));
    writer->publish(counted ? fake_stats(rows) : RowStats{.tokens = 210}, {.device = "cpu"});
    EXPECT_FALSE(std::filesystem::exists(ledger_path(path))) << "the older list is gone";
    EXPECT_EQ(final_state(path, job.identity, true),
              counted ? FinalState::kDamaged : FinalState::kValid);
  }
}

TEST(Final, StatesAreToldApart) {
  const TempDir dir;
  const FakeJob job;
  const std::string path = job.final_path(dir.path());
  EXPECT_EQ(final_state(path, job.identity, true), FinalState::kAbsent);
  run_fake_job(dir.path(), job);
  StreamIdentity other = job.identity;
  other.fingerprint = R"({"seed":2})";
  EXPECT_EQ(final_state(path, other, true), FinalState::kForeign);
  EXPECT_EQ(explain_foreign(path, other), "seed: cache has 1, this run has 2");

  std::string bytes = read_bytes(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(path, bytes);
  EXPECT_EQ(final_state(path, job.identity, true), FinalState::kDamaged);
  EXPECT_EQ(final_state(path, job.identity, false), FinalState::kValid)
      << "the quick check reads no data";

  std::filesystem::remove(manifest_path(path));
  EXPECT_EQ(final_state(path, job.identity, false), FinalState::kDamaged)
      << "a matrix without its commit mark";
}

}  // namespace
}  // namespace encode::testing
