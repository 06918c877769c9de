// Gives `encode search` input that it must refuse, and checks the codes.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "search/searched_run.h"
#include "store/fake_job.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

class SearchErrors : public ::testing::Test {
 protected:
  std::vector<std::string> by_matrix(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"--matrix", run_.matrix(), "--model", run_.model(),
                                      "--device", "cpu",         "zebra"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Writes a config with two streams, which are combined.
  std::string config() const {
    return run_.dir().write("c.yaml", "semantic:\n  model: " + run_.model() +
                                          "\n  cache_dir: " + run_.dir().file("cache") +
                                          "\n  keep_chunk_cache: true\n"
                                          "output: {combine: [tc, commit]}\n"
                                          "hardware:\n  device: cpu\ndata:\n  splits:\n    train:\n"
                                          "      tc: " +
                                          run_.texts() + "\n      commit: " + run_.texts() + "\n");
  }
  void expect(const std::vector<std::string>& arguments, const std::string& code, int exit_code,
              const std::string& text = "") const {
    const ProgramEnd end = run_.search(arguments);
    EXPECT_EQ(end.exit_code, exit_code) << end.err;
    EXPECT_THAT(end.err, HasSubstr("error[" + code + "]"));
    EXPECT_THAT(end.err, HasSubstr(text));
    for (const char* field : {"\n  where ", "\n  expected ", "\n  found ", "\n  hint "})
      EXPECT_THAT(end.err, HasSubstr(field)) << code;
  }

  SearchedRun run_;
};

TEST_F(SearchErrors, CommandLinesThatAreNotComplete) {
  expect({"zebra"}, "usage", 64, "no matrix is named");
  expect({"zebra", "horse"}, "usage", 64, "the text 'zebra'");
  expect({"nowhere.npy", "zebra"}, "npy.open", 66);
  const std::string csv = run_.dir().write("t.csv", "text\na\n");
  expect({csv, "zebra"}, "npy.header", 65,
         "encode run --model DIR --input " + csv + " --field NAME --output t.npy");
  expect({"--matrix", run_.texts(), "zebra"}, "npy.header", 65, "--output rows.npy");
  const std::string matrix = run_.dir().write("m.npy", "");
  expect({"zebra", matrix}, "usage", 64,
         "put the matrix first: encode search " + matrix + " zebra");
  expect({"zebra", "of m.npy"}, "usage", 64, "no matrix is named");
  expect({"--matrix", "nowhere.npy", "zebra"}, "npy.open", 66);
  expect({matrix, "--stream", "tc", "zebra"}, "usage", 64, "--stream names a stream of a config");
  expect(by_matrix({"-k", "0"}), "usage", 64);
  expect(by_matrix({"-k", "10001"}), "usage", 64);
  expect(by_matrix({"--queries", "x"}), "usage", 64);
  expect(by_matrix({"--config", "x"}), "usage", 64);
}

TEST_F(SearchErrors, WordsThatAreNotDevices) {
  for (const char* device : {"gpu", "cuda:x", "cuda:100"})
    expect({"--matrix", run_.matrix(), "--device", device, "zebra"}, "config.value", 64,
           "auto, cpu, cuda or cuda:N");
  const std::string file = run_.dir().write("d.yaml",
                                            "semantic: {model: m}\nhardware: {device: 'cuda:x'}\n"
                                            "input: {file: a.txt}\n");
  expect({"--config", file, "zebra"}, "config.value", 78, "auto, cpu, cuda or cuda:N");
}

TEST_F(SearchErrors, StreamsThatAreNotThere) {
  const std::string file = config();
  expect({"--config", file, "zebra"}, "search.stream", 64, "train_tc, train_commit");
  expect({"--config", file, "--stream", "tcc", "zebra"}, "search.stream", 64, "'tcc'");
  expect({"--config", file, "--stream", "train_combined", "zebra"}, "search.kind", 78,
         "tc, commit");
  expect({"--config", file, "--stream", "tc", "zebra"}, "search.unfinished", 66, "no encoded rows");
  ASSERT_EQ(Program(run_.dir().path(), {"run", "--config", file}).wait().exit_code, 0);
  std::filesystem::remove(run_.dir().file("cache/train_tc_embeddings.npy"));
  expect({"--config", file, "--stream", "tc", "zebra"}, "search.unfinished", 66,
         "10 of 10 rows are encoded");
  expect({"--matrix", run_.dir().file("cache/train_combined_embeddings.npy"), "--model",
          run_.model(), "zebra"},
         "search.kind", 78, "train_commit_embeddings.npy");
}

TEST_F(SearchErrors, MatricesThatCannotBeSearched) {
  expect(by_matrix(), "npy.open", 66);
  run_.run({"--pooling", "none"});
  expect(by_matrix(), "search.kind", 78, "a vector for each token");
  run_.run({"--input", run_.dir().write("empty.txt", ""), "--fresh"});
  expect(by_matrix(), "search.empty", 65);
  run_.run({"--fresh"});
  const std::string manifest = manifest_path(run_.matrix());
  const std::string good = read_bytes(manifest);
  std::string damaged = good;
  damaged[good.size() / 2] ^= 1;
  write_bytes(manifest, damaged);
  expect(by_matrix(), "store.damaged", 65);
  std::filesystem::remove(manifest);
  expect(by_matrix(), "matrix.unfinished", 65);
  write_bytes(manifest, good);
  std::string bytes = read_bytes(run_.matrix());
  bytes[131] = bytes[130] = '\xff';  // the first value becomes NaN
  write_bytes(run_.matrix(), bytes);
  expect(by_matrix(), "matrix.damaged", 65, "row 0");
  write_bytes(run_.matrix(), bytes.substr(0, 200));
  expect(by_matrix(), "npy.header", 65);
}

// One error names everything that is missing, and the flags that say where it is.
TEST_F(SearchErrors, TheModelAndTheTextsThatCannotBeFound) {
  run_.run();
  const std::vector<std::string> words = {run_.matrix(), "--device", "cpu", "zebra"};
  EXPECT_EQ(run_.search(words).exit_code, 0);
  std::filesystem::remove(run_.dir().file(".out.npy.run.json"));
  EXPECT_EQ(run_.search(words).exit_code, 0) << "the manifest names the model, too";
  const std::string moved = run_.dir().file("moved.txt");
  std::filesystem::rename(run_.texts(), moved);
  expect(words, "search.sources", 66, "the texts of the matrix cannot be found");
  expect(words, "search.sources", 66, "name the texts with --texts FILE");
  std::filesystem::rename(run_.model(), run_.dir().file("moved_model"));
  expect(words, "search.sources", 66, "the model and the texts of the matrix cannot be found");
  expect(words, "search.sources", 66, "which is recorded as the model of the run");
  std::vector<std::string> with_flags = words;
  with_flags.insert(with_flags.end(),
                    {"--texts", moved, "--model", run_.dir().file("moved_model")});
  EXPECT_EQ(run_.search(with_flags).exit_code, 0);
}

TEST_F(SearchErrors, AMatrixThatItsRunHasNotFinished) {
  const std::vector<std::string> words = {run_.matrix(), "zebra"};
  expect(words, "npy.open", 66);
  std::filesystem::create_directory(run_.dir().file(".out.npy.cache"));
  run_.dir().write(".out.npy.cache/LOCK", "");
  expect(words, "search.unfinished", 66, "`encode status " + run_.matrix() + "`");
}

TEST_F(SearchErrors, AModelThatTheRunHasNotUsed) {
  run_.run();
  const RealRun other("qwen2", 1);
  expect({"--matrix", run_.matrix(), "--model", other.dir().file("model"), "zebra"}, "search.model",
         78);
  std::string tokenizer = read_bytes(run_.model() + "/tokenizer.json");
  write_bytes(run_.model() + "/tokenizer.json", tokenizer + " ");
  expect(by_matrix(), "search.model", 78, "model file 'tokenizer.json'");
  expect({"--matrix", run_.matrix(), "--model", run_.dir().file("nowhere"), "zebra"},
         "model.not_found", 66);
}

// The fingerprint of this matrix has no version.
TEST_F(SearchErrors, AMatrixOfAnotherVersion) {
  const TempDir cache;
  const FakeJob job;
  run_fake_job(cache.path(), job);
  expect({"--matrix", job.final_path(cache.path()), "--model", run_.model(), "zebra"},
         "search.model", 78, "version 0");
}

TEST_F(SearchErrors, TextsThatWereNotEncoded) {
  run_.run();
  const std::string other = run_.dir().write("other.txt", "a\nb\n");
  expect(by_matrix({"--texts", other}), "search.texts", 65, "input: other content");
  expect(by_matrix({"--texts", run_.texts(), "--texts", other}), "search.texts", 65);
  expect(by_matrix({"--texts", run_.dir().file("nowhere.txt")}), "text.open", 66);
  std::string text = read_bytes(run_.texts());
  text[3] ^= 1;
  write_bytes(run_.texts(), text);
  expect(by_matrix(), "search.texts", 65, "input: other content");
}

TEST_F(SearchErrors, QueriesThatAreMissingEmptyTooLongOrTooMany) {
  run_.run();
  std::vector<std::string> words = by_matrix();
  words.back() = "";
  expect(words, "search.query", 65, "a query is empty");
  words.back() = "a\xff";
  expect(words, "search.query", 65, "not UTF-8");
  words.pop_back();
  expect(words, "search.query", 65, "there is no query");  // standard input is empty
  words.insert(words.end(), {"--queries", run_.dir().write("q.txt", "a\n\nb\n")});
  expect(words, "text.empty", 65, "q.txt:2");
  words.back() = run_.dir().file("nowhere.txt");
  expect(words, "text.open", 66);
  words.back() = run_.dir().write("long.txt", std::string(65'537, 'a') + "\n");
  expect(words, "text.too_long", 65, "long.txt:1");
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += "a\n";
  words.back() = run_.dir().write("many.txt", many);
  expect(words, "search.query", 65, "too many");
}

}  // namespace
}  // namespace encode::testing
