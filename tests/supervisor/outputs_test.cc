// Tests that no output of a command destroys a file that encode did not write for this purpose.
#include <filesystem>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "run_plan/cache_files.h"
#include "supervisor/experiment.h"
#include "supervisor/program.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Something that exists at the path of an output. `make` gets the directory of the test and returns
// the path.
struct Victim {
  const char* name;
  bool never;  // true: it is refused even with --overwrite
  std::function<std::string(const TempDir&)> make;
};

std::ostream& operator<<(std::ostream& out, const Victim& victim) { return out << victim.name; }

std::string numpy_matrix() {
  return read_bytes(test_data("minilm/embeddings.npy")).substr(0, 128) + std::string(64, '\1');
}

std::vector<Victim> victims() {
  return {
      {"Input", true, [](const TempDir& dir) { return dir.file("texts.jsonl"); }},
      {"HardLinkOfTheInput", true,
       [](const TempDir& dir) {
         fs::create_hard_link(dir.file("texts.jsonl"), dir.file("other_name"));
         return dir.file("other_name");
       }},
      {"Weights", true, [](const TempDir& dir) { return dir.file("model/model.safetensors"); }},
      {"OtherFileOfTheModel", true,
       [](const TempDir& dir) { return dir.write("model/README.md", "a model"); }},
      {"Directory", true,
       [](const TempDir& dir) {
         fs::create_directories(dir.file("folder/x"));
         return dir.file("folder");
       }},
      {"Fifo", true,
       [](const TempDir& dir) {
         ::mkfifo(dir.file("fifo").c_str(), 0666);
         return dir.file("fifo");
       }},
      {"LinkToATextFile", true,
       [](const TempDir& dir) {
         fs::create_symlink(dir.write("target", "text"), dir.file("link"));
         return dir.file("link");
       }},
      {"LinkToNothing", true,
       [](const TempDir& dir) {
         fs::create_symlink(dir.file("nothing"), dir.file("link"));
         return dir.file("link");
       }},
      {"LockOfACache", true,
       [](const TempDir& dir) { return dir.write("other_cache/LOCK", "{}\n"); }},
      {"ChunkOfACache", true,
       [](const TempDir& dir) {
         dir.write("other_cache/a_chunks/chunks.log", "");
         return dir.write("other_cache/a_chunks/chunk_0000.npy", "chunk");
       }},
      {"TextFile", false, [](const TempDir& dir) { return dir.write("thesis.txt", "text"); }},
      {"EmptyFile", false, [](const TempDir& dir) { return dir.write("empty", ""); }},
      {"NumpyMatrix", false,
       [](const TempDir& dir) { return dir.write("other.npy", numpy_matrix()); }},
  };
}

// What a test can see of a path: the kind of file and the bytes of a regular file or of the target
// of a link.
std::string look(const std::string& path) {
  const fs::file_status status = fs::symlink_status(path);
  std::string seen = std::to_string(static_cast<int>(status.type()));
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) seen += read_bytes(path);
  return seen;
}

class Outputs : public ::testing::TestWithParam<Victim> {
 protected:
  Outputs() {
    dir_.write("texts.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n");
    for (const std::string name : {"config.json", "model.safetensors"})
      dir_.write("model/" + name, read_bytes(test_data("models/bert/" + name)));
    dir_.write("model/tokenizer.json", read_bytes(test_data("tokenizer/wordpiece/tokenizer.json")));
  }

  std::vector<std::string> run(const std::string& output) const {
    return {"run",     "--model", dir_.file("model"), "--input",          dir_.file("texts.jsonl"),
            "--field", "text",    "--cache-dir",      dir_.file("cache"), "--output",
            output};
  }
  std::vector<std::string> tokenize(const std::string& output) const {
    return {"tokenize", "--model", dir_.file("model"), "--input", dir_.file("texts.jsonl"),
            "--field",  "text",    "--output",         output};
  }
  ProgramEnd encode(std::vector<std::string> arguments, bool overwrite) {
    if (overwrite) arguments.emplace_back("--overwrite");
    const TempDir output;  // where Program writes the standard output
    return Program(output.path(), std::move(arguments)).wait();
  }
  void expect_refused(const std::vector<std::string>& arguments, const std::string& path,
                      bool overwrite) {
    const std::string before = look(path);
    const ProgramEnd end = encode(arguments, overwrite);
    EXPECT_EQ(end.exit_code, 73) << end.err;
    EXPECT_THAT(end.err, HasSubstr(path));
    EXPECT_EQ(look(path), before);
    EXPECT_FALSE(fs::exists(dir_.file("cache/encoded_chunks"))) << "it is found before encoding";
  }

  TempDir dir_;
};

TEST_P(Outputs, FinalReplacesOnlyWhatItMay) {
  std::string path = GetParam().make(dir_);
  if (!path.ends_with(".npy")) {
    const std::string before = look(path);
    EXPECT_EQ(encode(run(path), true).exit_code, 64) << "no format has this suffix";
    EXPECT_EQ(look(path), before);
    if (std::string(GetParam().name) == "LockOfACache") return;  // ".npy" makes it an ordinary file
    const std::string other = path + ".npy";
    if (fs::symlink_status(path).type() == fs::file_type::regular) {
      fs::create_hard_link(path, other);
    } else {
      fs::rename(path, other);
    }
    path = other;
  }
  expect_refused(run(path), path, false);
  if (GetParam().never) return expect_refused(run(path), path, true);
  const ProgramEnd end = encode(run(path), true);
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(encode(run(path), false).exit_code, 0) << "now it is a final of encode";
}

TEST_P(Outputs, TokenIdsReplaceOnlyWhatTheyMay) {
  const std::string path = GetParam().make(dir_);
  expect_refused(tokenize(path), path, false);
  if (GetParam().never) return expect_refused(tokenize(path), path, true);
  const ProgramEnd end = encode(tokenize(path), true);
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(read_bytes(path), HasSubstr("input_ids"));
}

TEST_P(Outputs, LogIsAppendedOnlyToALog) {
  const std::string path = GetParam().make(dir_);
  if (std::string(GetParam().name) == "EmptyFile") return;  // may become a log: nothing is lost
  const std::string config = dir_.write("c.yaml", "log:\n  file: " + path + "\n");
  std::vector<std::string> arguments = run(dir_.file("out.npy"));
  arguments.insert(arguments.end(), {"--config", config});
  expect_refused(arguments, path, false);
  expect_refused(arguments, path, true);
}

INSTANTIATE_TEST_SUITE_P(All, Outputs, ::testing::ValuesIn(victims()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(Outputs, FilesBesideTheFinalAreCheckedToo) {
  const std::string matrix = dir_.file("out.npy");
  for (const std::string& beside :
       {manifest_path(matrix), ranges_path(matrix), ledger_path(matrix), offsets_path(matrix),
        set_aside_path(matrix), publishing_path(matrix)}) {
    write_bytes(beside, "a text of the user");
    expect_refused(run(matrix), beside, false);
    fs::remove(beside);
    fs::create_directory(beside);
    expect_refused(run(matrix), beside, true);
    fs::remove(beside);
  }
  EXPECT_EQ(encode(run(matrix), false).exit_code, 0);
}

TEST_F(Outputs, FinalMayNotReplaceTheConfig) {
  const std::string config = dir_.write("c.npy", "semantic:\n  normalize: true\n");
  std::vector<std::string> arguments = run(config);
  arguments.insert(arguments.end(), {"--config", config});
  expect_refused(arguments, config, true);
}

TEST_F(Outputs, FinalIsCheckedForEachType) {
  const std::string standard = dir_.write("out.npy.float32.npy", "a text of the user");
  std::vector<std::string> arguments = run(dir_.file("out.npy"));
  arguments.insert(arguments.end(), {"--standard", "--output-dtype", "float16"});
  expect_refused(arguments, standard, false);
}

// What encode itself has left at the path of a final matrix is replaced without --overwrite.
TEST_F(Outputs, OwnFinalsAreMadeAgain) {
  const std::string path = dir_.file("out.npy");
  ASSERT_EQ(encode(run(path), false).exit_code, 0);
  const std::string good = read_bytes(path);
  const std::string manifest = read_bytes(manifest_path(path));
  const auto flipped = [](std::string bytes, size_t at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    return bytes;
  };
  const std::vector<std::function<void()>> misfortunes = {
      [&] { write_bytes(path, flipped(good, good.size() - 1)); },
      [&] { write_bytes(path, good.substr(0, 200)); },
      [&] { write_bytes(path, good.substr(0, 10)); },
      [&] { write_bytes(path, ""); },
      [&] { fs::remove(path); },
      [&] {
        fs::remove(path);
        fs::remove(manifest_path(path));
      },
      [&] {
        fs::remove(path);
        fs::remove(manifest_path(path));
        write_bytes(ledger_path(path), "{\"row\":0,\"tokens\":7,\"lost_tokens\":1}\n");
      },
      [&] { write_bytes(manifest_path(path), flipped(manifest, 20)); },
      [&] { write_bytes(manifest_path(path), manifest.substr(0, manifest.size() / 2)); },
      [&] {
        fs::remove(manifest_path(path));
        write_bytes(publishing_path(path), R"({"checksum":"0","name":"out"})");
      },
  };
  for (size_t i = 0; i < misfortunes.size(); ++i) {
    misfortunes[i]();
    const ProgramEnd end = encode(run(path), false);
    EXPECT_EQ(end.exit_code, 0) << "case " << i << ": " << end.err;
    EXPECT_EQ(read_bytes(path), good) << "case " << i;
    EXPECT_FALSE(fs::exists(publishing_path(path)));
  }
}

TEST_F(Outputs, MatrixOfAnotherShapeBesideAManifestIsForeign) {
  const std::string path = dir_.file("out.npy");
  ASSERT_EQ(encode(run(path), false).exit_code, 0);
  write_bytes(path, numpy_matrix());
  fs::remove(dir_.file("cache/encoded_chunks"));
  expect_refused(run(path), path, false);
}

TEST_F(Outputs, FreshDeletesOnlyOwnFinals) {
  const std::string path = dir_.write("out.npy", "a text of the user");
  std::vector<std::string> arguments = run(path);
  arguments.emplace_back("--fresh");
  expect_refused(arguments, path, false);
  EXPECT_EQ(encode(arguments, true).exit_code, 0);
  EXPECT_EQ(encode(arguments, false).exit_code, 0);
}

// A final matrix that has no such list may have a file of the user in its place.
TEST_F(Outputs, FreshDeletesOnlyOwnListsOfRowsThatWereSetAside) {
  const std::string matrix = dir_.file("out.npy");
  ASSERT_EQ(encode(run(matrix), false).exit_code, 0);
  std::vector<std::string> arguments = run(matrix);
  arguments.emplace_back("--fresh");
  const std::string list = set_aside_path(matrix);
  const std::string encoded = dir_.file("cache/encoded_chunks");  // of the runs that may encode
  ASSERT_TRUE(fs::remove(encoded));
  write_bytes(list, "a text of the user");
  expect_refused(arguments, list, false);
  EXPECT_EQ(encode(arguments, true).exit_code, 0);
  EXPECT_FALSE(fs::exists(list));
  write_bytes(list, "{\"code\":\"x\",\"message\":\"m\",\"row\":0}\n");
  EXPECT_EQ(encode(arguments, false).exit_code, 0) << "encode writes such a list";
  EXPECT_FALSE(fs::exists(list));
  ASSERT_TRUE(fs::remove(encoded));
  fs::create_directory(list);
  expect_refused(arguments, list, true);
}

TEST(CacheFiles, LinksAreNotFollowed) {
  for (const std::string name :
       {"status.json", "status.json.tmp", "attempts.json", "attempts.json.tmp", "job.json",
        "model_hashes.json", "products.json", "self_test.json", "encode.log", "LOCK",
        "faults.jsonl", "memory.jsonl"}) {
    Experiment experiment;
    const std::string victim = experiment.dir().write("victim", "a text of the user");
    fs::create_directory(experiment.dir().file("cache"));
    fs::create_symlink(victim, experiment.cache(name));
    experiment.run("crash:1:1");
    EXPECT_EQ(read_bytes(victim), "a text of the user") << name;
  }
}

TEST(CacheFiles, ForeignFilesAreRefused) {
  for (const std::string name : {"status.json", "attempts.json", "job.json", "model_hashes.json",
                                 "products.json", "self_test.json", "encode.log", "LOCK"}) {
    Experiment experiment;
    experiment.dir().write("cache/" + name, "a text of the user");
    EXPECT_EQ(experiment.run().exit_code, ExitCode::kCantCreate) << name;
    EXPECT_EQ(experiment.read(experiment.cache(name)), "a text of the user") << name;
    EXPECT_THAT(experiment.take_encoded_chunks(), IsEmpty());
  }
}

// These files are written without a sync.
TEST(CacheFiles, WhatPowerLossLeavesOfThemIsNoReasonToRefuse) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  for (const std::string& bytes : {std::string(99, '\0'), std::string(99, '\xf8'), std::string()}) {
    for (const std::string name :
         {"status.json", "attempts.json", "job.json", "model_hashes.json", "self_test.json",
          "encode.log", "LOCK", "faults.jsonl", "memory.jsonl"})
      experiment.dir().write("cache/" + name, bytes);
    EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk) << bytes;
  }
}

// The second run finds the files of the first run, and of a run that failed, and accepts them.
TEST(CacheFiles, OwnFilesAreAccepted) {
  Experiment experiment;
  experiment.run("69:2:1");
  experiment.run("crash:3:1");
  experiment.dir().write("cache/self_test.json", R"({"checksum":"0"})");
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
}

// The files that hardware.product_search of earlier versions has left are removed. A file of the
// user with one of these names stays.
TEST(CacheFiles, OfEarlierVersionsAreAcceptedAndRemoved) {
  const TempDir dir;
  const std::string book = R"({"checksum":"0", "devices":[{"cublaslt":130100}], "format":1})";
  dir.write("own/products.json", book);
  dir.write("own/products_lock", "");
  EXPECT_NO_THROW(check_cache_files(dir.file("own")));
  EXPECT_THAT(remove_cache_directory(dir.file("own"), "a"), IsEmpty());
  EXPECT_FALSE(fs::exists(dir.file("own")));

  dir.write("foreign/products.json", "a text of the user");
  dir.write("foreign/products_lock", "a text of the user");
  EXPECT_THROW(check_cache_files(dir.file("foreign")), Error);
  EXPECT_THAT(remove_cache_directory(dir.file("foreign"), "a"),
              UnorderedElementsAre("products.json", "products_lock"));
}

TEST(CacheFiles, LeftoversOfKilledRunsAreSweptAndNothingElse) {
  Experiment experiment;
  const std::string suffix = ".tmp.1.0123456789abcdef";
  const std::vector<std::string> own = {
      ".job.json",      ".model_hashes.json",       ".self_test.json", ".status.json",
      ".attempts.json", ".train_tc.rejected.jsonl", ".train_tc.stdin"};
  const std::vector<std::string> foreign = {".notes.txt" + suffix, ".job.json.tmp",
                                            "job.json" + suffix, ".job.json.tmp.1.0123"};
  for (const std::string& name : own) experiment.dir().write("cache/" + name + suffix, "");
  for (const std::string& name : foreign) experiment.dir().write("cache/" + name, "");
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
  for (const std::string& name : own) EXPECT_FALSE(fs::exists(experiment.cache(name + suffix)));
  for (const std::string& name : foreign) EXPECT_TRUE(fs::exists(experiment.cache(name))) << name;
}

}  // namespace
}  // namespace encode::testing
