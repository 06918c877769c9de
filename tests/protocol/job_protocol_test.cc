// Tests the JSON between encode and encode-worker. It must keep every field, and documents that
// neither program writes must be refused.
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/job.h"
#include "encode/worker_event.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/refused.h"

namespace encode {
namespace {

// Fills structs so that each member differs from its default and from all other members of its
// type.
class Filler {
 public:
  explicit Filler(uint64_t seed) : random_(seed) {}

  std::string text() {
    static const std::string kPieces[] = {
        "a", "é", "\"", "\\", "\n", "/", "😀", std::string(1, '\0'), "Z"};
    std::string text = fmt::format("t{}", ++count_);
    for (int i = 0; i < 5; ++i) text += kPieces[random_() % std::size(kPieces)];
    return text;
  }
  int64_t integer() { return static_cast<int64_t>(random_() >> 1); }
  double number() { return static_cast<double>(random_()) / 977.0; }

  ErrorDetail error() {
    return {"device.cuda", ExitCode::kTempFail, text(), text(), text(), text(), text(), integer()};
  }

  FileList list() { return {text(), integer(), integer(), text(), text(), text()}; }
  ListedFiles listed() { return {list(), integer(), integer()}; }
  InputScan scan() {
    InputScan scan = {integer(), integer(), integer(), integer(), integer(), text(),
                      integer(), integer(), integer(), integer(), integer(), integer(),
                      integer(), {},        listed(),  {},        integer()};
    for (int i = 0; i < 3; ++i) {
      scan.files.push_back(
          {text(), integer(), integer(), sha256_hex(text()), integer(), integer()});
      scan.checkpoints.push_back(
          {integer(), integer(), integer(), integer(), integer(), {std::byte{7}}});
    }
    return scan;
  }
  InputOptions input() {
    return {text(),
            {text(), text()},
            text(),
            text(),
            text(),
            MissingFieldPolicy::kEmpty,
            TextFormat::kArrow,
            BadRowPolicy::kReject,
            EmptyRowPolicy::kError,
            Utf8Policy::kError,
            integer(),
            integer(),
            {text(), {text()}, TextFormat::kCsv, Utf8Policy::kError, integer()}};
  }
  TensorInfo tensor() {
    return {text(), text(), {integer(), integer()}, integer(), integer(), {integer(), integer()}};
  }
  SentenceModule module() {
    return {SentenceModule::Kind::kTruncate,
            text(),
            {PoolingMode::kMax},
            false,
            integer(),
            integer(),
            false,
            true,
            DenseActivation::kSelu,
            {{text(), tensor()}}};
  }
  FileHash file_hash() {
    return {text(), integer(), text(),
            FileKey{integer(), integer(), integer(), integer(), integer()}};
  }
  EffectiveResult effective() {
    return {{PoolingMode::kLastToken},
            true,
            integer(),
            {module(), module()},
            integer(),
            text(),
            false,
            ComputeType::kFloat16,
            MatmulPrecision::kHigh,
            true,
            integer(),
            integer(),
            VectorPrecision::kFloat16,
            LateInteraction{text(), {text(), text()}, text(), true},
            {SpecialTokensRule::kAsInTokenizerJson, TokenizerRecipe::kAppendEos, true},
            true,
            {text(), text()},
            PassageRule{integer(), integer(), PassageUnit::kToken, PassageVectors::kLate},
            RowVector::kMean};
  }
  JobUnit unit() {
    return {{text(),
             text(),
             integer(),
             integer(),
             true,
             true,
             integer(),
             {{text(), integer()}},
             list(),
             text(),
             integer()},
            input(),
            scan(),
            {integer(), integer(), integer(), integer(), integer()},
            text(),
            {file_hash(), file_hash()},
            effective(),
            integer(),
            false,
            text(),
            number(),
            number(),
            {{text(), integer()}},
            {set_aside(), set_aside()},
            rows(),
            {rows(), rows()},
            {rows(), rows()}};
  }
  SetAsideRow set_aside() { return {integer(), text(), text()}; }
  JobSpec job() {
    return {text(),
            text(),
            text(),
            {parse_device("cuda:7"),
             {parse_device("cpu"), parse_device("cuda")},
             true,
             true,
             false,
             text(),
             true,
             integer(),
             integer(),
             integer(),
             integer()},
            {text(), integer(), integer()},
            {unit(), unit()},
            number(),
            true,
            integer(),
            ChunkOrigin{text(), text(), text(), integer(), text(), text(), integer()},
            true};
  }
  RowRange rows() { return {integer(), integer()}; }
  RowStats stats() {
    return {integer(), integer(), integer(), integer(), integer(), integer(), integer()};
  }

  StageSeconds stages() {
    return {number(), number(), number(), number(), number(), number(), number()};
  }

  CacheCounts cache_counts() {
    return {integer(), integer(), integer(), integer(), integer(),
            integer(), integer(), integer(), integer(), integer()};
  }

  // Returns one event of every kind.
  std::vector<WorkerEvent> events() {
    return {ModelLoading{},
            ModelLoaded{
                integer(),
                {DeviceKind::kCuda, text(), text(), text(), text(), integer(), integer(), text()},
                integer(),
                number(),
                text(),
                integer(),
                {number(), number()}},
            UnitStarted{integer(), {integer(), integer(), integer(), integer()}},
            ChunkStarted{integer(), integer(), rows()},
            WindowStarted{integer(), rows(), stages(), rows()},
            ProbeStarted{integer(), rows()},
            ProbeDone{integer(), rows()},
            BatchDone{integer(), integer(), integer()},
            BatchHalved{integer(), integer()},
            RowsSetAside{integer(), {set_aside(), set_aside()}},
            ChunkDone{integer(),
                      integer(),
                      rows(),
                      text(),
                      integer(),
                      number(),
                      stats(),
                      {integer(), integer(), integer(), integer()},
                      integer()},
            UnitDone{integer(), integer(), stats(), stages(), integer(), integer()},
            CacheUsed{integer(), cache_counts()},
            CacheProblem{error(), false},
            ProductsTimed{integer(), {integer(), number(), number(), number(), number()}},
            DeviceChecked{
                {DeviceKind::kCuda, text(), text(), text(), text(), integer(), integer(), text()},
                text(),
                true},
            DefenceTried{text(), true, text()},
            LogLine{LogLevel::kWarning, text()},
            WorkerFailed{error()},
            WorkerFinished{},
            WorkerRetired{text(), stages()},
            MemoryPressure{true, number(), integer()}};
  }

 private:
  std::mt19937_64 random_;
  int count_ = 0;
};

// Counts the leaves of `a` that are equal to the leaf with the same path in `b`.
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
    spec.units[0].effective.dtype = type;
    EXPECT_EQ(job_spec_from_json(to_json(spec)).units[0].effective.dtype, type);
  }
}

// A config may use the alias "bf16", but the messages use one name for each type.
TEST(JobProtocol, RefusesTheNamesThatUsersMayWriteInstead) {
  JobSpec spec = Filler(1).job();
  spec.units[0].effective.dtype = ComputeType::kBFloat16;
  std::string text = to_json(spec);
  const std::string name = "\"bfloat16\"";
  ASSERT_NE(text.find(name), std::string::npos);
  text.replace(text.find(name), name.size(), "\"bf16\"");
  EXPECT_EQ(testing::refused([&] { job_spec_from_json(text); }).code.name(), "job.protocol");
}

TEST(JobProtocol, RefusesAPathThatIsNotUtf8) {
  JobSpec spec = Filler(1).job();
  spec.cache_dir = "\xff";
  EXPECT_EQ(testing::refused([&] { to_json(spec); }).code.name(), "job.utf8");
}

TEST(JobProtocol, JobSpecSurvivesTheRoundTripWithEveryField) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const JobSpec spec = Filler(seed).job();
    const std::string json = to_json(spec);
    EXPECT_EQ(to_json(job_spec_from_json(json)), json);
    // If the reader forgets a member, it keeps its default. The test notices this only if every
    // leaf differs from the leaf of an empty job.
    JobSpec empty;
    empty.units.resize(2);
    for (JobUnit& unit : empty.units) {
      unit.scan.checkpoints.resize(3);
      for (int i = 0; i < 3; ++i) unit.scan.files.push_back({});
      unit.scan.listed.emplace();
      unit.identity.input_list.emplace();
      unit.identity.inputs.resize(1);
      unit.set_aside.resize(2);
    }
    const Json read_back = Json::parse(to_json(job_spec_from_json(json)));
    EXPECT_EQ(equal_leaves(read_back, Json::parse(to_json(empty))), 1) << "the protocol alone";
  }
}

TEST(JobProtocol, AbsentOptionsStayAbsent) {
  JobSpec spec;
  spec.units.resize(1);
  const EffectiveResult result = job_spec_from_json(to_json(spec)).units[0].effective;
  EXPECT_FALSE(result.truncate_dim || result.causal);
  spec.units[0].effective.causal = false;  // false is different from an absent value
  EXPECT_EQ(job_spec_from_json(to_json(spec)).units[0].effective.causal, false);
}

TEST(JobProtocol, EveryKindOfEventSurvivesTheRoundTripWithEveryField) {
  ASSERT_EQ(Filler(0).events().size(), std::variant_size_v<WorkerEvent>);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<WorkerEvent> events = Filler(seed).events();
    for (size_t kind = 0; kind < events.size(); ++kind) {
      const std::string line = to_json_line(events[kind]);
      EXPECT_EQ(line.find('\n'), line.size() - 1) << "an event must be one line";
      const WorkerEvent read_back = worker_event_from_json(line);
      EXPECT_EQ(read_back.index(), kind);
      EXPECT_EQ(to_json_line(read_back), line);
    }
  }
}

// If the reader forgets a member, it keeps its default. The round-trip test above notices this only
// if no member of the events has its default.
TEST(JobProtocol, NoMemberOfAnEventHasItsDefaultInTheTests) {
  for (const WorkerEvent& event : Filler(3).events()) {
    const Json filled = Json::parse(to_json_line(event));
    std::visit(
        [&](const auto& alternative) {
          const Json empty = Json::parse(to_json_line(std::decay_t<decltype(alternative)>{}));
          EXPECT_EQ(equal_leaves(filled, empty), 1) << "the kind alone: " << filled.dump();
        },
        event);
  }
}

TEST(JobProtocol, EventWithBrokenUtf8IsStillALine) {
  const WorkerEvent read_back =
      worker_event_from_json(to_json_line(LogLine{LogLevel::kInfo, "row \xff\xfe ends"}));
  EXPECT_EQ(std::get<LogLine>(read_back).message, "row \xEF\xBF\xBD\xEF\xBF\xBD ends");
}

// Returns the code of the error, which must have a hint.
std::string code_of_line(const std::string& line) {
  const ErrorDetail error = testing::refused([&] { worker_event_from_json(line); });
  EXPECT_NE(error.hint, "") << line.substr(0, 60);
  return std::string(error.code.name());
}

TEST(JobProtocol, OtherTextIsGarbageNeverACrash) {
  const std::string good = to_json_line(Filler(1).events()[9]);
  std::vector<std::string> lines = {"",
                                    "\n",
                                    "{}",
                                    "[]",
                                    "null",
                                    "Segmentation fault",
                                    R"({"kind":7})",
                                    std::string(100000, '['),
                                    std::string(2 << 20, ' ')};
  for (size_t size = 0; size + 2 < good.size(); size += 3) lines.push_back(good.substr(0, size));
  for (const std::string& line : lines)
    EXPECT_EQ(code_of_line(line), "worker.garbage") << line.substr(0, 60);
  EXPECT_NO_THROW(worker_event_from_json(good));
}

// Such a line must not count as other text, which a run ignores, because an event would then be
// lost.
TEST(JobProtocol, AnEventWithOtherFieldsIsOfAnotherBuild) {
  for (const char* line :
       {R"({"kind":"unheard_of"})", R"({"kind":"batch","unit":"0"})",
        R"({"kind":"batch","unit":1.5})", R"({"kind":"batch","unit":18446744073709551615})",
        R"({"kind":"batch","unit":0,"rows_done":1})", R"({"kind":"unit_done","stats":[]})",
        R"({"kind":"unit_done","stats":{"tokens":1}})",
        R"({"kind":"error","error":{"exit_code":900}})"})
    EXPECT_EQ(code_of_line(line), "job.protocol") << line;
}

TEST(JobProtocol, ANumberThatIsNotFiniteCostsNoEvent) {
  const WorkerEvent read_back =
      worker_event_from_json(to_json_line(MemoryPressure{.pressed = true, .used_percent = NAN}));
  EXPECT_TRUE(std::get<MemoryPressure>(read_back).pressed);
  EXPECT_TRUE(std::isnan(std::get<MemoryPressure>(read_back).used_percent));
}

TEST(JobProtocol, JobWithAFieldMissingIsRefusedByName) {
  const Json whole = Json::parse(to_json(Filler(3).job()));
  for (const char* key : {"cache_dir", "hardware", "embedding_cache", "units"}) {
    Json cut = whole;
    cut.erase(key);
    try {
      job_spec_from_json(cut.dump());
      ADD_FAILURE() << key;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(key));
      EXPECT_EQ(error.exit_code(), ExitCode::kConfig);
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
