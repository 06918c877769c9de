#include <filesystem>
#include <map>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "healthy_experiment.h"
#include "store/sealed_json.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// The content of every file in the folder, apart from the output of the programs.
std::map<std::string, std::string> content(const TempDir& dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(dir.path())) {
    const std::string name = entry.path().filename().string();
    if (name == "stdout" || name == "stderr") continue;
    files[entry.path().string()] = entry.is_regular_file() ? read_bytes(entry.path().string()) : "";
  }
  return files;
}

TEST(Preflight, IsGreenOnAHealthyMachineAndChangesNoFile) {
  const HealthyExperiment setup;
  const auto before = content(setup.dir());
  const Report report = setup.preflight();
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_EQ(report.json["red"], 0) << report.all();
  EXPECT_EQ(report.json["yellow"], 0) << report.all();
  for (const char* check : {"host", "cache", "model", "tokenizer", "input train_tc", "outputs",
                            "space", "search", "quarantine", "device", "self-test", "token ids",
                            "positions", "vectors", "memory release", "memory"})
    EXPECT_TRUE(report.has("green", check)) << check;
  EXPECT_EQ(content(setup.dir()), before);
}

TEST(Preflight, SaysNothingOfAGpuOnAMachineWithoutOne) {
  HealthyExperiment setup;
  for (const char* device : {"cpu", "auto"}) {
    setup.device = device;
    setup.write_config("", "");
    const Report report = setup.preflight();
    if (report.has("green", "driver") || report.has("yellow", "driver"))
      GTEST_SKIP() << "this machine has a GPU";
    EXPECT_EQ(report.exit_code, 0) << report.all();
    for (const char* gpu : {"allocator", "expandable_segments", "on a GPU", "launches", "plugin"})
      EXPECT_FALSE(report.has("green", gpu)) << device << ": " << gpu;
  }
}

// A run looks for a driver before it reads the inputs.
TEST(Preflight, ThatAGpuIsAbsentComesBeforeABadInput) {
  HealthyExperiment setup;
  setup.device = "cuda";
  setup.dir().write("texts.txt", std::string(2 << 20, 'a') + "\n");
  setup.write_config("", "");
  const Report report = setup.preflight();
  if (report.has("green", "driver")) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(report.exit_code, 69) << report.all();
  EXPECT_TRUE(report.has("red", "device.absent"));
  EXPECT_TRUE(report.has("red", "text.too_long"));
}

TEST(Preflight, IsGreenAfterARunAndChangesNoFile) {
  const HealthyExperiment setup;
  ASSERT_EQ(
      Program(setup.dir().path(), {"run", "--config", setup.file("config.yaml")}).wait().exit_code,
      0);
  const auto before = content(setup.dir());
  const Report report = setup.preflight();
  EXPECT_EQ(report.json["red"], 0) << report.all();
  EXPECT_EQ(report.json["yellow"], 0) << report.all();
  EXPECT_TRUE(report.has("green", "is complete already"));
  EXPECT_TRUE(report.has("green", "fault records")) << report.json.dump();
  EXPECT_EQ(content(setup.dir()), before);
}

TEST(Preflight, SaysWhatAKillCosts) {
  const HealthyExperiment setup;
  const char* const cost = "chunks train_tc  50 rows each; a kill loses at most 30 rows, about ";
  const Report usual = setup.preflight();
  EXPECT_TRUE(usual.has("green", cost)) << usual.json.dump();
  setup.write_config("  chunk_size: 7\n", "");
  EXPECT_TRUE(setup.preflight().has("green", "chunks train_tc  7 rows each; a kill loses at most"));
  setup.write_config("  chunk_size: auto\n", "");
  EXPECT_TRUE(setup.preflight().has("green", "a size that the run chooses; a kill loses at most"));
  setup.write_config("  save_chunks: false\n", "");
  EXPECT_TRUE(setup.preflight().has("yellow", "an interruption loses a whole stream"));
}

TEST(Preflight, WorksWhileAnotherRunHoldsTheLock) {
  const HealthyExperiment setup;
  const CacheLock lock = CacheLock::acquire(setup.file("cache"));
  const Report report = setup.preflight();
  EXPECT_EQ(report.exit_code, 75) << report.all();
  EXPECT_TRUE(report.has("red", "store.locked"));
  EXPECT_EQ(report.json["red"], 1) << report.all();
}

// Puts the elements of the vectors in another order, as if another driver had computed them.
void change_vectors(const std::string& self_test) {
  Json entries = unseal(read_bytes(self_test), self_test);
  for (Json& entry : entries) {
    const auto digits = entry["vectors"].get<std::string>();
    std::string other;
    constexpr size_t kDigits = 8;  // of one element
    for (size_t i = digits.size(); i > 0; i -= kDigits)
      other += digits.substr(i - kDigits, kDigits);
    entry["vectors"] = other;
  }
  write_bytes(self_test, seal(entries, /*indent=*/1));
}

TEST(Preflight, ComparesTheVectorsWithTheVectorsOfEarlierRuns) {
  const HealthyExperiment setup;
  ASSERT_EQ(
      Program(setup.dir().path(), {"run", "--config", setup.file("config.yaml")}).wait().exit_code,
      0);
  EXPECT_EQ(setup.preflight().exit_code, 0);
  change_vectors(setup.file("cache/self_test.json"));
  EXPECT_EQ(setup.preflight().exit_code, 0) << "a run would only find that every final is there";
  fs::remove(setup.file("cache/train_tc_embeddings.npy"));
  const Report report = setup.preflight();
  EXPECT_EQ(report.exit_code, 65);
  EXPECT_TRUE(report.has("red", "self_test.changed")) << report.all();
}

TEST(Preflight, WithoutAConfigChecksTheMachine) {
  const HealthyExperiment setup;
  const Report machine = setup.preflight({"--device", "cpu"});
  EXPECT_EQ(machine.exit_code, 0);
  EXPECT_EQ(machine.json["yellow"], 0) << machine.all();
  EXPECT_TRUE(machine.has("green", "LibTorch"));
  EXPECT_FALSE(machine.has("green", "tokenizer"));
  const Report model = setup.preflight({"--model", setup.file("model"), "--device", "cpu"});
  EXPECT_EQ(model.json["yellow"], 0) << model.all();
  EXPECT_TRUE(model.has("green", "tokenizer"));
  EXPECT_TRUE(model.has("green", "token ids"));
}

TEST(Preflight, RefusesAFlagThatNamesNoDevice) {
  const HealthyExperiment setup;
  const auto end = Program(setup.dir().path(), {"preflight", "--device", "cuda:x"}).wait();
  EXPECT_EQ(end.exit_code, 64);
  EXPECT_THAT(end.err, ::testing::HasSubstr("error[config.value]"));
}

TEST(Preflight, SaysIfTheModelIsMissing) {
  const HealthyExperiment setup;
  const Report report = setup.preflight({"--model", setup.file("nothing")});
  EXPECT_EQ(report.exit_code, 66);
  EXPECT_TRUE(report.has("red", "model.not_found"));
}

// All of several problems are shown, and the exit code is the one with which a run would end.
TEST(Preflight, ShowsAllProblemsAtOnce) {
  HealthyExperiment setup;
  setup.write_config("", "  max_restarts: 0\n");
  fs::remove(setup.input);
  setup.dir().write("cache/train_tc_embeddings.npy", "my thesis");
  const Report report = setup.preflight();
  EXPECT_TRUE(report.has("red", "text.open"));
  EXPECT_TRUE(report.has("red", "output.exists"));
  EXPECT_TRUE(report.has("yellow", "max_restarts"));
  EXPECT_EQ(report.exit_code, 73);  // a run looks at its outputs before it reads the inputs
}

TEST(Preflight, DoctorIsAnotherName) {
  const HealthyExperiment setup;
  const ProgramEnd end =
      Program(setup.dir().path(), {"doctor", "--config", setup.file("config.yaml")}).wait();
  EXPECT_EQ(end.exit_code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("preflight: "));
  EXPECT_THAT(end.out, HasSubstr(" 0 yellow, 0 red in "));
}

TEST(Preflight, NamesAMissingInputBesideAMissingModel) {
  const HealthyExperiment setup;
  fs::rename(setup.file("model"), setup.file("elsewhere"));
  EXPECT_TRUE(setup.preflight().has("green", "input train_tc")) << "the control";
  fs::remove(setup.input);
  const Report report = setup.preflight();
  EXPECT_TRUE(report.has("red", "model")) << report.all();
  EXPECT_TRUE(report.has("red", "input train_tc")) << report.all();
}

// The example of README.md, with its own config.
TEST(Preflight, IsGreenOnTheQuickStart) {
  const std::string model = source_file(".deps/models/all-MiniLM-L6-v2");
  if (!fs::exists(model)) GTEST_SKIP() << "scripts/models.sh has not fetched " << model;
  const HealthyExperiment setup;
  std::string lines;
  for (int i = 0; i < 1000; ++i)
    lines += R"({"text": "def test_addition(): assert add(1, 2) == 3"})"
             "\n";
  setup.dir().write(".deps/quickstart/tests.jsonl", lines);
  setup.dir().write(".deps/quickstart/changes.jsonl", lines);
  fs::create_directory_symlink(source_file(".deps/models"), setup.file(".deps/models"));
  const std::string config = source_file("configs/quickstart.yaml");
  const ProgramEnd end = Program(setup.dir().path(), {"preflight", "--config", config}, {}, [&] {
                           [[maybe_unused]] const int changed = ::chdir(setup.dir().path().c_str());
                         }).wait();
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_THAT(end.out, HasSubstr(" 0 yellow, 0 red in ")) << end.out;
}

}  // namespace
}  // namespace encode::testing
