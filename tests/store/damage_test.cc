// Flips every bit of the files of a store, and truncates the files to every length. The store must
// report the damage, or still publish a final matrix with the right bytes.
#include <filesystem>
#include <fmt/format.h>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "store/fake_job.h"
#include "store/snapshot.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A job of two chunks and one final matrix. The files are so small that every bit can be tried.
class Damage : public ::testing::Test {
 protected:
  Damage() : Damage(FakeJob()) {}

  explicit Damage(const FakeJob& job) : job_(job) {
    job_.identity.rows = 4;
    job_.identity.dim = 2;
    job_.chunk_rows = 2;
    job_.set_aside = {2};  // row 0 is truncated, so each chunk has one kind of ledger
    run_fake_job(cache_, job_);
    folder_ = chunks_dir(cache_, job_.identity.name);
    final_ = job_.final_path(cache_);
    finished_ = take_snapshot(cache_);
    unfinished_ = finished_;
    unfinished_.erase("train_tc_embeddings.npy");
    unfinished_.erase("train_tc_embeddings.npy.manifest.json");
    unfinished_.erase("train_tc_embeddings.truncated.jsonl");
    unfinished_.erase("train_tc_embeddings.set_aside.jsonl");
    unfinished_.erase("train_tc_embeddings.offsets.npy");
  }

  // Resumes the job. Returns the chunks that it encodes again, or nullopt if it refuses to run. If
  // it publishes a final matrix, checks the bytes of the final matrix.
  std::optional<std::vector<int64_t>> resume() {
    try {
      std::vector<int64_t> encoded = run_fake_job(cache_, job_);
      EXPECT_EQ(read_bytes(final_), expected_final(job_));
      EXPECT_EQ(read_bytes(ledger_path(final_)), expected_ledger(job_));
      EXPECT_EQ(read_bytes(set_aside_path(final_)), expected_set_aside(job_));
      return encoded;
    } catch (const Error& error) {
      EXPECT_TRUE(error.exit_code() == ExitCode::kData || error.exit_code() == ExitCode::kConfig)
          << error.what();
      error_ = error.what();
      return std::nullopt;
    }
  }

  // Restores the unfinished job, replaces the file `name` by `content`, and calls `check`.
  template <typename Check>
  void with(const std::string& name, const std::string& content, const Check& check) {
    restore_snapshot(cache_, unfinished_);
    write_bytes(cache_ + "/" + name, content);
    check();
  }

  template <typename Check>
  void with_each_bit_flipped(const std::string& name, const Check& check) {
    std::string bytes = unfinished_.at(name);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      const auto mask = static_cast<char>(1 << (bit % 8));
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
      SCOPED_TRACE(fmt::format("{} bit {}", name, bit));
      with(name, bytes, check);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
    }
  }

  std::string error_;  // of the last resume() that refused to run
  const TempDir dir_;
  const std::string cache_ = dir_.path();
  FakeJob job_;
  std::string folder_;
  std::string final_;
  Snapshot finished_;
  Snapshot unfinished_;
};

constexpr const char* kChunk = "train_tc_chunks/chunk_0001.npy";
constexpr const char* kLog = "train_tc_chunks/chunks.log";
constexpr const char* kStream = "train_tc_chunks/stream.json";
constexpr const char* kTruncated = "train_tc_chunks/chunk_0000.truncated.jsonl";
constexpr const char* kSetAside = "train_tc_chunks/chunk_0001.set_aside.jsonl";
constexpr const char* kOffsets = "train_tc_chunks/chunk_0001.offsets.npy";

TEST_F(Damage, NoneMeansNothingIsEncodedAgain) {
  restore_snapshot(cache_, unfinished_);
  EXPECT_THAT(resume().value(), IsEmpty());
}

TEST_F(Damage, AnyBitOfAChunkCostsThatChunkOnly) {
  with_each_bit_flipped(kChunk, [this] { EXPECT_THAT(resume().value(), ElementsAre(1)); });
}

TEST_F(Damage, AnyBitOfALedgerOfAChunkCostsThatChunkOnly) {
  with_each_bit_flipped(kTruncated, [this] { EXPECT_THAT(resume().value(), ElementsAre(0)); });
  with_each_bit_flipped(kSetAside, [this] { EXPECT_THAT(resume().value(), ElementsAre(1)); });
}

TEST_F(Damage, AnyBitOfTheLogCostsTheRecordsItTouches) {
  with_each_bit_flipped(kLog, [this] {
    const size_t encoded = resume().value().size();
    EXPECT_GE(encoded, 1U);
    EXPECT_LE(encoded, 2U) << "a newline belongs to two records";
  });
}

TEST_F(Damage, AnyBitOfTheStreamFileIsRepairedFromTheRecords) {
  with_each_bit_flipped(kStream, [this] { EXPECT_THAT(resume().value(), IsEmpty()); });
}

TEST_F(Damage, StreamFileIsNotRepairedForAnotherRun) {
  job_.identity.fingerprint = R"({"seed":2})";
  with(kStream, "{}", [this] {
    EXPECT_EQ(resume(), std::nullopt);
    EXPECT_THAT(error_, ::testing::HasSubstr("--fresh"));
  });
}

TEST_F(Damage, CutAtAnyLengthOrWithBytesAdded) {
  for (const char* name : {kChunk, kLog, kStream, kTruncated, kSetAside}) {
    const std::string whole = unfinished_.at(name);
    for (size_t size = 0; size < whole.size(); ++size) {
      SCOPED_TRACE(fmt::format("{} cut to {}", name, size));
      with(name, whole.substr(0, size), [this] { EXPECT_TRUE(resume().has_value()); });
    }
    for (size_t added = 1; added <= 16; ++added) {
      SCOPED_TRACE(fmt::format("{} longer by {}", name, added));
      with(name, whole + std::string(added, '\0'), [this] { EXPECT_TRUE(resume().has_value()); });
    }
  }
}

TEST_F(Damage, TornLastLogLineCostsThatChunkOnly) {
  const std::string whole = unfinished_.at(kLog);
  with(kLog, whole.substr(0, whole.size() - 1),
       [this] { EXPECT_THAT(resume().value(), ElementsAre(1)); });
}

TEST_F(Damage, SwappedChunksAreBothEncodedAgain) {
  restore_snapshot(cache_, unfinished_);
  write_bytes(cache_ + "/train_tc_chunks/chunk_0000.npy", unfinished_.at(kChunk));
  write_bytes(cache_ + "/" + kChunk, unfinished_.at("train_tc_chunks/chunk_0000.npy"));
  EXPECT_THAT(resume().value(), ElementsAre(0, 1));
}

TEST_F(Damage, RecordsOfAnotherStreamAreNotUsedEvenWithTheirChunks) {
  const TempDir other;
  FakeJob other_job = job_;
  other_job.identity.fingerprint = R"({"seed":2})";
  run_fake_job(other.path(), other_job);
  Snapshot mixed = take_snapshot(other.path());
  mixed.erase("train_tc_embeddings.npy");
  mixed.erase("train_tc_embeddings.npy.manifest.json");
  mixed[kStream] = unfinished_.at(kStream);
  restore_snapshot(cache_, mixed);
  EXPECT_THAT(resume().value(), ElementsAre(0, 1));
}

TEST_F(Damage, AnyFileDeleted) {
  for (const auto& [name, content] : finished_) {
    SCOPED_TRACE(name);
    restore_snapshot(cache_, finished_);
    std::filesystem::remove(cache_ + "/" + name);
    EXPECT_TRUE(resume().has_value());
    EXPECT_EQ(final_state(final_, job_.identity, true), FinalState::kValid);
  }
}

TEST_F(Damage, DroppedThingsAreToldInWords) {
  std::string bytes = unfinished_.at(kChunk);
  bytes[130] = static_cast<char>(bytes[130] ^ 1);
  with(kChunk, bytes, [this] {
    const auto store = ChunkStore::open(cache_, job_.identity, job_.chunk_rows, job_.open);
    ASSERT_EQ(store->dropped().size(), 3U) << "the record, the chunk and its ledger";
    EXPECT_EQ(
        store->dropped()[0],
        folder_ +
            "/chunk_0001.npy: its checksum is not the one in its record; it will be encoded again");
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/chunk_0001.npy"));
  });
}

TEST_F(Damage, ChunkDamagedAfterOpenIsFoundByAssembly) {
  restore_snapshot(cache_, unfinished_);
  const auto store = ChunkStore::open(cache_, job_.identity, job_.chunk_rows, job_.open);
  std::string bytes = unfinished_.at(kChunk);
  bytes[130] = static_cast<char>(bytes[130] ^ 1);
  write_bytes(cache_ + "/" + kChunk, bytes);
  EXPECT_THROW(store->assemble(final_, {}, {}), Error);
  EXPECT_FALSE(std::filesystem::exists(final_));
}

// Damages the final matrix and the files beside it. None of them may pass as valid.
void expect_each_damage_is_seen(const std::string& final_path, const FakeJob& job,
                                const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const std::string whole = read_bytes(path);
    ASSERT_FALSE(whole.empty()) << path;
    std::string bytes = whole;
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] = static_cast<char>(whole[bit / 8] ^ static_cast<char>(1 << (bit % 8)));
      write_bytes(path, bytes);
      EXPECT_NE(final_state(final_path, job.identity, true), FinalState::kValid)
          << path << " bit " << bit;
      bytes[bit / 8] = whole[bit / 8];
    }
    for (size_t size = 0; size < whole.size(); ++size) {
      write_bytes(path, whole.substr(0, size));
      EXPECT_NE(final_state(final_path, job.identity, true), FinalState::kValid)
          << path << " cut to " << size;
    }
    write_bytes(path, whole);
    EXPECT_EQ(final_state(final_path, job.identity, true), FinalState::kValid);
  }
}

TEST_F(Damage, AnyBitOfAFinalOrAFileBesideItMakesItInvalid) {
  expect_each_damage_is_seen(
      final_, job_, {final_, manifest_path(final_), ledger_path(final_), set_aside_path(final_)});
}

class DamageOfTokens : public Damage {
 protected:
  DamageOfTokens() : Damage(token_embeddings_job()) {}
};

TEST_F(DamageOfTokens, AnyBitOfTheOffsetsIsFound) {
  expect_each_damage_is_seen(final_, job_, {offsets_path(final_)});
  with_each_bit_flipped(kOffsets, [this] { EXPECT_THAT(resume().value(), ElementsAre(1)); });
}

class DamageOfPassages : public Damage {
 protected:
  DamageOfPassages() : Damage(passages_job()) {}
};

TEST_F(DamageOfPassages, AnyBitOfTheirPlacesIsFound) {
  expect_each_damage_is_seen(final_, job_, {passages_path(final_)});
  with_each_bit_flipped("train_tc_chunks/chunk_0001.passages.npy",
                        [this] { EXPECT_THAT(resume().value(), ElementsAre(1)); });
}

// A user may keep chunks on another disk with a link. The link stays, because the store did not
// make it.
TEST(ChunkFolder, MayBeALink) {
  const TempDir dir;
  const std::string cache = dir.file("cache");
  FakeJob job;
  job.keep_chunks = false;
  std::filesystem::create_directories(dir.file("elsewhere"));
  std::filesystem::create_directories(cache);
  const std::string link = chunks_dir(cache, job.identity.name);
  std::filesystem::create_symlink(dir.file("elsewhere"), link);
  run_fake_job(cache, job);
  EXPECT_EQ(read_bytes(job.final_path(cache)), expected_final(job));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_empty(dir.file("elsewhere")));
}

}  // namespace
}  // namespace encode::testing
