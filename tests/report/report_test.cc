#include "report/report.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/npy.h"
#include "report/page.h"
#include "store/fingerprint/fingerprint.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::HasSubstr;

class Report : public ::testing::Test {
 protected:
  Report() {
    config_.run.store.cache_dir = directory_.path();
    config_.run.streams.push_back(
        {.split = "demo", .stream = "tc", .input = {}, .result = {}, .speed = {}});
    config_.run.streams.front().input.path = directory_.path() + "/texts.txt";
    config_.run.streams.front().result.model = directory_.path() + "/no-model";
    write_file_without_sync(directory_.path() + "/texts.txt",
                            "</script><b>\n\xFF invalid\nthird\nfourth\n");
  }

  // Four vectors of two numbers; rows 0 and 1 are equal.
  void write_final() {
    const CacheLock lock = CacheLock::acquire(directory_.path());
    const StreamIdentity identity{
        .name = "demo_tc", .fingerprint = fingerprint(), .rows = 4, .dim = 2};
    const auto writer = begin_final(matrix(), identity);
    writer->append(std::vector<float>{1, 0, 1, 0, 0, 1, -1, 0});
    writer->append_truncated(std::vector<TruncatedRow>{{.row = 2, .tokens = 8, .lost_tokens = 3}});
    writer->publish({.tokens = 20, .truncated_rows = 1, .lost_tokens = 3}, {.device = "cpu"});
  }

  // Returns the fingerprint of the texts as they are now.
  std::string fingerprint() const {
    const std::string texts = directory_.path() + "/texts.txt";
    const UniqueFd fd = open_for_reading(texts, "io.read");
    Fingerprint fingerprint;
    fingerprint.input = config_.run.streams.front().input;
    fingerprint.input_files.push_back(
        {.path = texts, .bytes = file_size(fd, texts), .sha256 = sha256_of(fd, texts)});
    return to_text(fingerprint);
  }

  std::string matrix() const { return final_path(directory_.path(), "demo_tc"); }

  testing::TempDir directory_;
  LoadedConfig config_;
};

TEST_F(Report, CountsRowsWithoutAText) {
  write_file_without_sync(directory_.path() + "/texts.txt", "first\n\n  \nfourth\n");
  write_final();
  const Json rows = collect_report(config_)["streams"][0]["empty_rows"];
  EXPECT_EQ(
      rows["found"],
      "of 4 rows that were looked at, 1 row has an empty text, and 1 row has only white space");
  EXPECT_THAT(rows["next"].get<std::string>(), HasSubstr("--empty-row reject"));
}

TEST_F(Report, ShowsAFinishedStream) {
  write_final();
  const Json report = collect_report(config_);
  EXPECT_EQ(report["problems"], Json::array());
  const Json& stream = report["streams"][0];
  EXPECT_EQ(stream["final"]["vectors"], 4);
  EXPECT_EQ(stream["truncated"][0]["lost_tokens"], 3);
  EXPECT_THAT(stream["truncation"]["found"].get<std::string>(),
              HasSubstr("1 of 4 rows (25.0 %) is longer than"));
  EXPECT_NEAR(stream["truncation"]["lost_share"].get<double>(), 3.0 / 23, 1e-9);
  EXPECT_THAT(stream["truncation"]["next"].get<std::string>(), HasSubstr("if the model allows it"))
      << "the model is not on this machine";
  EXPECT_FALSE(stream.contains("empty_rows"));
  EXPECT_EQ(stream["sample"]["near_duplicates"], 0.5);
  // The pairs have the cosines 1, 0, -1, 0, -1, 0.
  EXPECT_NEAR(stream["sample"]["mean_cosine"].get<double>(), -1.0 / 6, 1e-6);
  EXPECT_EQ(report["map"]["streams"][0]["points"][0]["text"], "</script><b>");
  EXPECT_EQ(report["map"]["streams"][0]["points"][1]["text"], "\xEF\xBF\xBD invalid");
  EXPECT_THAT(report["missing"].dump(), HasSubstr("token lengths"));
  EXPECT_EQ(html_page(report).find("</script><b>"), std::string::npos);
}

TEST_F(Report, ShowsNoTextsIfTheInputHasChanged) {
  write_final();
  write_file_without_sync(directory_.path() + "/texts.txt", "first\nsecond\nthird\nfourth\n");
  const Json report = collect_report(config_);
  ASSERT_EQ(report["problems"].size(), 1U);
  EXPECT_THAT(report["problems"][0].get<std::string>(), HasSubstr("report.texts"));
  EXPECT_EQ(report["map"]["streams"][0]["points"][0]["text"], "");
}

// Samples as in memory.jsonl, at 100.250 s and later.
std::string memory_lines(const std::vector<std::string>& samples) {
  std::string lines = "{\"encode\":\"memory\",\"format\":1}\n";
  for (const std::string& sample : samples)
    lines += R"({"worker_bytes":2,"host_available_bytes":3,"host_limit_bytes":4,)"
             R"("device_allocated_bytes":0,"device_reserved_bytes":0,"device_peak_bytes":0,)"
             R"("device_total_bytes":0,)" +
             sample + "}\n";
  return lines;
}

TEST_F(Report, ShowsTheThroughputOfAShortRun) {
  { const CacheLock lock = CacheLock::acquire(directory_.path()); }
  const auto rates = [&](const std::vector<std::string>& samples) {
    write_file_without_sync(directory_.path() + "/memory.jsonl", memory_lines(samples));
    Json shown = Json::array();
    const Json report = collect_report(config_);
    for (const Json& point : report["timeline"]) shown.push_back(point["tokens_per_second"]);
    return shown.dump();
  };
  const std::string begin = R"("time":100,"milliseconds":250,"tokens":0)";
  EXPECT_EQ(rates({begin, R"("time":100,"milliseconds":750,"tokens":600)"}), "[1200.0,1200.0]")
      << "half a second";
  EXPECT_EQ(rates({begin, R"("time":102,"milliseconds":250,"tokens":600)",
                   R"("time":103,"milliseconds":250,"tokens":600)",
                   R"("time":104,"milliseconds":250,"tokens":1200)",
                   R"("time":200,"milliseconds":0,"tokens":0)",
                   R"("time":201,"milliseconds":0,"tokens":50)"}),
            "[300.0,300.0,null,300.0,50.0,50.0]")
      << "a second run, and a sample between two batches";
  EXPECT_EQ(rates({begin}), "[null]");
  EXPECT_EQ(rates({R"("time":1,"tokens_per_second":0)", R"("time":60,"tokens_per_second":7)"}),
            "[null,7.0]")
      << "of an older version";
  EXPECT_EQ(collect_report(config_)["problems"], Json::array());
}

// A run that has dropped rows has fewer vectors than its input has rows.
TEST_F(Report, ShowsTheTextsOfTheRowsThatAreLeft) {
  const StreamIdentity identity{
      .name = "demo_tc", .fingerprint = fingerprint(), .rows = 4, .dim = 2};
  {
    const CacheLock lock = CacheLock::acquire(directory_.path());
    const auto store = ChunkStore::open(directory_.path(), identity, 4, ChunkStore::Open::kFresh);
    const auto writer = store->begin(0);
    writer->append(std::vector<float>{1, 0, 0, 0, 0, 1, -1, 0});
    const SetAsideRow bad = {.row = 1, .code = "device.cuda", .message = "m"};
    writer->append_set_aside(std::span(&bad, 1));
    writer->commit({.tokens = 20, .set_aside_rows = 1}, {.device = "cpu"});
    store->assemble(matrix(),
                    {.format = {}, .quarantine = QuarantinePolicy::kDrop, .set_aside = {bad}}, {});
  }
  const Json report = collect_report(config_);
  EXPECT_EQ(report["problems"], Json::array());
  const Json& points = report["map"]["streams"][0]["points"];
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0]["row"], 0);
  EXPECT_EQ(points[1]["row"], 2);
  EXPECT_EQ(points[1]["text"], "third");
  EXPECT_EQ(points[2]["text"], "fourth");
  std::filesystem::remove(set_aside_path(matrix()));
  EXPECT_THAT(collect_report(config_)["problems"].dump(), HasSubstr("set_aside.jsonl"));
}

TEST_F(Report, SaysWhatAnUnfinishedRunHasNotMade) {
  const Json report = collect_report(config_);
  EXPECT_THAT(report["missing"].dump(), HasSubstr("demo_tc: no finished matrix"));
  EXPECT_THAT(report["missing"].dump(), HasSubstr("memory.jsonl"));
  EXPECT_TRUE(report["map"].is_null());
}

// docs/store-format.md describes the form of memory.jsonl.
TEST_F(Report, ShowsTheStagesOfEachSampleAndOfTheRun) {
  { const CacheLock lock = CacheLock::acquire(directory_.path()); }
  std::string lines = "{\"encode\":\"memory\",\"format\":1}\n";
  for (const char* stages : {"", R"(,"stages":{"read":1.5,"encode":2})"}) {
    lines += std::string(R"({"time":7,"worker_bytes":2,"host_available_bytes":3,)"
                         R"("host_limit_bytes":4,"device_allocated_bytes":0,)"
                         R"("device_reserved_bytes":0,"device_peak_bytes":0,)"
                         R"("device_total_bytes":0)") +
             stages + "}\n";
  }
  write_file_without_sync(directory_.path() + "/memory.jsonl", lines);
  write_file_without_sync(directory_.path() + "/status.json",
                          R"({"state":"done","stages":{"rows awaited":0.5,"encode":9}})");
  const Json report = collect_report(config_);
  EXPECT_EQ(report["problems"], Json::array());
  ASSERT_EQ(report["timeline"].size(), 2U);
  EXPECT_EQ(report["timeline"][0]["stages"]["encode"], 0) << "of an older version";
  EXPECT_EQ(report["timeline"][1]["stages"]["read"], 1.5);
  EXPECT_EQ(report["run"]["stages"]["encode"], 9);
  EXPECT_EQ(report["run"]["stages"]["rows awaited"], 0.5);
  EXPECT_EQ(report["run"]["stages"]["commit"], 0) << "the page needs every stage";
}

TEST_F(Report, NamesADamagedFileAndReportsTheRest) {
  write_final();
  write_file_without_sync(ledger_path(matrix()), "{\"row\":<}\n");
  const Json report = collect_report(config_);
  EXPECT_THAT(report["problems"].dump(), HasSubstr("demo_tc_embeddings.truncated.jsonl"));
  EXPECT_THAT(report["problems"].dump(), HasSubstr("report.ledger"));
  EXPECT_EQ(report["streams"][0]["sample"]["rows"], 4);
  write_file_without_sync(manifest_path(matrix()), "{}");
  EXPECT_THAT(collect_report(config_)["problems"].dump(), HasSubstr("manifest.json"));
  write_final();
  std::filesystem::resize_file(matrix(), 140);
  EXPECT_THAT(collect_report(config_)["problems"].dump(), HasSubstr("demo_tc_embeddings.npy"));
}

TEST_F(Report, ReplacesOnlyAReport) {
  const std::string path = directory_.path() + "/page.html";
  write_file_without_sync(path, "my notes");
  try {
    write_report(path, Json::object());
    FAIL() << "a foreign file was replaced";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "report.foreign");
  }
  std::filesystem::remove(path);
  write_report(path, Json::object());
  write_report(path, {{"second", true}});
  EXPECT_THAT(read_file(path, 1 << 22, "io.read"), HasSubstr("second"));
}

TEST_F(Report, NamesRangesThatDoNotFit) {
  write_final();
  {
    const CacheLock lock = CacheLock::acquire(directory_.path());
    reformat_final(matrix(), matrix(), {.type = OutputType::kInt8, .ranges_file = ""}, {});
  }
  EXPECT_EQ(collect_report(config_)["problems"], Json::array());
  write_file_without_sync(ranges_path(matrix()),
                          make_npy_header(1, 2, ItemType::kFloat32) + std::string(8, '\0'));
  EXPECT_THAT(collect_report(config_)["problems"].dump(), HasSubstr("store.damaged"));
}

TEST_F(Report, RefusesAFolderAsOutput) {
  try {
    write_report(directory_.path(), Json::object());
    FAIL() << "a folder was replaced";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "report.output");
  }
}

TEST_F(Report, SaysThatStandardInputCannotBeReadAgain) {
  write_final();
  config_.run.streams.front().input.path = "-";
  EXPECT_THAT(collect_report(config_)["problems"].dump(), HasSubstr("report.stdin"));
}

}  // namespace
}  // namespace encode
