// Tests `encode report` on real runs: the times of the stages, and the quantization error.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/npy.h"
#include "real_run.h"
#include "support/npy_values.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 1500;  // the report takes all rows as its sample

// A run with a config, as `encode report` needs it. The final matrix is demo_tc_embeddings.npy.
class ReportOfARun : public ::testing::Test {
 protected:
  void run(const std::string& semantic, const std::string& hardware) const {
    runs_.dir().write(
        "config.yaml",
        fmt::format("semantic: {{model: {0}/model, cache_dir: {0}/cache, chunk_size: 100, {1}}}\n"
                    "hardware: {{device: cpu, threads: 1, {2}}}\n"
                    "data: {{streams: {{tc: {{}}}}, splits: {{demo: {{tc: {0}/texts.txt}}}}}}\n",
                    runs_.dir().path(), semantic, hardware));
    const ProgramEnd end = call({"run"});
    ASSERT_EQ(end.exit_code, 0) << end.err;
  }

  ProgramEnd call(std::vector<std::string> words) const {
    words.insert(words.end(), {"--config", runs_.dir().file("config.yaml")});
    return Program(runs_.dir().path(), words).wait();
  }

  // Returns the data of the page.
  Json report() const {
    const std::string page = runs_.dir().file("report.html");
    const ProgramEnd end = call({"report", "--output", page});
    EXPECT_EQ(end.exit_code, 0) << end.err;
    const std::string text = read_bytes(page);
    const std::string open = "<script id=\"data\" type=\"application/json\">";
    const size_t begin = text.find(open) + open.size();
    return Json::parse(text.substr(begin, text.find("</script", begin) - begin));
  }

  std::string final() const { return runs_.dir().file("cache/demo_tc_embeddings.npy"); }
  std::string chunk(int64_t index) const {
    return runs_.dir().file(fmt::format("cache/demo_tc_chunks/chunk_{:04}.npy", index));
  }

  const RealRun runs_{"bert", kRows};
};

TEST_F(ReportOfARun, StagesAreThoseOfAllWorkersAndGrowFromSampleToSample) {
  run("dtype: float32", "worker_chunks: 1");
  const ProgramEnd end = call({"status", "--json"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const Json status = Json::parse(end.out);
  const Json& samples = status["memory"];
  ASSERT_GE(samples.size(), 3U) << "each worker leaves a sample when it ends";
  for (const auto& [name, seconds] : status["stages"].items()) {
    EXPECT_EQ(samples.back()["stages"][name], seconds) << name;
    for (size_t i = 1; i < samples.size(); ++i)
      EXPECT_GE(samples[i]["stages"][name], samples[i - 1]["stages"][name]) << name;
  }
  for (const char* name : {"read", "tokenize", "pack", "encode", "commit"})
    EXPECT_GT(status["stages"][name], 0) << name;
  EXPECT_GT(samples[1]["stages"]["encode"], samples[0]["stages"]["encode"]);

  const Json page = report();
  EXPECT_EQ(page["run"]["stages"], status["stages"]);
  ASSERT_EQ(page["timeline"].size(), samples.size());
  for (size_t i = 0; i < samples.size(); ++i)
    EXPECT_EQ(page["timeline"][i]["stages"], samples[i]["stages"]) << i;
  EXPECT_THAT(call({"status", "--verbose"}).out, HasSubstr("\nstages    encoding "));
}

// Before its first window a worker has only waited. If the window began with this wait, a status
// would show only "rows awaited 100 %" for a minute.
TEST_F(ReportOfARun, AWindowBeginsWithTheStagesOfTheWindowsBeforeIt) {
  run("dtype: float32, keep_chunk_cache: true", "max_restarts: 5");
  // Starts the worker once more, without a supervisor, on the job of the run.
  const std::string chunks = runs_.dir().file("cache/demo_tc_chunks");
  for (const auto& entry : std::filesystem::directory_iterator(chunks)) {
    if (entry.path().filename().string().starts_with("chunk_")) std::filesystem::remove(entry);
  }
  write_bytes(chunks + "/chunks.log", "");
  const std::string events = runs_.dir().file("events");
  const std::string command =
      fmt::format("'{}' --job '{}' --events 3 3>'{}'", built_file(FAKE_WORKER_PROGRAM),
                  runs_.dir().file("cache/job.json"), events);
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::istringstream lines(read_bytes(events));
  std::vector<Json> windows;
  for (std::string line; std::getline(lines, line);) {
    Json event = Json::parse(line);
    if (event["kind"] == "window_started") windows.push_back(event["stages"]);
  }
  ASSERT_FALSE(windows.empty());
  for (const auto& [name, seconds] : windows.front().items()) EXPECT_EQ(seconds, 0) << name;
  for (size_t i = 1; i < windows.size(); ++i) EXPECT_GT(windows[i]["encode"], 0) << i;
}

TEST_F(ReportOfARun, TextsThatWereNotEncodedAreNotShownBesideTheVectors) {
  run("dtype: float32", "max_restarts: 5");
  const Json before = report();
  EXPECT_EQ(before["problems"], Json::array());
  EXPECT_NE(before["streams"][0]["sample"]["queries"][0]["text"], "");
  std::string texts = read_bytes(runs_.dir().file("texts.txt"));
  texts[0] = texts[0] == 'x' ? 'y' : 'x';
  write_bytes(runs_.dir().file("texts.txt"), texts);
  const Json page = report();
  ASSERT_EQ(page["problems"].size(), 1U);
  EXPECT_THAT(page["problems"][0].get<std::string>(), HasSubstr("[report.texts]"));
  for (const Json& query : page["streams"][0]["sample"]["queries"]) EXPECT_EQ(query["text"], "");
}

// Returns the vectors of the chunks, in the order of the rows.
std::vector<float> chunk_values(const std::function<std::string(int64_t)>& path) {
  std::vector<float> all;
  for (int64_t index = 0; std::filesystem::exists(path(index)); ++index) {
    const std::vector<float> values = npy_values<float>(path(index));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

struct Distance {
  double largest = 0;
  double root_mean = 0;
  double mean_cosine = 0;
  double least_cosine = 1;
};

// Compares two matrices of `dim` columns without the code of the report.
Distance error_of(const std::vector<float>& exact, const std::vector<double>& found, size_t dim) {
  Distance error;
  double squares = 0;
  for (size_t row = 0; row < exact.size(); row += dim) {
    double dot = 0;
    double a = 0;
    double b = 0;
    for (size_t i = row; i < row + dim; ++i) {
      const double x = exact[i];
      error.largest = std::max(error.largest, std::abs(x - found[i]));
      squares += (x - found[i]) * (x - found[i]);
      dot += x * found[i];
      a += x * x;
      b += found[i] * found[i];
    }
    const double cosine = dot / std::sqrt(a * b);
    error.mean_cosine += cosine / static_cast<double>(exact.size() / dim);
    error.least_cosine = std::min(error.least_cosine, cosine);
  }
  error.root_mean = std::sqrt(squares / static_cast<double>(exact.size()));
  return error;
}

void expect_error(const Json& shown, const Distance& expected) {
  constexpr double kTolerance = 1e-5;
  EXPECT_NEAR(shown["largest"].get<double>(), expected.largest, kTolerance);
  EXPECT_NEAR(shown["root_mean"].get<double>(), expected.root_mean, kTolerance);
  EXPECT_NEAR(shown["mean_cosine"].get<double>(), expected.mean_cosine, kTolerance);
  EXPECT_NEAR(shown["least_cosine"].get<double>(), expected.least_cosine, kTolerance);
}

TEST_F(ReportOfARun, QuantizationErrorOfInt8IsThatOfTheFinalAndItsChunks) {
  run("keep_chunk_cache: true, output_dtype: int8", "max_restarts: 5");
  const std::vector<float> exact = chunk_values([this](int64_t index) { return chunk(index); });
  const std::vector<int8_t> stored = npy_values<int8_t>(final());
  const std::vector<float> ranges = npy_values<float>(final() + ".ranges.npy");
  const size_t dim = ranges.size() / 2;
  ASSERT_EQ(exact.size(), static_cast<size_t>(kRows) * dim);
  ASSERT_EQ(stored.size(), exact.size());
  std::vector<double> found;
  double widest_step = 0;
  for (size_t i = 0; i < stored.size(); ++i) {
    const double lowest = ranges[i % dim];
    const double step = (ranges[dim + i % dim] - lowest) / 255;
    widest_step = std::max(widest_step, step);
    found.push_back(lowest + (stored[i] + 128.5) * step);
  }
  const Json page = report();
  EXPECT_EQ(page["problems"], Json::array());
  const Json& stream = page["streams"][0];
  ASSERT_EQ(stream["sample"]["rows"], kRows);
  expect_error(stream["quantization"], error_of(exact, found, dim));
  EXPECT_LE(stream["quantization"]["largest"], 0.51 * widest_step) << "half a bucket";

  // The control: if the chunks have other values, the report has another error.
  std::string bytes = read_bytes(chunk(0));
  const float far = 5;
  std::memcpy(bytes.data() + kNpyHeaderBytes, &far, sizeof far);
  write_bytes(chunk(0), bytes);
  EXPECT_GT(report()["streams"][0]["quantization"]["largest"], 1);
}

TEST_F(ReportOfARun, QuantizationErrorOfBitsIsThatOfTheFinalAndItsChunks) {
  run("keep_chunk_cache: true, output_dtype: ubinary", "max_restarts: 5");
  const std::vector<float> exact = chunk_values([this](int64_t index) { return chunk(index); });
  const std::vector<uint8_t> stored = npy_values<uint8_t>(final());
  const size_t dim = exact.size() / kRows;
  std::vector<double> found;
  for (size_t i = 0; i < exact.size(); ++i) {
    const unsigned byte = stored[i / dim * ((dim + 7) / 8) + i % dim / 8];
    found.push_back((byte >> (7 - i % dim % 8) & 1U) != 0 ? 1 : -1);
  }
  expect_error(report()["streams"][0]["quantization"], error_of(exact, found, dim));
}

TEST_F(ReportOfARun, WithoutChunksThereIsNoQuantizationError) {
  run("output_dtype: float16", "max_restarts: 5");
  const Json page = report();
  EXPECT_FALSE(page["streams"][0].contains("quantization"));
  EXPECT_THAT(page["missing"].dump(), HasSubstr("the quantization error"));
}

}  // namespace
}  // namespace encode::testing
