// Tests whole runs with the fake worker: the matrices, the log, the summary and the resume.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "base/json.h"
#include "base/npy.h"
#include "run_record/memory_log.h"
#include "run_record/summary.h"
#include "supervisor/experiment.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

bool exists(const std::string& path) { return std::filesystem::exists(path); }

TEST(Run, MakesEveryFinalAndTheCombinedMatrix) {
  Experiment experiment;
  experiment.config.combine = {{.split = "train", .streams = {"tc", "commit"}}};
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
  const NpyHeader tc = read_npy_header(experiment.tc());
  EXPECT_EQ(tc.rows, Experiment::kRows);
  EXPECT_EQ(tc.cols, Experiment::kDim);
  EXPECT_EQ(read_npy_header(experiment.cache("train_combined_embeddings.npy")).cols,
            2 * Experiment::kDim);
  EXPECT_NE(experiment.read(experiment.tc()), experiment.read(experiment.commit()));
  EXPECT_FALSE(exists(experiment.cache("train_tc_chunks")))
      << "chunks are deleted after the final is published";
}

// The charts of encode report begin with the first sample and end with the last one.
TEST(Run, AShortRunHasSamplesOfItsBeginningAndItsEnd) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  const MemoryHistory history = read_memory(experiment.cache("memory.jsonl"));
  ASSERT_GE(history.samples.size(), 2U);
  EXPECT_EQ(history.samples.front().tokens, 0);
  EXPECT_EQ(history.samples.back().tokens, 2 * Experiment::kRows);
}

// 17 tokens of 20 are kept.
TEST(Run, SaysWhatTruncationHasLost) {
  Experiment experiment;
  experiment.config.log.level = "warning";
  const RunResult result = experiment.run("cut:1:1");
  EXPECT_THAT(result.log, HasSubstr("warning: train_tc: 1 of 17 rows (5.9 %) is longer than"));
  EXPECT_THAT(result.log, HasSubstr("the cut loses 15.0 % of all tokens"));
  EXPECT_THAT(result.log, HasSubstr("divide long texts into several rows"));
  EXPECT_THAT(result.log, Not(HasSubstr("train_commit: 0 of")));
  EXPECT_THAT(Experiment().run().log, Not(HasSubstr("the cut loses")));
}

// The log tells how far the run is, and where its files are.
TEST(Run, LogTellsWhereItIs) {
  Experiment experiment;
  experiment.config.combine = {{.split = "train", .streams = {"tc", "commit"}}};
  const RunResult result = experiment.run();
  const std::vector<std::string> texts = {
      "==== train_tc: 17 rows",
      "(4 chunks)",
      "chunk 3/4 (samples 10-15)",
      "saved to " + experiment.cache("train_tc_chunks/chunk_0002.npy"),
      "saved to " + experiment.tc(),
      "embedding dimension 64",
      "combined dimension 128",
      "mode: chunked",
      "host memory "};
  for (const std::string& text : texts)
    EXPECT_THAT(experiment.read(experiment.cache("encode.log")), HasSubstr(text));
  for (const char* text : {"==== train_tc: 17 rows", "embedding dimension 64"})
    EXPECT_THAT(result.log, HasSubstr(text));
  EXPECT_THAT(result.log, Not(HasSubstr("chunk_0002"))) << "a line for each chunk is too much";
  EXPECT_THAT(result.out, HasSubstr("no row was lost: rows read = written + rejected\n"));
  EXPECT_THAT(result.log, Not(HasSubstr("\x1b"))) << "no control sequences without a terminal";
}

TEST(Run, JsonLinesAreAllThatJsonModePrints) {
  Experiment experiment;
  experiment.config.log.json = true;
  const RunResult result = experiment.run();
  EXPECT_THAT(result.log, IsEmpty());
  std::vector<std::string> events;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);)
    events.push_back(Json::parse(line).at("event"));
  EXPECT_THAT(events,
              ::testing::IsSupersetOf({"run_started", "chunk_done", "stream_done", "summary"}));
}

TEST(Run, SecondRunSkipsWhatIsDone) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  EXPECT_EQ(experiment.take_encoded_chunks().size(), 8U);
  const RunResult second = experiment.run();
  EXPECT_EQ(second.exit_code, ExitCode::kOk);
  EXPECT_THAT(second.log, HasSubstr("already done"));
  EXPECT_THAT(experiment.take_encoded_chunks(), IsEmpty());
}

TEST(Run, GoesOnAfterTheLastCommittedChunk) {
  Experiment experiment;
  EXPECT_EQ(experiment.run("69:2:1").exit_code, ExitCode::kUnavailable);
  EXPECT_THAT(experiment.take_encoded_chunks(), ElementsAre(0, 1));
  const RunResult second = experiment.run();
  EXPECT_THAT(second.log, HasSubstr("train_tc: 2 of 4 chunks are committed"));
  EXPECT_THAT(experiment.take_encoded_chunks(), ElementsAre(2, 3, 0, 1, 2, 3));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

TEST(Run, BytesDoNotDependOnTheMode) {
  for (const int64_t chunk_size : {0, 1, 7, 1000}) {
    Experiment experiment;
    experiment.config.store.chunk_size = chunk_size;
    ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
    EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc()) << "chunk size " << chunk_size;
  }
  Experiment standard;
  standard.config.store.use_chunked_encoding = false;
  EXPECT_EQ(standard.run().exit_code, ExitCode::kOk);
  EXPECT_EQ(standard.read(standard.tc()), undisturbed_tc());
  EXPECT_FALSE(exists(standard.cache("train_tc_chunks")));
}

TEST(Run, WithoutAChunkSizeTheNumberOfRowsDecides) {
  Experiment experiment;
  experiment.config.store.chunk_size = 0;
  experiment.write_input("tc", 1020, "tc");
  const RunResult result = experiment.run();
  EXPECT_THAT(result.log, HasSubstr("train_tc: starting from scratch, 20 chunks of 51 rows"));
  EXPECT_THAT(result.log, HasSubstr("train_commit: starting from scratch, 1 chunk of 50 rows"));
  EXPECT_EQ(experiment.take_encoded_chunks().size(), 21U);
}

// Versions up to 0.1 wrote chunks of 1,000 rows for every stream.
TEST(Run, AResumedStreamKeepsItsChunksWhateverTheDefaultIsNow) {
  Experiment experiment;
  experiment.write_input("tc", 2500, "tc");
  experiment.config.store.chunk_size = 1000;
  EXPECT_EQ(experiment.run("69:2:1").exit_code, ExitCode::kUnavailable);
  EXPECT_THAT(experiment.take_encoded_chunks(), ElementsAre(0, 1));
  experiment.config.store.chunk_size = 0;
  const RunResult second = experiment.run();
  EXPECT_THAT(second.log, HasSubstr("train_tc: 2 of 3 chunks are committed, continuing with the "
                                    "rest (chunks keep their earlier size of 1,000 rows)"));
  EXPECT_THAT(experiment.take_encoded_chunks(), ElementsAre(2, 0));
}

TEST(Run, ChoosesTheSizeOfChunksAndSaysWhy) {
  Experiment experiment;
  experiment.config.store.chunk_size = kAutoChunkRows;
  const RunResult result = experiment.run();
  EXPECT_EQ(result.exit_code, ExitCode::kOk);
  EXPECT_THAT(result.log, HasSubstr("rows (chunk_size auto: about "));
  EXPECT_THAT(result.log, ::testing::ContainsRegex("on [0-9]+ CPU threads?; a commit takes "));
  EXPECT_FALSE(exists(experiment.cache("commit_probe")));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

TEST(Run, AResumedStreamKeepsItsChunksWhateverAutoWouldChoose) {
  Experiment experiment;
  EXPECT_EQ(experiment.run("69:2:1").exit_code, ExitCode::kUnavailable);
  experiment.config.store.chunk_size = kAutoChunkRows;
  experiment.take_encoded_chunks();
  const RunResult second = experiment.run();
  EXPECT_THAT(second.log, HasSubstr("(chunks keep their earlier size of 5 rows)"));
  EXPECT_THAT(experiment.take_encoded_chunks(), ::testing::IsSupersetOf({2, 3}));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

TEST(Run, AForeignFileWithTheNameOfTheProbeIsKept) {
  Experiment experiment;
  experiment.config.store.chunk_size = kAutoChunkRows;
  const std::string mine = experiment.dir().write("cache/commit_probe", "mine");
  EXPECT_EQ(experiment.run().error.code.name(), "output.exists");
  EXPECT_EQ(experiment.read(mine), "mine");
}

TEST(Run, AutomaticBatchesAreNumbersBeforeAWorkerStarts) {
  Experiment experiment;
  for (StreamConfig& stream : experiment.config.streams)
    stream.auto_batch = {.size = true, .tokens = true};
  const RunResult result = experiment.run();
  EXPECT_EQ(result.exit_code, ExitCode::kOk);
  EXPECT_THAT(result.log, HasSubstr("train_tc: batches: auto, as large as"));
  const std::string job = experiment.read(experiment.cache("job.json"));
  EXPECT_THAT(job, HasSubstr("\"batch_size\":0,\"batch_tokens\":0"));
}

TEST(Run, APaddingPolicyOnlyLogsANote) {
  Experiment experiment;
  experiment.config.padding = PaddingPolicy::kMaxLength;
  EXPECT_THAT(experiment.run().log, HasSubstr("padding: max_length is accepted"));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

TEST(Run, WarnsOfARetiredKeyAndDoesNothingElse) {
  Experiment experiment;
  experiment.config.retired_keys = {"a.yaml:3:2: hardware.product_search has no effect any more"};
  EXPECT_THAT(experiment.run().log, HasSubstr("warning: a.yaml:3:2: hardware.product_search has"));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

TEST(Run, KeepsChunksWhereAsked) {
  Experiment experiment;
  experiment.config.store.keep_chunk_cache = true;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  EXPECT_TRUE(exists(experiment.cache("train_tc_chunks/chunk_0003.npy")));
  EXPECT_TRUE(exists(experiment.cache("train_commit_chunks/chunk_0003.npy")));
}

TEST(Run, ChangedInputIsRefusedUntilFresh) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  experiment.write_input("tc", Experiment::kRows, "changed");
  const RunResult refused = experiment.run();
  EXPECT_EQ(refused.exit_code, ExitCode::kConfig);
  EXPECT_EQ(refused.error.code.name(), "run.foreign_final");
  EXPECT_THAT(refused.error.found, HasSubstr("input: other content"))
      << "it names the field that differs";
  EXPECT_THAT(refused.error.hint, HasSubstr("give this run another --cache-dir DIR; --fresh"))
      << "a run with several streams takes no --output";
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc()) << "no file was changed";

  experiment.config.store.fresh = true;
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
  EXPECT_NE(experiment.read(experiment.tc()), undisturbed_tc());
}

TEST(Run, ChunksOfAnotherRunAreRefusedUntilFresh) {
  Experiment experiment;
  ASSERT_EQ(experiment.run("69:2:1").exit_code, ExitCode::kUnavailable);
  experiment.config.streams[0].result.max_length = 12;
  const RunResult refused = experiment.run();
  EXPECT_EQ(refused.exit_code, ExitCode::kConfig);
  EXPECT_THAT(refused.error.found + refused.error.what, HasSubstr("max_length"));
  experiment.config.store.fresh = true;
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
}

TEST(Run, SpeedSettingsDoNotMakeARunForeign) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  experiment.config.streams[0].speed = {.batch_size = 3, .batch_tokens = 99, .threads = 1};
  experiment.config.store.chunk_size = 11;
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
}

TEST(Run, ModelMovedElsewhereIsTheSameModel) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  const std::string moved = experiment.dir().file("moved_model");
  std::filesystem::copy(test_data("models/bert"), moved);
  for (StreamConfig& stream : experiment.config.streams) stream.result.model = moved;
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
  std::string config = read_bytes(moved + "/config.json");
  write_bytes(moved + "/config.json", config.replace(config.find("1e-12"), 5, "1e-11"));
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kConfig) << "one byte of the model has changed";
}

TEST(Run, RejectedRowsAreListedAndCounted) {
  Experiment experiment;
  experiment.config.streams.resize(1);
  experiment.config.streams[0].input.bad_row = BadRowPolicy::kReject;
  experiment.dir().write("tc.jsonl",
                         "{\"text\":\"a\"}\nnot json\n{\"text\":\"b\"}\n{\"other\":1}\n");
  experiment.config.log.json = true;
  const RunResult result = experiment.run();
  EXPECT_EQ(read_npy_header(experiment.tc()).rows, 2);
  std::istringstream lines(experiment.read(experiment.cache("train_tc.rejected.jsonl")));
  std::vector<int64_t> numbers;
  for (std::string line; std::getline(lines, line);)
    numbers.push_back(Json::parse(line).at("line"));
  EXPECT_THAT(numbers, ElementsAre(2, 4));
  EXPECT_THAT(result.out, HasSubstr(R"("rejected":2,"rows":2,"rows_in":4)"));
}

TEST(Run, StreamsOfOneCombinedMatrixMustHaveEqualRows) {
  Experiment experiment;
  experiment.config.combine = {{.split = "train", .streams = {"tc", "commit"}}};
  experiment.write_input("commit", Experiment::kRows - 1, "commit");
  const RunResult result = experiment.run();
  EXPECT_EQ(result.exit_code, ExitCode::kData);
  EXPECT_EQ(result.error.code.name(), "combine.rows");
  EXPECT_THAT(experiment.take_encoded_chunks(), IsEmpty())
      << "the run must end before it encodes a row";
}

TEST(Run, InputWithoutRowsGivesAMatrixWithoutRows) {
  for (const bool chunked : {true, false}) {
    Experiment experiment;
    experiment.config.store.use_chunked_encoding = chunked;
    experiment.write_input("tc", 0, "");
    EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
    EXPECT_EQ(read_npy_header(experiment.tc()).rows, 0);
  }
}

TEST(Run, StatusFileSaysHowItEnded) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  EXPECT_EQ(Json::parse(experiment.read(experiment.cache("status.json"))).at("state"), "done");
  experiment.config.store.fresh = true;
  ASSERT_EQ(experiment.run("69:2:1").exit_code, ExitCode::kUnavailable);
  const Json status = Json::parse(experiment.read(experiment.cache("status.json")));
  EXPECT_EQ(status.at("state"), "failed");
  EXPECT_EQ(status.at("exit_code"), 69);
}

TEST(Summary, HasATableInPlainWordsThatFitsATerminal) {
  RunSummary summary;
  summary.host_memory = "host memory 7.1% (23.5 GB available)";
  summary.matrices = {{.name = "a_stream",
                       .path = "x.npy",
                       .rows_in = 50'621,
                       .rows = 50'621,
                       .dim = 384,
                       .tokens = 8'130'217,
                       .truncation = {},
                       .tokens_per_second = 4200}};
  const std::string text = render(summary);
  EXPECT_EQ(text,
            "stream    rows read  rejected  written  dim     tokens  truncated  tokens/s\n"
            "a_stream     50,621         0   50,621  384  8,130,217          0      4.2k\n"
            "no row was lost: rows read = written + rejected\n"
            "a_stream: x.npy\n"
            "time 0.00 s, peak memory 0 B, host memory 7.1% (23.5 GB available)\n");
  summary.chunked = false;
  EXPECT_THAT(render(summary), HasSubstr("time 0.00 s in one pass, without chunks, peak"));
}

TEST(Summary, RowsThatDoNotAddUpAreAnError) {
  RunSummary summary;
  summary.matrices.resize(1);
  summary.matrices[0].rows_in = 10;
  summary.matrices[0].rows = 8;
  summary.matrices[0].rejected = 2;
  EXPECT_NO_THROW(check_rows(summary));
  summary.matrices[0].rejected = 1;
  EXPECT_THROW(check_rows(summary), Error);
}

}  // namespace
}  // namespace encode::testing
