// Tests that chunks and final matrices are never used again if any field of their fingerprint
// differs. fingerprint_test.cc checks that the fingerprint has every field that can change a
// vector.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/json.h"
#include "store/fake_job.h"
#include "store/fingerprint/fingerprint.h"
#include "store/sealed_json.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

// A fingerprint in which every field has a value.
Fingerprint whole_fingerprint() {
  Fingerprint fingerprint;
  fingerprint.input.path = "texts.jsonl";
  fingerprint.input.field = "text";
  fingerprint.input_files.push_back(
      {.path = "texts.jsonl", .bytes = 10, .sha256 = std::string(64, 'a')});
  fingerprint.model_files = {{.name = "config.json", .bytes = 2, .sha256 = "cc"}};
  fingerprint.result.pooling = {PoolingMode::kMean};
  fingerprint.result.truncate_dim = 4;
  fingerprint.result.modules.resize(1);
  fingerprint.result.modules[0].pooling = {PoolingMode::kMean};
  fingerprint.result.max_length = 256;
  fingerprint.result.prompt = "query: ";
  fingerprint.result.causal = true;
  fingerprint.result.dim = 4;
  return fingerprint;
}

Json changed(const Json& leaf) {
  if (leaf.is_string()) return leaf.get<std::string>() + "x";
  if (leaf.is_boolean()) return !leaf.get<bool>();
  if (leaf.is_number()) return leaf.get<double>() + 1;
  return 1;
}

TEST(Stale, NothingIsUsedAgainIfAnyFieldOfTheFingerprintDiffers) {
  const TempDir dir;
  FakeJob job;
  job.identity.fingerprint = to_text(whole_fingerprint());
  run_fake_job(dir.path(), job);
  const Json fields = Json::parse(job.identity.fingerprint).flatten();
  EXPECT_GT(fields.size(), 30U);
  for (const auto& [key, value] : fields.items()) {
    SCOPED_TRACE(key);
    Json other = fields;
    other[key] = changed(value);
    FakeJob stale = job;
    stale.identity.fingerprint = other.unflatten().dump();
    ASSERT_NE(stale.identity.fingerprint, job.identity.fingerprint);
    EXPECT_EQ(final_state(job.final_path(dir.path()), stale.identity, true), FinalState::kForeign);
    try {
      ChunkStore::open(dir.path(), stale.identity, job.chunk_rows, ChunkStore::Open::kResume);
      ADD_FAILURE() << "the chunks were used again";
    } catch (const Error& error) {
      EXPECT_EQ(error.detail().code.name(), "store.foreign");
      EXPECT_EQ(error.exit_code(), ExitCode::kConfig);
      EXPECT_FALSE(error.detail().found.empty());
    }
  }
  // The control: the final matrix of the job itself is valid.
  EXPECT_EQ(final_state(job.final_path(dir.path()), job.identity, true), FinalState::kValid);
  std::filesystem::remove(job.final_path(dir.path()));
  EXPECT_TRUE(run_fake_job(dir.path(), job).empty());
}

// A later version may use the files in another way, which this version would misread.
TEST(Stale, FilesOfALaterFormatAreRefused) {
  const TempDir dir;
  const FakeJob job;
  run_fake_job(dir.path(), job);
  const std::string final_path = job.final_path(dir.path());
  const std::string stream = chunks_dir(dir.path(), job.identity.name) + "/stream.json";
  for (const std::string& path : {manifest_path(final_path), stream}) {
    Json document = Json::parse(read_bytes(path));
    document.erase("checksum");
    document["format"] = 99;
    write_bytes(path, seal(document) + "\n");
  }
  const auto code_of = [](const auto& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kConfig);
      return std::string(error.detail().code.name());
    }
    return std::string("no error");
  };
  EXPECT_EQ(code_of([&] { read_manifest(final_path); }), "store.format");
  EXPECT_EQ(code_of([&] {
              ChunkStore::open(dir.path(), job.identity, job.chunk_rows, ChunkStore::Open::kResume);
            }),
            "store.format");
}

std::unique_ptr<ChunkStore> reopened(const TempDir& dir, const FakeJob& job) {
  return ChunkStore::open(dir.path(), job.identity, job.chunk_rows, ChunkStore::Open::kResume);
}

// A run that was stopped before its first chunk leaves stream.json and an empty log.
TEST(Stale, AFolderWithoutChunksIsTakenOverFromAnotherStream) {
  const TempDir dir;
  FakeJob job;
  reopened(dir, job);
  job.identity.fingerprint = R"({"seed":2})";
  const auto store = reopened(dir, job);
  commit_chunk(*store, 0, job.identity.dim);
  EXPECT_EQ(reopened(dir, job)->committed().size(), 1U);
}

TEST(Stale, AForeignFolderThatMayHoldChunksIsRefused) {
  const std::string folder = "train_tc_chunks/";
  const std::vector<std::pair<std::string, std::string>> leavings = {
      {"chunk_0000.npy", "rows without a record: the log may be lost"},
      {"chunks.log", "a line that cannot be read\n"},
  };
  for (const auto& [name, content] : leavings) {
    SCOPED_TRACE(name);
    const TempDir dir;
    FakeJob job;
    reopened(dir, job);
    dir.write(folder + name, content);
    job.identity.fingerprint = R"({"seed":2})";
    try {
      reopened(dir, job);
      ADD_FAILURE() << "chunks of another stream may be lost";
    } catch (const Error& error) {
      EXPECT_EQ(error.detail().code.name(), "store.foreign");
    }
    EXPECT_EQ(read_bytes(dir.file(folder + name)), content);
  }
}

}  // namespace
}  // namespace encode::testing
