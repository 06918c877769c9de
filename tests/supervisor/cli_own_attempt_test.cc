// Tests runs that work in an attempt of their own.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/program.h"
#include "supervisor/shared_cache.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(OwnAttempt, PublishesTheFilesOfALocalRunAndLeavesNoOther) {
  const ProgramEnd end = run();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("is on FUSE, so this run works in a directory of its own"));
  ASSERT_EQ(run_locally().exit_code, 0);
  const Files files = matrices(cache());
  EXPECT_EQ(files.size(), 6U);
  EXPECT_EQ(files, matrices(dir_.file("local/cache")));
  EXPECT_EQ(names_in(cache()), names_in(dir_.file("local/cache")));
  EXPECT_EQ(verified(), 0);
}

TEST_F(OwnAttempt, ASecondRunFindsEverythingComplete) {
  ASSERT_EQ(run().exit_code, 0);
  const Files before = matrices(cache());
  const int64_t encoded_before = encoded();
  const ProgramEnd again = run();
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("already complete"));
  EXPECT_EQ(encoded(), encoded_before);
  EXPECT_EQ(matrices(cache()), before);
  EXPECT_THAT(attempts(), IsEmpty());
}

TEST_F(OwnAttempt, GoesOnAfterAFailureWithWhatWasCommitted) {
  ASSERT_EQ(run(0, {{"FAKE_WORKER", "69:2:1"}}).exit_code, 69);
  const int64_t before = encoded();
  EXPECT_GT(before, 0);
  EXPECT_EQ(attempts().size(), 1U);
  const ProgramEnd status = encode(words("status"), {});
  EXPECT_THAT(status.out, HasSubstr("failed")) << status.err;
  EXPECT_THAT(status.out, HasSubstr("2 of 4"));
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(encoded(), 8) << "4 chunks of each of two streams, each once";
  EXPECT_THAT(attempts(), IsEmpty());
}

TEST_F(OwnAttempt, GoesOnWithTheChunksOfAnOlderRunInTheCacheDirectory) {
  const ProgramEnd local = encode(words("run"), {{"FAKE_WORKER_RECORDS", dir_.file("records")},
                                                 {"FAKE_WORKER_SHIFT", "0"},
                                                 {"FAKE_WORKER", "69:2:1"}});
  ASSERT_EQ(local.exit_code, 69);
  const ProgramEnd end = run();
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(encoded(), 8);
  EXPECT_EQ(verified(), 0);
  EXPECT_FALSE(fs::exists(cache("train_tc_chunks"))) << "as a run in the cache directory does";
}

TEST_F(OwnAttempt, TakesOverTheChunksOfAnAttemptThatMayBeAlive) {
  ASSERT_EQ(run(0, {{"FAKE_WORKER", "69:2:1"}}).exit_code, 69);
  dir_.write(fs::relative(attempts().front() + "/LOCK", dir_.path()).string(),
             R"({"pid":1,"token":"0123456789abcdef","host":"node7","started":""})");
  std::string damaged = read_bytes(attempts().front() + "/train_tc_chunks/chunk_0000.npy");
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  write_bytes(attempts().front() + "/train_tc_chunks/chunk_0000.npy", damaged);
  const ProgramEnd end = run();
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(encoded(), 9) << "the damaged chunk twice";
  EXPECT_EQ(verified(), 0);
}

TEST_F(OwnAttempt, KeepsTheChunksThatTheUserWants) {
  ASSERT_EQ(run(0, {}, {"--keep-chunks"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(cache("train_tc_chunks/chunks.log")));
  EXPECT_THAT(attempts(), IsEmpty());
  EXPECT_EQ(verified(), 0);
  const int64_t before = encoded();
  fs::remove(cache("train_tc_embeddings.npy"));
  fs::remove(cache("train_tc_embeddings.npy.manifest.json"));
  EXPECT_EQ(run(0, {}, {"--keep-chunks"}).exit_code, 0);
  EXPECT_EQ(encoded(), before) << "made again from the chunks";
  EXPECT_EQ(verified(), 0);
}

TEST_F(OwnAttempt, RetriesRowsThatFailed) {
  const std::vector<std::string> zeros = {"--quarantine", "zeros"};
  ASSERT_EQ(run(0, {{"FAKE_WORKER_ROW", "1"}}, zeros).exit_code, 0);
  EXPECT_TRUE(fs::exists(cache("train_tc_chunks/chunk_0001.set_aside.jsonl")));
  const ProgramEnd end = encode(words("retry-failed", zeros), environment(0));
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(verified(), 0) << "every row has a vector";
  EXPECT_EQ(encoded(), 10) << "one chunk of each stream again";
  EXPECT_FALSE(fs::exists(cache("train_tc_embeddings.set_aside.jsonl")));
}

TEST_F(OwnAttempt, IsUsedWhereTheFileSystemHasNoLocks) {
  for (const char* const error : {"37", "38"}) {  // ENOLCK, ENOSYS
    const ProgramEnd end = run(0, {{"FAULT_FILE_SYSTEM", "0"},
                                   {"FAULT_DROP_LOCKS", "0"},
                                   {"FAULT_MODE", "errno"},
                                   {"FAULT_CALL", "lock"},
                                   {"FAULT_ERRNO", error}});
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_THAT(end.err, HasSubstr("has no locks, so this run works in a directory of its own"));
    EXPECT_EQ(verified(), 0);
    fs::remove_all(cache());
  }
}

TEST_F(OwnAttempt, NeedsNoHardLinks) {
  const Environment no_links = {
      {"FAULT_MODE", "errno"}, {"FAULT_CALL", "link"}, {"FAULT_ERRNO", "1"}};
  ASSERT_EQ(run(0, {{"FAKE_WORKER", "69:2:1"}}).exit_code, 69);
  fs::remove(attempts().front() + "/status.json");  // so it may be alive
  const ProgramEnd end = run(0, no_links);
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(encoded(), 8);
  EXPECT_EQ(verified(), 0);
  EXPECT_EQ(run(1, no_links, {"--fresh"}).exit_code, 0);
  EXPECT_EQ(verified(), 0);
}

TEST_F(OwnAttempt, RefusesWhatALocalRunRefuses) {
  ASSERT_EQ(run().exit_code, 0);
  const Files before = matrices(cache());
  const ProgramEnd other = run(0, {}, {"--max-length", "16"});
  EXPECT_EQ(other.exit_code, 78);
  EXPECT_THAT(other.err, HasSubstr("run.foreign_final"));
  dir_.write("shared/cache/job.json", "another file");
  EXPECT_EQ(run().exit_code, 73);
  fs::remove(cache("job.json"));
  fs::remove(cache("train_tc_embeddings.npy.manifest.json"));
  dir_.write("shared/cache/train_tc_embeddings.npy", "another file");
  EXPECT_EQ(run().exit_code, 73);
  EXPECT_THAT(attempts(), IsEmpty()) << "nothing was encoded";
  EXPECT_EQ(matrices(cache()).at("train_commit_embeddings.npy"),
            before.at("train_commit_embeddings.npy"));
}

TEST_F(OwnAttempt, WithAnOutputLeavesWhatALocalRunLeaves) {
  fs::create_directories(dir_.file("shared/out"));
  const std::vector<std::string> flags =
      run_words(dir_.file("texts.jsonl"), dir_.file("shared/out/x.npy"), {"--chunk-size", "2"});
  EXPECT_EQ(encode(flags, environment(0, {{"FAKE_WORKER", "69:2:1"}})).exit_code, 69);
  EXPECT_EQ(encode({"status", dir_.file("shared/out/x.npy")}, {}).exit_code, 0);
  const ProgramEnd end = encode(flags, environment(0));
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr(dir_.file("shared/out/x.npy")));
  EXPECT_EQ(encoded(), 4);
  EXPECT_THAT(names_in(dir_.file("shared/out")),
              ::testing::ElementsAre(".x.npy.run.json", "x.npy", "x.npy.manifest.json"));
  EXPECT_EQ(encode({"verify", dir_.file("shared/out/x.npy")}, {}).exit_code, 0);
}

}  // namespace
}  // namespace encode::testing
