// The JSON between encode and encode-worker loses nothing, and rejects what it does not understand.
#include <cstdint>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/job.h"

#include "base/json.h"

namespace encode {
namespace {

// Every member different from its default and from every other member of its type.
class Filler {
 public:
  explicit Filler(uint64_t seed) : random_(seed) {}

  std::string text() {
    static const std::string kPieces[] = {
        "a", "é", "\"", "\\", "\n", "/", "😀", std::string(1, '\0'), "Z"};
    std::string text = "t" + std::to_string(++count_);
    for (int i = 0; i < 5; ++i) text += kPieces[random_() % std::size(kPieces)];
    return text;
  }
  int64_t integer() { return static_cast<int64_t>(random_() >> 1); }
  double number() { return static_cast<double>(random_()) / 977.0; }

  InputScan scan() {
    InputScan scan = {integer(), integer(), integer(), integer(), integer(), integer(),
                      integer(), integer(), text(),    integer(), {}};
    for (int i = 0; i < 3; ++i)
      scan.checkpoints.push_back({integer(), integer(), integer(), integer()});
    return scan;
  }
  StreamConfig stream() {
    return {.split = text(),
            .stream = text(),
            .input = {text(), text(), TextFormat::kTsv, BadRowPolicy::kReject,
                      EmptyRowPolicy::kError, Utf8Policy::kError, integer(), integer()},
            .result = {text(), text(), PoolingMode::kLastToken, true, integer(), integer(), text(),
                       text(), false, ComputeType::kFloat16, MatmulPrecision::kHigh},
            .speed = {integer(), integer(), integer(), integer(), integer()}};
  }
  JobSpec job() {
    JobSpec spec{text(), {text(), false, text(), integer()}, {}, number()};
    for (int i = 0; i < 2; ++i) {
      spec.units.push_back({stream(),
                            {text(), text(), integer(), integer(), true},
                            scan(),
                            integer(),
                            false,
                            integer(),
                            text()});
    }
    return spec;
  }
  WorkerEvent event() {
    WorkerEvent event;
    event.kind = WorkerEvent::Kind::kError;
    event.unit = integer();
    event.chunk = integer();
    event.rows = {integer(), integer()};
    event.rows_done = integer();
    event.tokens_done = integer();
    event.dim = integer();
    event.file_bytes = integer();
    event.seconds = number();
    event.stats = {integer(), integer(), integer(), integer(), integer()};
    event.device_allocated_bytes = integer();
    event.device_reserved_bytes = integer();
    event.device_peak_bytes = integer();
    event.host_rss_bytes = integer();
    event.token_slots = integer();
    event.stages = {number(), number(), number(), number(), number(), number(), number()};
    event.products = {integer(), number(), number(), number(), number()};
    event.device = text();
    event.path = text();
    event.level = text();
    event.message = text();
    event.error = {ExitCode::kUnavailable, text(), text(), text(), text(), text(), text()};
    return event;
  }

 private:
  std::mt19937_64 random_;
  int count_ = 0;
};

// Counts the leaves of a document that equal the same leaf of another one.
int equal_leaves(const Json& a, const Json& b) {
  const Json flat_a = a.flatten();
  const Json flat_b = b.flatten();
  int equal = 0;
  for (const auto& [key, value] : flat_a.items())
    equal += flat_b.contains(key) && flat_b[key] == value ? 1 : 0;
  return equal;
}

TEST(JobProtocol, EveryComputeTypeComesBack) {
  for (const auto type : {ComputeType::kFloat32, ComputeType::kBFloat16, ComputeType::kFloat16,
                          ComputeType::kInt8, ComputeType::kFp8}) {
    JobSpec spec = Filler(1).job();
    spec.units[0].config.result.dtype = type;
    EXPECT_EQ(job_spec_from_json(to_json(spec)).units[0].config.result.dtype, type);
  }
}

// Configs may say "fp32"; one program says a type to the other in one way.
TEST(JobProtocol, RefusesTheNamesThatUsersMayWriteInstead) {
  JobSpec spec = Filler(1).job();
  spec.units[0].config.result.dtype = ComputeType::kBFloat16;
  std::string text = to_json(spec);
  const std::string name = "\"bfloat16\"";
  ASSERT_NE(text.find(name), std::string::npos);
  text.replace(text.find(name), name.size(), "\"bf16\"");
  EXPECT_THROW(job_spec_from_json(text), Error);
}

TEST(JobProtocol, JobSpecSurvivesTheRoundTripWithEveryField) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const JobSpec spec = Filler(seed).job();
    const std::string json = to_json(spec);
    EXPECT_EQ(to_json(job_spec_from_json(json)), json);
    // A member that is not read back would show its default: no leaf may equal the one of an empty
    // job.
    JobSpec empty;
    empty.units.resize(2);
    for (JobUnit& unit : empty.units) unit.scan.checkpoints.resize(3);
    const Json read_back = Json::parse(to_json(job_spec_from_json(json)));
    EXPECT_EQ(equal_leaves(read_back, Json::parse(to_json(empty))), 0);
  }
}

TEST(JobProtocol, AbsentOptionsStayAbsent) {
  JobSpec spec;
  spec.units.resize(1);
  const ResultOptions result = job_spec_from_json(to_json(spec)).units[0].config.result;
  EXPECT_FALSE(result.pooling || result.normalize || result.max_length || result.prompt ||
               result.causal);
  spec.units[0].config.result.prompt = "";  // an empty prompt is not the same as no prompt
  EXPECT_EQ(job_spec_from_json(to_json(spec)).units[0].config.result.prompt, "");
}

TEST(JobProtocol, EventSurvivesTheRoundTripWithEveryField) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::string line = to_json_line(Filler(seed).event());
    EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line, whatever the message holds";
    EXPECT_EQ(to_json_line(worker_event_from_json(line)), line);
    EXPECT_EQ(Json::parse(line).size(), 22U)
        << "every member differs from its default and must be sent";
  }
}

TEST(JobProtocol, EveryKindOfEventHasAName) {
  for (int kind = 0; kind <= static_cast<int>(WorkerEvent::Kind::kFinished); ++kind) {
    WorkerEvent event;
    event.kind = static_cast<WorkerEvent::Kind>(kind);
    EXPECT_EQ(worker_event_from_json(to_json_line(event)).kind, event.kind);
  }
}

TEST(JobProtocol, EventWithBrokenUtf8IsStillALine) {
  WorkerEvent event;
  event.message = "row \xff\xfe ends";
  EXPECT_EQ(worker_event_from_json(to_json_line(event)).message,
            "row \xEF\xBF\xBD\xEF\xBF\xBD ends");
}

TEST(JobProtocol, GarbageIsAnInternalErrorNeverACrash) {
  const std::string good = to_json_line(Filler(1).event());
  std::vector<std::string> lines = {"",
                                    "\n",
                                    "{}",
                                    "[]",
                                    "null",
                                    "Segmentation fault",
                                    R"({"kind":"unheard_of"})",
                                    R"({"kind":7})",
                                    R"({"kind":"batch","unit":"0"})",
                                    R"({"kind":"batch","unit":1.5})",
                                    R"({"kind":"batch","unit":18446744073709551615})",
                                    R"({"kind":"batch","stats":[]})",
                                    R"({"kind":"batch","stats":{"tokens":1}})",
                                    R"({"kind":"error","error":{"exit_code":900}})",
                                    std::string(100000, '['),
                                    std::string(2 << 20, ' ')};
  for (size_t size = 0; size + 2 < good.size(); size += 3) lines.push_back(good.substr(0, size));
  for (const std::string& line : lines) {
    try {
      worker_event_from_json(line);
      ADD_FAILURE() << "accepted: " << line.substr(0, 60);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kInternal) << line.substr(0, 60);
    }
  }
  EXPECT_NO_THROW(worker_event_from_json(good));
}

TEST(JobProtocol, JobWithAFieldMissingIsRefusedByName) {
  const Json whole = Json::parse(to_json(Filler(3).job()));
  for (const char* key : {"cache_dir", "hardware", "units"}) {
    Json cut = whole;
    cut.erase(key);
    try {
      job_spec_from_json(cut.dump());
      ADD_FAILURE() << key;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(key));
      EXPECT_EQ(error.exit_code(), ExitCode::kInternal);
    }
  }
}

TEST(JobProtocol, PathThatIsNotUtf8IsAConfigError) {
  JobSpec spec;
  spec.cache_dir = "cache/\xff";
  try {
    to_json(spec);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kConfig);
  }
}

}  // namespace
}  // namespace encode
