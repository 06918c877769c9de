// Tests runs with the embedding cache: they give the same bytes as without it, encode fewer rows,
// and succeed whatever is wrong with the cache.
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/half.h"
#include "base/json.h"
#include "real_run.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 400;

// Returns the lines of `text` in another order, each of them `copies` times.
std::string shuffled(const std::string& text, int copies) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::string out;
  for (int copy = 0; copy < copies; ++copy) {
    for (size_t i = 0; i < lines.size(); ++i) out += lines[(i * 7 + 3) % lines.size()] + "\n";
  }
  return out;
}

// Returns the fields of the log line "embedding_cache".
Json cache_line(const ProgramEnd& end) {
  std::istringstream lines(end.out);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.value("event", "") == "embedding_cache") return json;
  }
  ADD_FAILURE() << "no line embedding_cache in " << end.out << end.err;
  return Json::object();
}

class CachedRun : public ::testing::Test {
 protected:
  // Runs with --json and the embedding cache "vectors".
  ProgramEnd run_cached(const std::string& name, std::vector<std::string> extra = {}) const {
    extra.insert(extra.end(), {"--embedding-cache", runs_.dir().file("vectors"), "--json"});
    ProgramEnd end = runs_.run(name, extra);
    EXPECT_EQ(end.exit_code, 0) << end.err << end.out;
    return end;
  }
  ProgramEnd cache_verb(std::vector<std::string> words) const {
    words.insert(words.begin(), "cache");
    return Program(runs_.dir().path(), words).wait();
  }
  std::string bytes(const std::string& name) const { return read_bytes(runs_.matrix(name)); }
  // The values of a float32 matrix.
  std::vector<float> values_of(const std::string& name) const {
    constexpr size_t kHeaderBytes = 128;  // as in every .npy file that encode writes
    const std::string file = bytes(name);
    std::vector<float> values((file.size() - kHeaderBytes) / sizeof(float));
    std::memcpy(values.data(), file.data() + kHeaderBytes, values.size() * sizeof(float));
    return values;
  }

  const RealRun runs_{"bert", kRows};
};

// The bytes of a matrix and of the files beside it do not depend on the cache, on the chunk size or
// on the order of earlier rows.
TEST_F(CachedRun, GivesTheSameBytesColdAndWarm) {
  for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
           {}, {"--dtype", "bfloat16"}, {"--pooling", "none"}, {"--vector-precision", "float16"}}) {
    const std::string id = options.empty() ? "plain" : options.back();
    const auto with = [&options](std::vector<std::string> more) {
      more.insert(more.end(), options.begin(), options.end());
      return more;
    };
    ASSERT_EQ(runs_.run(id, with({})).exit_code, 0);
    const Json cold = cache_line(run_cached(id + "-cold", with({"--chunk-size", "7"})));
    const Json warm = cache_line(run_cached(id + "-warm", with({"--chunk-size", "64"})));
    EXPECT_TRUE(bytes(id) == bytes(id + "-cold")) << id;
    EXPECT_TRUE(bytes(id) == bytes(id + "-warm")) << id;
    EXPECT_EQ(warm["hit_rate"], 1) << id;
    EXPECT_EQ(warm["stored_rows"], 0) << id;
    EXPECT_LT(cold["stored_rows"], kRows) << "some of the random rows are empty or equal";
    if (id == "none") {
      EXPECT_TRUE(read_bytes(runs_.dir().file("none.offsets.npy")) ==
                  read_bytes(runs_.dir().file("none-warm.offsets.npy")));
    }
  }
}

// A run without `vector_precision: float16` must not get the rounded vectors of a run with it.
TEST_F(CachedRun, RoundedVectorsAreKeptApart) {
  const std::vector<std::string> half = {"--vector-precision", "float16"};
  ASSERT_EQ(runs_.run("plain", {}).exit_code, 0);
  run_cached("half", half);
  const std::vector<float> rounded = values_of("half");
  std::vector<float> expected = values_of("plain");
  EXPECT_NE(rounded, expected);
  round_to_half(expected);
  EXPECT_EQ(rounded, expected);
  const Json other = cache_line(run_cached("float32"));
  EXPECT_EQ(other["hit_rate"], 0);
  EXPECT_TRUE(bytes("float32") == bytes("plain"));
}

TEST_F(CachedRun, EncodesEachTextOnceInARun) {
  const std::string texts = read_bytes(runs_.dir().file("texts.txt"));
  const std::string input = runs_.dir().write("many.txt", shuffled(texts, 5));
  const Json once = cache_line(run_cached("once", {"--chunk-size", "50"}));
  std::filesystem::remove_all(runs_.dir().file("vectors"));
  const Json many = cache_line(run_cached("many", {"--input", input, "--chunk-size", "50"}));
  EXPECT_EQ(many["stored_rows"], once["stored_rows"]);
  // A second run encodes nothing, although its rows have another order and it starts with empty
  // tiers in memory.
  const Json again = cache_line(run_cached("again", {"--input", input}));
  EXPECT_EQ(again["stored_rows"], 0);
  EXPECT_EQ(again["hit_rate"], 1);
  EXPECT_GT(again["disk_load_ratio"], 0);
}

TEST_F(CachedRun, DuplicatesOfAWindowAreEncodedOnceWithoutACache) {
  const std::string texts = read_bytes(runs_.dir().file("texts.txt")).substr(0, 1500);
  const std::string input = runs_.dir().write("many.txt", shuffled(texts, 3));
  for (const std::string pooling : {"mean", "none"}) {
    const ProgramEnd end =
        runs_.run("many-" + pooling, {"--input", input, "--pooling", pooling, "--json"});
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_GE(cache_line(end)["deduplicated_rows"], 80);
    ASSERT_EQ(runs_
                  .run("ones-" + pooling, {"--input", input, "--pooling", pooling, "--chunk-size",
                                           "1", "--batch-tokens", "1"})
                  .exit_code,
              0);
    EXPECT_TRUE(bytes("many-" + pooling) == bytes("ones-" + pooling));
  }
}

TEST_F(CachedRun, AnotherOptionOfTheModelIsAnotherKey) {
  run_cached("first");
  EXPECT_EQ(cache_line(run_cached("normal", {"--normalize"}))["hit_rate"], 0);
  EXPECT_EQ(cache_line(run_cached("short", {"--max-length", "5"}))["hit_rate"], 0);
  EXPECT_EQ(cache_line(run_cached("prompt", {"--prompt", "q "}))["hit_rate"], 0);
}

TEST_F(CachedRun, StatusShowsTheCache) {
  run_cached("first");
  run_cached("second", {"--keep-chunks"});
  const std::string cache_dir = runs_.dir().file(".second.npy.cache");
  const ProgramEnd text = Program(runs_.dir().path(), {"status", cache_dir, "--verbose"}).wait();
  EXPECT_THAT(text.out, HasSubstr("100.0% of"));
  const ProgramEnd json = Program(runs_.dir().path(), {"status", cache_dir, "--json"}).wait();
  EXPECT_EQ(Json::parse(json.out)["embedding_cache"]["hit_rate"], 1);
}

// Whatever is wrong with the cache, the run has the same result and says once what is wrong.
class BadCache : public CachedRun {
 protected:
  void expect_run_without(const std::string& code) {
    ASSERT_EQ(runs_.run("plain", {}).exit_code, 0);
    const ProgramEnd end = run_cached("bad", {"--keep-chunks"});
    EXPECT_TRUE(bytes("bad") == bytes("plain"));
    const std::string error = "error[" + code + "]";
    const size_t first = end.out.find(error);
    EXPECT_NE(first, std::string::npos) << end.out;
    EXPECT_EQ(end.out.find(error, first + 1), std::string::npos) << "said twice: " << end.out;
    EXPECT_THAT(read_bytes(runs_.dir().file(".bad.npy.cache/faults.jsonl")),
                HasSubstr("\"type\":\"embedding_cache\""));
  }
};

TEST_F(BadCache, OfAnotherVersionEndsNoRun) {
  runs_.dir().write("vectors/embedding_cache.json", R"({"encode":"embedding cache","format":99})");
  expect_run_without("cache.version");
  EXPECT_EQ(cache_verb({"stats", "--dir", runs_.dir().file("vectors")}).exit_code, 78);
}

TEST_F(BadCache, OfAnotherProgramEndsNoRun) {
  const std::string path = runs_.dir().write("vectors/thesis.txt", "mine");
  expect_run_without("cache.foreign");
  EXPECT_EQ(read_bytes(path), "mine");
  EXPECT_EQ(cache_verb({"clear", "--dir", runs_.dir().file("vectors")}).exit_code, 66);
  EXPECT_EQ(read_bytes(path), "mine");
}

TEST_F(BadCache, WithDamagedRecordsEndsNoRun) {
  run_cached("first");
  const std::string path = runs_.dir().file("vectors/data.mdb");
  std::string content = read_bytes(path);
  const std::string row = bytes("first").substr(128, 40);
  const size_t place = content.find(row);
  ASSERT_NE(place, std::string::npos);
  content[place] = static_cast<char>(content[place] ^ 4);
  write_bytes(path, content);
  EXPECT_EQ(cache_verb({"verify", "--dir", runs_.dir().file("vectors")}).exit_code, 65);
  expect_run_without("cache.damaged");
  EXPECT_EQ(cache_line(run_cached("healed"))["hit_rate"], 1) << "the row was written again";
}

// LMDB follows references without a check, so such a file can end the worker by a signal.
TEST_F(BadCache, WithADestroyedTreeEndsNoRun) {
  run_cached("first");
  const std::string path = runs_.dir().file("vectors/data.mdb");
  std::string content = read_bytes(path);
  constexpr size_t kPageBytes = 4096;
  for (size_t page = 2; page * kPageBytes < content.size(); ++page) {
    for (size_t i = 10; i < 200; i += 2) content[page * kPageBytes + i] = '\x7b';
  }
  write_bytes(path, content);
  ASSERT_EQ(runs_.run("plain", {}).exit_code, 0);
  const ProgramEnd end = run_cached("bad");
  EXPECT_TRUE(bytes("bad") == bytes("plain"));
  EXPECT_THAT(end.out, HasSubstr("error[cache.damaged]"));
  EXPECT_EQ(cache_verb({"verify", "--dir", runs_.dir().file("vectors")}).exit_code, 65);
  EXPECT_EQ(cache_verb({"clear", "--dir", runs_.dir().file("vectors")}).exit_code, 0);
  run_cached("cleared");
  EXPECT_EQ(cache_line(run_cached("warm"))["hit_rate"], 1);
}

// A process that is stopped in the middle of a change of the cache, as by Ctrl-Z.
class StoppedNeighbour {
 public:
  explicit StoppedNeighbour(const std::string& cache)
      : program_(built_file(CACHE_LOAD_PROGRAM)), child_(::fork()) {
    if (child_ == 0) {
      ::execl(program_.c_str(), program_.c_str(), "hold", cache.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, WUNTRACED), child_);
    EXPECT_TRUE(WIFSTOPPED(status));
  }
  StoppedNeighbour(const StoppedNeighbour&) = delete;
  StoppedNeighbour& operator=(const StoppedNeighbour&) = delete;
  ~StoppedNeighbour() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  const std::string program_;
  const pid_t child_;
};

// A run that has to write waits half a minute and then goes on without the cache. A command that
// changes the cache waits half a minute and fails. Runs and commands that only read do not wait.
// The run and the command wait at the same time here, to keep the test short.
TEST_F(BadCache, WithAStoppedNeighbourEndsNoRun) {
  ASSERT_EQ(runs_.run("plain", {"--max-length", "9"}).exit_code, 0);
  run_cached("first");
  const std::string dir = runs_.dir().file("vectors");
  const std::string other = runs_.dir().file("other");
  std::filesystem::copy(dir, other);
  const StoppedNeighbour neighbour(dir);
  const StoppedNeighbour other_neighbour(other);
  EXPECT_EQ(cache_verb({"stats", "--dir", dir}).exit_code, 0);
  EXPECT_EQ(cache_verb({"verify", "--dir", dir}).exit_code, 0);
  EXPECT_EQ(cache_line(run_cached("warm"))["hit_rate"], 1);
  const std::string prune_dir = runs_.dir().file("prune");
  std::filesystem::create_directory(prune_dir);
  Program prune(prune_dir, {"cache", "prune", "--dir", other, "--to", "1 MB"});
  const ProgramEnd end = run_cached("bad", {"--max-length", "9"});
  EXPECT_TRUE(bytes("bad") == bytes("plain"));
  EXPECT_THAT(end.out, HasSubstr("error[cache.stalled]"));
  const ProgramEnd prune_end = prune.wait();
  EXPECT_EQ(prune_end.exit_code, 75);
  EXPECT_THAT(prune_end.err, HasSubstr("error[cache.stalled]"));
}

TEST_F(CachedRun, TheVerbsWork) {
  const std::string dir = runs_.dir().file("vectors");
  EXPECT_EQ(cache_verb({"stats", "--dir", dir}).exit_code, 66);
  run_cached("first");
  const ProgramEnd stats = cache_verb({"stats", "--dir", dir, "--json"});
  EXPECT_EQ(stats.exit_code, 0) << stats.err;
  EXPECT_GT(Json::parse(stats.out)["rows"], 300);
  EXPECT_THAT(cache_verb({"verify", "--dir", dir}).out, HasSubstr("everything is good"));
  EXPECT_EQ(cache_verb({"prune", "--dir", dir, "--to", "5"}).exit_code, 64) << "no unit";
  EXPECT_EQ(cache_verb({"prune", "--dir", dir, "--to", "0 MB"}).exit_code, 0);
  EXPECT_EQ(Json::parse(cache_verb({"stats", "--dir", dir, "--json"}).out)["rows"], 0);
  EXPECT_EQ(cache_verb({"clear", "--dir", dir}).exit_code, 0);
  EXPECT_EQ(cache_verb({"clean", "--dir", dir}).exit_code, 64);
}

}  // namespace
}  // namespace encode::testing
