// Tests hardware.product_search as a whole program, on the stand-in: which algorithms a run takes,
// and that a resumed run takes the same ones. fake_products.h describes the algorithms.
#include <filesystem>
#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "base/json.h"
#include "real_run.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kRows = 60;

class SearchedProducts : public ::testing::Test {
 protected:
  ProgramEnd run(const std::string& name, std::vector<std::string> more = {},
                 const Program::Environment& environment = {}) const {
    more.insert(more.end(), {"--device", "cuda:1", "--product-search", "--chunk-size", "20",
                             "--keep-chunks", "--cache-dir", cache()});
    return Program(runs_.dir().path(), runs_.arguments(name, more), environment).wait();
  }

  // Ends with chunks 0 and 1 in the cache, and without the final.
  void SetUp() override {
    const ProgramEnd end = run("out");
    ASSERT_EQ(end.exit_code, 0) << end.err;
    expected_ = read_bytes(runs_.matrix("out"));
    first_file_ = read_bytes(file());
    for (const auto& entry : fs::recursive_directory_iterator(cache())) {
      if (entry.path().filename() == "chunk_0002.npy") last_chunk_ = entry.path();
    }
    ASSERT_TRUE(fs::remove(last_chunk_));
    fs::remove(runs_.matrix("out"));
    fs::remove(runs_.matrix("out") + ".manifest.json");
  }

  std::string cache() const { return runs_.dir().file("cache"); }
  std::string file() const { return cache() + "/products.json"; }
  std::vector<ChunkOrigin> origins() const { return read_manifest(runs_.matrix("out"))->origins; }
  void expect_the_same_matrix() const {
    EXPECT_TRUE(read_bytes(runs_.matrix("out")) == expected_);
    EXPECT_EQ(origins().size(), 1U);
    EXPECT_EQ(origins().at(0).products.size(), 32U);
  }
  std::string strict() const {
    return runs_.dir().write("strict.yaml", "hardware: {strict_numerics: true}\n");
  }

  const RealRun runs_{"bert", kRows};
  std::string expected_;
  std::string first_file_;
  fs::path last_chunk_;
};

// Another search would take another algorithm, because other algorithms are fast now.
const Program::Environment kOtherTimes = {{"FAKE_PRODUCTS_FAST", "0"}};

TEST_F(SearchedProducts, AreTakenFromTheFileByAResumedRun) {
  const ProgramEnd end = run("out", {}, kOtherTimes);
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, Not(HasSubstr("other matrix products")));
  expect_the_same_matrix();
  EXPECT_EQ(read_bytes(file()), first_file_);
}

TEST_F(SearchedProducts, AreSearchedAgainWithoutTheFileAndTheRunWarns) {
  fs::remove(file());
  const ProgramEnd end = run("out", {}, kOtherTimes);
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("other matrix products"));
  EXPECT_EQ(origins().size(), 2U);
}

TEST_F(SearchedProducts, AreRefusedWithoutTheFileByStrictNumerics) {
  fs::remove(file());
  const ProgramEnd end = run("out", {"--config", strict()}, kOtherTimes);
  EXPECT_EQ(end.exit_code, 78) << end.err;
  EXPECT_THAT(end.err, HasSubstr("run.other_device"));
}

// The search finds the same algorithms, so nothing has changed.
TEST_F(SearchedProducts, MayBeFoundAgainWithoutTheFile) {
  fs::remove(file());
  const ProgramEnd end = run("out", {"--config", strict()});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  expect_the_same_matrix();
}

TEST_F(SearchedProducts, OfADamagedFileAreSearchedAgain) {
  std::string damaged = first_file_;
  damaged[damaged.size() / 2] ^= 1;
  write_bytes(file(), damaged);
  const ProgramEnd end = run("out", {"--config", strict()});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("searched again"));
  expect_the_same_matrix();
  EXPECT_EQ(read_bytes(file()), first_file_);
}

TEST_F(SearchedProducts, OfAnotherVersionOfCublasLtAreSearchedAndBothAreKept) {
  Program::Environment other = kOtherTimes;
  other["FAKE_PRODUCTS_VERSION"] = "130200";
  const ProgramEnd refused = run("out", {"--config", strict()}, other);
  EXPECT_EQ(refused.exit_code, 78) << refused.err;
  ASSERT_EQ(run("out", {"--config", strict()}).exit_code, 0);
  expect_the_same_matrix();
  EXPECT_EQ(Json::parse(read_bytes(file())).at("devices").size(), 2U);
}

TEST_F(SearchedProducts, ThatCublasLtRefusesAreSearchedAgain) {
  const ProgramEnd end = run("out", {}, {{"FAKE_PRODUCTS_REFUSED", "2"}});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("does not take the algorithm"));
  EXPECT_THAT(end.err, HasSubstr("other matrix products"));
}

TEST_F(SearchedProducts, NeedTheirLock) {
  fs::remove(cache() + "/products_lock");
  fs::create_directory(cache() + "/products_lock");
  const ProgramEnd end = run("out");
  EXPECT_NE(end.exit_code, 0);
  EXPECT_THAT(end.err, HasSubstr("products.file"));
}

TEST_F(SearchedProducts, AreThoseOfEveryDeviceOfARun) {
  const std::string config = runs_.dir().write(
      "both.yaml",
      fmt::format("semantic: {{model: {}, cache_dir: {}, chunk_size: 5}}\n"
                  "hardware: {{devices: ['cuda:0', 'cuda:1'], product_search: true}}\n"
                  "data: {{streams: {{a: {{}}}}, splits: {{train: {{a: {{file: {}}}}}}}}}\n",
                  runs_.dir().file("model"), runs_.dir().file("both"),
                  runs_.dir().file("texts.txt")));
  const ProgramEnd end =
      Program(runs_.dir().path(), {"run", "--config", config, "--no-progress"}).wait();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("cuda:0"));
  EXPECT_THAT(end.err, HasSubstr("cuda:1"));
  const std::string matrix = runs_.dir().file("both/train_a_embeddings.npy");
  EXPECT_TRUE(read_bytes(matrix) == expected_);
  const auto found = read_manifest(matrix)->origins;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at(0).products.size(), 32U);
}

TEST_F(SearchedProducts, AreOffUnlessAskedFor) {
  const std::vector<std::string> off = {"--device", "cuda:1",      "--chunk-size",
                                        "20",       "--cache-dir", cache()};
  const ProgramEnd end = Program(runs_.dir().path(), runs_.arguments("out", off)).wait();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("other matrix products")) << "the chunks before have chosen ones";
  const auto found = origins();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found.at(1).products, "");
}

TEST_F(SearchedProducts, GiveTheSameBytesInStandardModeAndInChunksOfEachSize) {
  for (const std::vector<std::string>& extra :
       {std::vector<std::string>{"--standard"}, {"--chunk-size", "7"}}) {
    std::vector<std::string> options = {"--device", "cuda:1", "--product-search"};
    options.insert(options.end(), extra.begin(), extra.end());
    const ProgramEnd end = Program(runs_.dir().path(), runs_.arguments("other", options)).wait();
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_TRUE(read_bytes(runs_.matrix("other")) == expected_) << extra.front();
    fs::remove(runs_.matrix("other"));
    fs::remove(runs_.matrix("other") + ".manifest.json");
  }
}

}  // namespace
}  // namespace encode::testing
