// Tests what a run with --output leaves on the disk, and that nothing is lost if it is killed while
// it removes its cache directory.
#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "supervisor/leavings.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(Leavings, OfAFinishedRunAreTheMatrixItsFilesAndARecord) {
  const ProgramEnd end = run();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(left(), usual());
  EXPECT_LT(fs::file_size(dir_.file("out/.x.npy.run.json")), 64U << 10);
}

// A list of rows is there only if it has rows, and a later result without such rows has none.
TEST_F(Leavings, AListOfTruncatedRowsIsThereOnlyIfARowWasCut) {
  ASSERT_EQ(run({}, {{"FAKE_WORKER", "cut:0:1"}}).exit_code, 0);
  const std::string list = dir_.file("out/x.truncated.jsonl");
  EXPECT_THAT(read_bytes(list), HasSubstr("\"lost_tokens\":3"));
  ASSERT_EQ(encode({"verify", output()}).exit_code, 0);
  fs::rename(list, dir_.file("list"));
  EXPECT_EQ(encode({"verify", output()}).exit_code, 65) << "the manifest names the list";
  fs::rename(dir_.file("list"), list);
  ASSERT_EQ(run({"--fresh"}).exit_code, 0);
  EXPECT_EQ(left(), usual());
  EXPECT_EQ(encode({"verify", output()}).exit_code, 0);
}

// The result has no list of its own, so the file of this name is of the user.
TEST_F(Leavings, AFileOfTheUserIsNotTakenForAListOfTruncatedRows) {
  ASSERT_EQ(run().exit_code, 0);
  const std::string list = dir_.write("out/x.truncated.jsonl", "my notes");
  EXPECT_EQ(run({"--fresh"}).exit_code, 73);
  EXPECT_EQ(read_bytes(list), "my notes");
}

// The first run names the folder; the second run does not repeat it.
TEST_F(Leavings, AFolderThatTheRunHasCreatedIsNamed) {
  std::vector<std::string> words = flags("run");
  words.back() = dir_.file("out/new/deep/x.npy");
  const ProgramEnd first = encode(words);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::string line = "created the folder " + dir_.file("out/new/deep") + " for the output";
  EXPECT_THAT(first.err, HasSubstr(line));
  EXPECT_THAT(encode(words).err, Not(HasSubstr(line)));
  words.back() = dir_.file("out/other/x.npy");
  words.insert(words.end(), {"--cache-dir", dir_.file("caches/x")});
  EXPECT_THAT(encode(words).err, HasSubstr("created the folder " + dir_.file("out/other")));
}

// The run has made its cache directory and its job, but no chunk that another run would lose.
TEST_F(Leavings, OfARunThatWasStoppedBeforeItsFirstChunkDoNotPreventAnotherRun) {
  EXPECT_EQ(run({}, {{"FAKE_WORKER", "69:-1:1"}}).exit_code, 69);
  EXPECT_EQ(run({"--max-length", "16"}).exit_code, 0);
}

TEST_F(Leavings, IncludeTheListOfRejectedRowsThatTheSummaryNames) {
  dir_.write("in/texts.jsonl", "{\"text\":\"good\"}\n{\"text\":7}\n");
  const ProgramEnd end = run({"--bad-row", "reject"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const std::string list = dir_.file("out/x.rejected.jsonl");
  EXPECT_THAT(end.out, HasSubstr("rejected rows are listed in " + list));
  EXPECT_THAT(end.err, HasSubstr("listed in " + list + " when the run has ended"));
  EXPECT_THAT(end.err, Not(HasSubstr(cache("x.rejected.jsonl"))));
  EXPECT_TRUE(fs::exists(list));
  EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(Leavings, AreEnoughForStatusVerifyAndReport) {
  ASSERT_EQ(run().exit_code, 0);
  const ProgramEnd status = encode(flags("status"));
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("done"));
  std::vector<std::string> as_json = flags("status");
  as_json.emplace_back("--json");
  const Json json = Json::parse(encode(as_json).out);
  EXPECT_EQ(json.at("state"), "done");
  EXPECT_EQ(json.at("streams")[0].at("rows"), 5);
  EXPECT_GT(json.at("started"), 0);
  EXPECT_EQ(encode(flags("verify")).exit_code, 0);
  EXPECT_EQ(encode(flags("preflight")).exit_code, 0);
  const std::string config = dir_.write(
      "c.yaml", "semantic: {model: " + test_data("models/bert") + "}\noutput: {file: " + output() +
                    "}\ninput: {file: " + dir_.file("in/texts.jsonl") + ", field: text}\n");
  const ProgramEnd report =
      encode({"report", "--config", config, "--output", dir_.file("page.html")});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_EQ(left(), usual()) << "the other commands make no cache directory";
}

TEST_F(Leavings, WithKeepChunksTheCacheDirectoryStays) {
  ASSERT_EQ(run({"--keep-chunks"}).exit_code, 0);
  EXPECT_THAT(left(), Contains(".x.npy.cache"));
  EXPECT_TRUE(fs::exists(cache("x_chunks/chunk_0002.npy")));
  ASSERT_EQ(run().exit_code, 0);
  EXPECT_EQ(left(), usual());
  EXPECT_EQ(encoded(), 3);
}

TEST_F(Leavings, OfAFailedRunAreTheChunksFromWhichTheNextRunContinues) {
  EXPECT_EQ(run({}, {{"FAKE_WORKER", "69:2:1"}}).exit_code, 69);
  EXPECT_THAT(left(), ElementsAre(".x.npy.cache"));
  EXPECT_TRUE(fs::exists(cache("x_chunks/chunk_0000.npy")));
  const int64_t before = encoded();
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(encoded(), 3);
  EXPECT_GT(before, 0);
  EXPECT_EQ(left(), usual());
}

TEST_F(Leavings, RowsThatWereRejectedAreListedBesideTheMatrix) {
  dir_.write("in/texts.jsonl", "{\"text\":\"a\"}\n{}\n{\"text\":\"b\"}\n");
  ASSERT_EQ(run({"--bad-row", "reject"}).exit_code, 0);
  const std::string list = dir_.file("out/x.rejected.jsonl");
  EXPECT_THAT(read_bytes(list), HasSubstr("\"line\":2"));
  EXPECT_THAT(left(), Not(Contains(".x.npy.cache")));
  dir_.write("in/texts.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n");
  ASSERT_EQ(run({"--bad-row", "reject", "--fresh"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(list)) << "it was of the earlier result";
}

TEST_F(Leavings, ForeignFilesInTheDirectoryStayWithAMessage) {
  EXPECT_EQ(run({}, {{"FAKE_WORKER", "69:2:1"}}).exit_code, 69);
  const std::vector<std::string> foreign = {"notes.txt", "x_chunks/notes.txt", "faults.jsonl",
                                            "encode.log.1", "folder/file"};
  for (const std::string& name : foreign) dir_.write("out/.x.npy.cache/" + name, "mine");
  fs::create_symlink(dir_.file("in/texts.jsonl"), cache("memory.older.jsonl"));
  const ProgramEnd end = run();
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("because encode did not write"));
  for (const std::string& name : foreign) {
    EXPECT_EQ(read_bytes(cache(name)), "mine") << name;
    EXPECT_THAT(end.err, HasSubstr(name.substr(0, name.find('/')))) << name;
  }
  EXPECT_TRUE(fs::is_symlink(cache("memory.older.jsonl")));
  EXPECT_FALSE(fs::exists(cache("LOCK")));
  EXPECT_FALSE(fs::exists(cache("status.json")));
}

TEST_F(Leavings, ALinkInPlaceOfTheDirectoryIsNotFollowedWhenTheDirectoryIsRemoved) {
  fs::create_directory(dir_.file("scratch"));
  dir_.write("scratch/notes.txt", "mine");
  fs::create_directory_symlink(dir_.file("scratch"), cache());
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(cache()));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir_.file("scratch")))
    names.push_back(entry.path().filename().string());
  EXPECT_THAT(names, ElementsAre("notes.txt"));
}

TEST_F(Leavings, ForeignFilesBesideTheOutputAreRefused) {
  for (const char* name : {".x.npy.run.json", "x.rejected.jsonl"}) {
    const std::string path = dir_.write(std::string("out/") + name, "mine");
    const ProgramEnd end = run();
    EXPECT_EQ(end.exit_code, 73) << name;
    EXPECT_THAT(end.err, HasSubstr(name));
    EXPECT_EQ(read_bytes(path), "mine");
    EXPECT_EQ(encoded(), 0);
    fs::remove(path);
    fs::create_directory(path);
    EXPECT_EQ(run({"--overwrite"}).exit_code, 73) << "a directory is never replaced";
    fs::remove(path);
  }
}

TEST_F(Leavings, ARunThatIsRefusedLeavesNothing) {
  ASSERT_EQ(run().exit_code, 0);
  const ProgramEnd end = run({"--normalize"});
  EXPECT_EQ(end.exit_code, 78);
  EXPECT_EQ(left(), usual());
}

TEST_F(Leavings, ARefusedRunRemovesTheDirectoriesThatItHasMade) {
  const std::string folder = dir_.file("out/new/deep");
  std::vector<std::string> words = flags("run");
  words.back() = folder + "/x.npy";
  const auto refused = [&](size_t flag, const std::string& value) {
    std::vector<std::string> wrong = words;
    wrong[flag] = value;
    const ProgramEnd end = encode(wrong);
    EXPECT_NE(end.exit_code, 0) << value;
    return left();
  };
  EXPECT_THAT(refused(2, dir_.file("no_model")), IsEmpty());
  EXPECT_THAT(refused(4, dir_.file("no_input.jsonl")), IsEmpty());
  EXPECT_THAT(refused(6, "no_field"), IsEmpty());
  EXPECT_THAT(refused(4, dir_.write("in/bad.jsonl", "{\"text\":\n")), IsEmpty());
  words.insert(words.end(), {"--max-length", "1000000"});
  EXPECT_THAT(refused(6, "text"), IsEmpty());
  // Negative control: a run that has begun leaves its directory.
  words.resize(words.size() - 2);
  EXPECT_EQ(encode(words, {{"FAKE_WORKER", "69:-1:1"}}).exit_code, 69);
  EXPECT_TRUE(fs::exists(folder + "/.x.npy.cache/LOCK"));
}

TEST_F(Leavings, ARefusedRunKeepsTheDirectoriesThatItHasNotMade) {
  fs::create_directory(cache());
  dir_.write("in/texts.jsonl", "{\"text\":\n");
  EXPECT_EQ(run().exit_code, 65);
  EXPECT_THAT(left(), ElementsAre(".x.npy.cache"));
  dir_.write("out/.x.npy.cache/notes.txt", "mine");
  EXPECT_EQ(run().exit_code, 65);
  EXPECT_EQ(read_bytes(cache("notes.txt")), "mine");
}

// The error names the copy, because the user may be unable to make the input again.
TEST_F(Leavings, ARefusedRunOfStandardInputLeavesTheCopy) {
  const std::string bad = dir_.write("in/bad.jsonl", "{\"text\":\n");
  std::vector<std::string> words = flags("run");
  *std::find(words.begin(), words.end(), dir_.file("in/texts.jsonl")) = "-";
  words.insert(words.end(), {"--format", "jsonl"});
  const ProgramEnd end = Program(dir_.path(), words, {}, [&] {
                           ::dup2(::open(bad.c_str(), O_RDONLY | O_CLOEXEC), STDIN_FILENO);
                         }).wait();
  EXPECT_EQ(end.exit_code, 65) << end.err;
  EXPECT_THAT(end.err, HasSubstr("  where     standard input, line 1\n"));
  EXPECT_THAT(end.err, HasSubstr(cache("x.stdin") + " is a copy of the input"));
  EXPECT_EQ(read_bytes(cache("x.stdin")), read_bytes(bad));
}

TEST_F(Leavings, ADamagedRecordIsReplacedAndDoesNotStopAnything) {
  ASSERT_EQ(run().exit_code, 0);
  const std::string path = dir_.file("out/.x.npy.run.json");
  std::string bytes = read_bytes(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  for (const std::string& damage : {bytes, std::string(), bytes.substr(0, 40)}) {
    write_bytes(path, damage);
    EXPECT_NE(encode(flags("status")).exit_code, 70);
    const ProgramEnd end = run();
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_NE(read_bytes(path), damage);
    EXPECT_EQ(encode(flags("status")).exit_code, 0);
  }
  EXPECT_EQ(encoded(), 3);
}

TEST_F(Leavings, ARunOfStandardInputLeavesTheCopyThatASearchReads) {
  std::vector<std::string> words = flags("run");
  *std::find(words.begin(), words.end(), dir_.file("in/texts.jsonl")) = "-";
  words.insert(words.end(), {"--format", "jsonl"});
  ASSERT_EQ(encode(words).exit_code, 0);  // the standard input of a Program is empty
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(cache()))
    names.push_back(entry.path().filename().string());
  EXPECT_THAT(names, ElementsAre("x.stdin"));
}

TEST_F(Leavings, TheCopyOfCompressedStandardInputIsCompressed) {
  const std::string packed = dir_.file("piped.gz");
  const std::string command = "gzip -c " + dir_.file("in/texts.jsonl") + " > " + packed;
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::vector<std::string> words = flags("run");
  *std::find(words.begin(), words.end(), dir_.file("in/texts.jsonl")) = "-";
  words.insert(words.end(), {"--format", "jsonl"});
  const ProgramEnd end = Program(dir_.path(), words, {}, [&] {
                           ::dup2(::open(packed.c_str(), O_RDONLY | O_CLOEXEC), STDIN_FILENO);
                         }).wait();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(read_bytes(cache() + "/x.stdin.gz"), read_bytes(packed));
}

// Kills the run before and after each call that deletes something in its cache directory.
TEST_F(Leavings, AKillDuringTheRemovalLosesNothing) {
  int kills = 0;
  for (const char* call : {"unlink", "rmdir"}) {
    for (const char* mode : {"kill_before", "kill_after"}) {
      for (int at = 1;; ++at) {
        fs::remove_all(dir_.file("out"));
        fs::create_directory(dir_.file("out"));
        fs::remove(dir_.file("records/encoded_chunks"));
        const ProgramEnd killed = run({}, {{"LD_PRELOAD", built_file(FAULT_LIBRARY)},
                                           {"FAULT_ROOT", cache()},
                                           {"FAULT_CALL", call},
                                           {"FAULT_MODE", mode},
                                           {"FAULT_AT", std::to_string(at)},
                                           {"FAULT_LOCK_MAY_GO", "1"}});
        if (killed.signal == 0) {
          EXPECT_EQ(killed.exit_code, 0) << killed.err;
          break;
        }
        ++kills;
        const ProgramEnd end = run();
        EXPECT_EQ(end.exit_code, 0) << call << " " << at << ": " << end.err;
        EXPECT_EQ(encoded(), 3) << "no chunk twice";
        EXPECT_EQ(left(), usual()) << call << " " << mode << " " << at;
      }
    }
  }
  EXPECT_GT(kills, 20);
}

// Without the rule that LOCK goes last, a second run could find files vanish below it.
TEST_F(Leavings, TheLockIsTheLastFileThatGoes) {
  fs::remove_all(dir_.file("out"));
  fs::create_directory(dir_.file("out"));
  for (int at = 1;; ++at) {
    const ProgramEnd killed = run({}, {{"LD_PRELOAD", built_file(FAULT_LIBRARY)},
                                       {"FAULT_ROOT", cache()},
                                       {"FAULT_CALL", "unlink"},
                                       {"FAULT_MODE", "kill_before"},
                                       {"FAULT_AT", std::to_string(at)},
                                       {"FAULT_LOCK_MAY_GO", "1"}});
    if (killed.signal == 0) break;
    EXPECT_TRUE(fs::exists(cache("LOCK"))) << at;
  }
  EXPECT_EQ(left(), usual());
}

}  // namespace
}  // namespace encode::testing
