// Tests that a run encodes what it has hashed: a file that is swapped for another of the same size
// during the run ends it with an error, or does not change the result. Also tests that a run opens
// no file of a model that is not in the fingerprint.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <sys/inotify.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "real_run.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::IsSubsetOf;

constexpr int kMoments = 20;
constexpr int64_t kRows = 1200;
const std::vector<std::string> kChunks = {"--chunk-size", "40", "--threads", "1"};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// A file of a run, and another content of the same size that gives other vectors.
struct Swap {
  const char* name;
  std::function<std::string(std::string)> change;
};

const Swap kSwaps[] = {
    {"model/model.safetensors",
     [](std::string bytes) {
       // flips the signs of many values; a float is four bytes with the sign in the last one
       for (size_t at = bytes.size() - 1; at > bytes.size() / 2; at -= 4 * 7)
         bytes[at] = static_cast<char>(bytes[at] ^ 0x80);
       return bytes;
     }},
    {"model/tokenizer.json",
     [](std::string text) {
       return replaced(replaced(replaced(std::move(text), "\"a\":", "\"?\":"), "\"e\":", "\"a\":"),
                       "\"?\":", "\"e\":");
     }},
    {"model/config.json",
     [](std::string text) { return replaced(std::move(text), "\"gelu\"", "\"relu\""); }},
    {"texts.txt",
     [](std::string text) {
       std::replace(text.begin(), text.end(), 'a', 'b');
       return text;
     }},
};

Json fingerprint_of(const RealRun& runs, const std::string& name) {
  return Json::parse(read_bytes(runs.matrix(name) + ".manifest.json")).at("fingerprint");
}

std::optional<pid_t> child_of(pid_t pid) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid));
  pid_t child = 0;
  if (children >> child) return child;
  return std::nullopt;
}

// Writes over a file without truncating it first.
void overwrite(const std::string& path, const std::string& content) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  EXPECT_TRUE(file.flush());
}

// A finished matrix: the vectors of a content, and the fingerprint, which must be that of the same
// content.
struct Result {
  std::string bytes;
  Json fingerprint;
};

class Swapped : public ::testing::TestWithParam<Swap> {
 protected:
  Swapped() : runs_("bert", kRows), path_(runs_.dir().file(GetParam().name)) {
    old_content_ = read_bytes(path_);
    new_content_ = GetParam().change(old_content_);
    EXPECT_EQ(old_content_.size(), new_content_.size());
    EXPECT_NE(old_content_, new_content_);
  }

  Result result(const std::string& name) const {
    return {read_bytes(runs_.matrix(name)), fingerprint_of(runs_, name)};
  }

  // Runs with this content from start to end.
  Result reference(const std::string& name, const std::string& content) const {
    write_bytes(path_, content);
    const ProgramEnd end = runs_.run(name, kChunks);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return result(name);
  }

  // Writes over the old file, or puts a new file in its place.
  void put(const std::string& content, bool in_place) const {
    if (in_place) return overwrite(path_, content);
    fs::rename(runs_.dir().write("other", content), path_);
  }

  // Starts a run, swaps the file after `delay` and kills the worker if `kill` is true.
  ProgramEnd swap_during_run(const std::string& name, std::chrono::microseconds delay, int moment) {
    Program program(runs_.dir().path(), runs_.arguments(name, kChunks));
    std::this_thread::sleep_for(delay);
    put(new_content_, /*in_place=*/moment % 2 == 0);
    if (moment % 3 == 0) {
      if (const auto worker = child_of(program.pid())) ::kill(*worker, SIGKILL);
    }
    return program.wait();
  }

  RealRun runs_;
  std::string path_;
  std::string old_content_;
  std::string new_content_;
};

TEST_P(Swapped, AtAnyMomentItIsRefusedOrHasNoEffect) {
  const Result of_new = reference("new", new_content_);
  const auto start = std::chrono::steady_clock::now();
  const Result of_old = reference("old", old_content_);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  ASSERT_NE(of_old.bytes, of_new.bytes);
  std::map<std::string, int> ends;
  for (int moment = 0; moment < kMoments; ++moment) {
    SCOPED_TRACE(fmt::format("moment {}", moment));
    const std::string name = fmt::format("swapped{}", moment);
    put(old_content_, true);
    const ProgramEnd end = swap_during_run(name, whole * moment / kMoments, moment);
    if (end.exit_code == 0) {
      const Result found = result(name);
      const bool is_old = found.bytes == of_old.bytes && found.fingerprint == of_old.fingerprint;
      const bool is_new = found.bytes == of_new.bytes && found.fingerprint == of_new.fingerprint;
      EXPECT_TRUE(is_old || is_new) << "mixed";
      ++ends[is_old ? "old" : "new"];
      continue;
    }
    ++ends["refused"];
    EXPECT_EQ(end.exit_code, 74) << end.err;
    EXPECT_THAT(end.err, AnyOf(::testing::HasSubstr("error[model.changed]"),
                               ::testing::HasSubstr("error[text.changed]")));
    // The committed chunks have vectors of the old content, so the run can go on with it.
    put(old_content_, true);
    const ProgramEnd again = runs_.run(name, kChunks);
    if (again.exit_code == 78) continue;  // the run began with the new content
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_TRUE(result(name).bytes == of_old.bytes);
  }
  for (const auto& [end, count] : ends) std::cout << fmt::format("{}: {}\n", end, count);
}

INSTANTIATE_TEST_SUITE_P(Files, Swapped, ::testing::ValuesIn(kSwaps), [](const auto& test) {
  return fs::path(test.param.name).stem().string();
});

// A run must not refuse a file only because its time stamps and its inode are others.
TEST(SwappedControl, ACopyOfTheSameContentIsNoChange) {
  const RealRun runs("bert", kRows);
  ASSERT_EQ(runs.run("old", kChunks).exit_code, 0);
  for (const int delay_ms : {100, 300, 600}) {
    Program program(runs.dir().path(), runs.arguments("copied", kChunks));
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    for (const Swap& swap : kSwaps) {
      const std::string path = runs.dir().file(swap.name);
      fs::rename(runs.dir().write("copy", read_bytes(path)), path);
    }
    if (const auto worker = child_of(program.pid())) ::kill(*worker, SIGKILL);
    const ProgramEnd end = program.wait();
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_TRUE(read_bytes(runs.matrix("copied")) == read_bytes(runs.matrix("old")));
    fs::remove(runs.matrix("copied"));
    fs::remove(runs.matrix("copied") + ".manifest.json");
  }
}

// Records which files below a directory are opened, by any process.
class OpenTrace {
 public:
  explicit OpenTrace(const std::string& root) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    watch(root, "");
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_directory())
        watch(entry.path().string(), fs::relative(entry.path(), root).string() + "/");
    }
  }

  // Returns the names, relative to the root, of the files that were opened so far.
  std::set<std::string> names() const {
    std::set<std::string> names;
    alignas(inotify_event) char buffer[1 << 16];
    for (ssize_t size = 0; (size = ::read(fd_.get(), buffer, sizeof buffer)) > 0;) {
      for (char* at = buffer; at < buffer + size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        if ((event->mask & IN_ISDIR) == 0) names.insert(prefixes_.at(event->wd) + event->name);
        at += sizeof(inotify_event) + event->len;
      }
    }
    return names;
  }

 private:
  void watch(const std::string& path, const std::string& prefix) {
    const int watch = ::inotify_add_watch(fd_.get(), path.c_str(), IN_OPEN);
    EXPECT_GE(watch, 0) << path;
    prefixes_[watch] = prefix;
  }

  UniqueFd fd_;
  std::map<int, std::string> prefixes_;
};

void expect_hashed(const std::set<std::string>& opened, const std::set<std::string>& hashed,
                   const std::set<std::string>& must_open) {
  EXPECT_THAT(opened, IsSubsetOf(hashed));
  EXPECT_THAT(must_open, IsSubsetOf(opened));  // the trace sees the opens
}

// Runs the model once, and checks that every file that was opened is in the fingerprint.
void expect_opens_are_hashed(const RealRun& runs, const std::set<std::string>& must_open) {
  const OpenTrace trace(runs.dir().file("model"));
  const ProgramEnd end = runs.run("out", {});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  std::set<std::string> hashed;
  const Json fingerprint = fingerprint_of(runs, "out");
  for (const auto& [name, hash] : fingerprint.at("model").at("files").items()) hashed.insert(name);
  expect_hashed(trace.names(), hashed, must_open);
}

TEST(OpenedByARun, OfEveryModelAreInTheFingerprint) {
  int models = 0;
  for (const auto& entry : fs::directory_iterator(test_data("models"))) {
    SCOPED_TRACE(entry.path().filename().string());
    expect_opens_are_hashed(RealRun(entry.path().filename().string(), 3),
                            {"config.json", "tokenizer.json"});
    ++models;
  }
  EXPECT_GT(models, 30);
}

TEST(OpenedByARun, OfEverySentenceTransformersDirectoryAreInTheFingerprint) {
  int directories = 0;
  for (const auto& entry : fs::directory_iterator(test_data("sentence_transformers"))) {
    if (!fs::exists(entry.path() / "modules.json")) continue;
    SCOPED_TRACE(entry.path().filename().string());
    const RealRun runs("bert", 3);
    fs::remove_all(runs.dir().file("model"));
    fs::copy(entry.path(), runs.dir().file("model"), fs::copy_options::recursive);
    expect_opens_are_hashed(runs, {"modules.json", "model.safetensors", "tokenizer.json"});
    ++directories;
  }
  EXPECT_GE(directories, 5);
}

TEST(OpenedByARun, OfATokenizerWithoutTokenizerJsonAreInTheFingerprint) {
  const std::vector<std::pair<const char*, const char*>> files = {
      {"tokenizer.model", "LlamaTokenizer"},
      {"sentencepiece.bpe.model", "XLMRobertaTokenizer"},
      {"spiece.model", "T5Tokenizer"}};
  for (const auto& [name, tokenizer_class] : files) {
    SCOPED_TRACE(name);
    const RealRun runs("bert", 3);
    fs::remove(runs.dir().file("model/tokenizer.json"));
    fs::copy_file(test_data("tokenizer/sentencepiece_bpe/tokenizer.model"),
                  runs.dir().file("model/") + name);
    runs.dir().write("model/tokenizer_config.json",
                     Json{{"tokenizer_class", tokenizer_class}}.dump());
    // The tiny model has fewer tokens than this tokenizer, so the self-test ends the run after all
    // files were loaded. The job file has the hashes.
    const OpenTrace trace(runs.dir().file("model"));
    const ProgramEnd end = runs.run("out", {});
    ASSERT_THAT(end.err, ::testing::HasSubstr("error[batch.token_id]"));
    std::set<std::string> hashed;
    const Json job = Json::parse(read_bytes(runs.dir().file(".out.npy.cache/job.json")));
    for (const Json& file : job.at("units").at(0).at("model_files"))
      hashed.insert(file.at("name").get<std::string>());
    expect_hashed(trace.names(), hashed, {name, "tokenizer_config.json"});
  }
}

TEST(OpenedByARunControl, AnOpenOfAnyFileIsSeen) {
  const TempDir dir;
  dir.write("model/notes.txt", "x");
  dir.write("model/1_Pooling/more.txt", "x");
  const OpenTrace trace(dir.file("model"));
  read_bytes(dir.file("model/notes.txt"));
  read_bytes(dir.file("model/1_Pooling/more.txt"));
  EXPECT_THAT(trace.names(), ::testing::ElementsAre("1_Pooling/more.txt", "notes.txt"));
}

}  // namespace
}  // namespace encode::testing
