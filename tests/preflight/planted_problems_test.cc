// Plants one problem after the other in a healthy experiment and checks that `encode preflight`
// names it.
#include <filesystem>
#include <functional>
#include <string>
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "healthy_experiment.h"

namespace encode::testing {
namespace {

struct Problem {
  const char* name;
  std::function<void(HealthyExperiment&)> plant;
  const char* grade;
  const char* said;  // a part of the finding, or its code
  int exit_code;
};

void replace_in(const std::string& path, const std::string& from, const std::string& to) {
  std::string bytes = read_bytes(path);
  const size_t place = bytes.find(from);
  ASSERT_NE(place, std::string::npos) << path;
  write_bytes(path, bytes.replace(place, from.size(), to));
}

void limit(__rlimit_resource resource, rlim_t value) {
  const rlimit both = {.rlim_cur = value, .rlim_max = value};
  ::setrlimit(resource, &both);
}

Program::Environment failing(const char* call, const char* error) {
  return {{"FAULT_MODE", "errno"}, {"FAULT_CALL", call}, {"FAULT_ERRNO", error}, {"FAULT_AT", "0"}};
}

void add_cache(const HealthyExperiment& setup) {
  std::filesystem::create_directories(setup.file("cache"));
}

std::string rows(int count, const std::string& text) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += text + "\n";
  return lines;
}

std::string words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "a ";
  return text;
}

std::vector<Problem> make_problems() {
  return {
      // The model.
      {"ModelFileMissing",
       [](HealthyExperiment& s) { std::filesystem::remove(s.file("model/model.safetensors")); },
       "red", "model.missing", 66},
      {"TensorOfAnotherShape",
       [](HealthyExperiment& s) {
         replace_in(s.file("model/model.safetensors"), "\"shape\":[40,64]", "\"shape\":[64,40]");
       },
       "red", "model.shape", 78},
      {"WeightsCutOff",
       [](HealthyExperiment& s) {
         std::filesystem::resize_file(s.file("model/model.safetensors"), 200000);
       },
       "red", "model.", 78},
      {"TokenizerOfAnotherModel",
       [](HealthyExperiment& s) {
         replace_in(s.file("model/tokenizer.json"), "\"##a\":5", "\"##a\":500");
       },
       "red", "batch.token_id", 65},
      {"IdWithoutAToken",
       [](HealthyExperiment& s) {
         replace_in(s.file("model/tokenizer.json"), "\"##a\":5", "\"##a\":99");
         replace_in(s.file("model/tokenizer.json"), "[\"[CLS]\",2]", "[\"[CLS]\",60]");
       },
       "red", "tokenizer.round_trip", 65},
      {"WeightsNotFinite",
       [](HealthyExperiment& s) {
         std::string bytes = read_bytes(s.file("model/model.safetensors"));
         bytes.replace(bytes.size() / 2, 4096, 4096, '\xff');
         write_bytes(s.file("model/model.safetensors"), bytes);
       },
       "red", "vectors.all_bad", 65},
      // The config.
      {"UnknownKey", [](HealthyExperiment& s) { s.write_config("  chunk_sise: 5\n", ""); }, "red",
       "config.key", 78},
      {"AllocatorConf",
       [](HealthyExperiment& s) {
         s.device = "auto";
         s.write_config("", "  allocator: {conf: \"max_split_size_mb:ten\"}\n");
       },
       "red", "config.allocator", 78},
      {"NoRestarts", [](HealthyExperiment& s) { s.write_config("", "  max_restarts: 0\n"); },
       "yellow", "max_restarts: 0", 0},
      {"StandardMode",
       [](HealthyExperiment& s) { s.write_config("  use_chunked_encoding: false\n", ""); },
       "yellow", "standard mode", 0},
      // The device.
      {"AbsentDevice",
       [](HealthyExperiment& s) {
         s.device = "cuda";
         s.write_config("", "");
       },
       "red", "preflight.device", 69},
      {"MemoryLimitBelowTheModel",
       [](HealthyExperiment& s) { s.write_config("", "  memory_limit: 32MB\n"); }, "red",
       "limit.memory", 78},
      {"MemoryLimitBelowWhatIsReadAhead",
       [](HealthyExperiment& s) { s.write_config("", "  memory_limit: 200MB\n"); }, "yellow",
       "within the limit of 200.0 MB", 0},
      {"PluginMissing",
       [](HealthyExperiment& s) {
         s.add_gpu({});
         std::filesystem::remove(s.file("lib/libencode_cuda.so"));
       },
       "yellow", "the CUDA plugin is missing", 0},
      {"OldDriver",
       [](HealthyExperiment& s) {
         s.add_gpu({{"NVML_CUDA", "12040"}});
       },
       "yellow", "driver is too old", 0},
      {"DriverDoesNotAnswer",
       [](HealthyExperiment& s) {
         s.add_gpu({{"NVML_INIT", "!18"}});
       },
       "yellow", "Driver/library version mismatch", 0},
      {"EccErrors",
       [](HealthyExperiment& s) {
         s.add_gpu({{"NVML_ECC_ERRORS", "3"}});
       },
       "red", "3 ECC errors", 69},
      {"OtherProcess",
       [](HealthyExperiment& s) {
         s.add_gpu({{"NVML_PROCESSES", "1"}});
       },
       "yellow", "process 1001 (/usr/bin/process1001) computes on the GPU too and has 2.0 GB", 0},
      {"GpuIsFull",
       [](HealthyExperiment& s) {
         s.add_gpu({{"NVML_MEMORY_USED", "85520800000"}});
       },
       "red", "does not fit into the free memory", 69},
      {"TheNumberedGpuIsTooSmall",
       [](HealthyExperiment& s) {
         s.add_gpu({{"NVML_GPUS", "2"}, {"NVML_MEMORY_TOTAL", "85520809984|1000000"}});
         s.device = "cuda:1";
         s.write_config("", "");
       },
       "red", "cannot fit into the memory of NVIDIA H100", 78},
      {"HotGpu",
       [](HealthyExperiment& s) {
         s.add_gpu({{"NVML_TEMPERATURE", "88"}});
       },
       "yellow", "88 degrees Celsius", 0},
      {"ThrottledGpu",
       [](HealthyExperiment& s) {
         s.add_gpu({{"NVML_THROTTLING", "0x48"}, {"NVML_CLOCK", "345"}});
       },
       "yellow", "the temperature slows the GPU down: 345 of 1980 MHz", 0},
      // The cache directory.
      {"ReadOnlyCache",
       [](HealthyExperiment& s) {
         add_cache(s);
         s.add_fault(failing("open", "30"));  // EROFS
       },
       "red", "io.create", 77},
      {"FullDisk",
       [](HealthyExperiment& s) {
         add_cache(s);
         s.add_fault(failing("write", "28"));  // ENOSPC
       },
       "red", "io.write", 74},
      {"SyncFails",
       [](HealthyExperiment& s) {
         add_cache(s);
         s.add_fault(failing("fsync", "5"));  // EIO
       },
       "red", "io.sync", 74},
      {"LocksThatLockNothing",
       [](HealthyExperiment& s) {
         add_cache(s);
         s.add_fault({{"FAULT_MODE", "drop_lock"}});
       },
       "red", "the locks of this file system do not work", 74},
      {"CacheOfAnotherExperiment",
       [](HealthyExperiment& s) {
         ASSERT_EQ(
             Program(s.dir().path(), {"run", "--config", s.file("config.yaml")}).wait().exit_code,
             0);
         s.write_config("  max_length: 20\n", "");
       },
       "red", "run.foreign_final", 78},
      {"ForeignFile",
       [](HealthyExperiment& s) { s.dir().write("cache/train_tc_embeddings.npy", "my thesis"); },
       "red", "output.exists", 73},
      {"FileSizeLimit",
       [](HealthyExperiment& s) {
         s.input = s.dir().write("rows.txt", rows(60, "a text"));
         s.write_config("", "");
         s.before_exec = [] { limit(RLIMIT_FSIZE, 12'000); };
       },
       "red", "limit.file_size", 78},
      {"ForeignLock", [](HealthyExperiment& s) { s.dir().write("cache/LOCK", "my notes"); }, "red",
       "store.lock", 73},
      {"ForeignEmbeddingCache",
       [](HealthyExperiment& s) {
         s.dir().write("other/file", "x");
         s.write_config("  embedding_cache: {dir: " + s.file("other") + "}\n", "");
       },
       "yellow", "cache.foreign", 0},
      {"EmbeddingCacheIsAFile",
       [](HealthyExperiment& s) {
         s.write_config("  embedding_cache: {dir: " + s.file("config.yaml") + "}\n", "");
       },
       "yellow", "without the embedding cache", 0},
      {"QuarantineInStandardMode",
       [](HealthyExperiment& s) {
         s.write_config("  use_chunked_encoding: false\n  quarantine: zeros\n", "");
       },
       "red", "config.quarantine", 78},
      {"FileInPlaceOfTheChunks",
       [](HealthyExperiment& s) { s.dir().write("cache/train_tc_chunks", "a file"); }, "red",
       "io.mkdir", 73},
      {"AddressSpaceLimit",
       [](HealthyExperiment& s) { s.before_exec = [] { limit(RLIMIT_AS, rlim_t{4} << 30); }; },
       "yellow", "ulimit -v", 0},
      // The input.
      {"InputMissing", [](HealthyExperiment& s) { std::filesystem::remove(s.input); }, "red",
       "text.open", 66},
      {"BadRow",
       [](HealthyExperiment& s) {
         s.input = s.dir().write("bad.txt", rows(20, "abc") + std::string(2 << 20, 'a') + "\n");
         s.write_config("", "");
       },
       "red", "text.too_long", 65},
      {"FieldMissing",
       [](HealthyExperiment& s) {
         s.field = "text";
         s.input = s.dir().write("rows.jsonl", rows(3, R"({"txet": "abc"})"));
         s.write_config("", "");
       },
       "red", "jsonl.missing", 65},
      {"AllRowsTruncated",
       [](HealthyExperiment& s) {
         s.input = s.dir().write("long.txt", rows(20, words(60)));
         s.write_config("", "");
       },
       "yellow", "20 of the first 20 rows of", 0},
      {"OneRowTruncated",
       [](HealthyExperiment& s) {
         s.input = s.dir().write("long.txt", rows(18, "a") + words(60) + "\n");
         s.write_config("", "");
       },
       "yellow", "(5.3 %) is longer than 40 tokens; the cut loses 19.0 % of all tokens", 0},
      {"RowsWithoutText",
       [](HealthyExperiment& s) {
         s.input = s.dir().write("gaps.txt", rows(3, "abc") + rows(2, "") + rows(1, " "));
         s.write_config("", "");
       },
       "yellow", "2 rows have an empty text, and 1 row has only white space", 0},
      {"EmptyInput",
       [](HealthyExperiment& s) {
         s.input = s.dir().write("empty.txt", "");
         s.write_config("", "");
       },
       "yellow", "has no rows", 0},
  };
}

const std::vector<Problem>& problems() {
  static const std::vector<Problem> kProblems = make_problems();
  return kProblems;
}

class PlantedProblem : public ::testing::TestWithParam<size_t> {};

TEST_P(PlantedProblem, IsFound) {
  const Problem& problem = problems()[GetParam()];
  HealthyExperiment setup;
  problem.plant(setup);
  const Report report = setup.preflight();
  ASSERT_TRUE(report.json.is_object()) << report.err;
  EXPECT_TRUE(report.has(problem.grade, problem.said)) << report.all();
  EXPECT_EQ(report.exit_code, problem.exit_code) << report.all();
  EXPECT_EQ(report.json["exit_code"], problem.exit_code);
}

INSTANTIATE_TEST_SUITE_P(, PlantedProblem, ::testing::Range(size_t{0}, problems().size()),
                         [](const auto& parameter) { return problems()[parameter.param].name; });

// What a run leaves that was killed after it had made the folder of its chunks.
TEST(HarmlessState, AFolderWithoutChunksIsNoProblem) {
  HealthyExperiment setup;
  std::filesystem::create_directories(setup.file("cache/train_tc_chunks"));
  const Report report = setup.preflight();
  EXPECT_EQ(report.exit_code, 0) << report.all();
}

// Without locks a run works in a directory of its own.
TEST(HarmlessState, AFileSystemWithoutLocksIsNoProblem) {
  HealthyExperiment setup;
  add_cache(setup);
  setup.add_fault(failing("lock", "37"));  // ENOLCK
  const Report report = setup.preflight();
  EXPECT_EQ(report.exit_code, 0) << report.all();
  EXPECT_TRUE(report.has("green", "has no locks, so the run works in a directory of its own"))
      << report.json.dump();
}

}  // namespace
}  // namespace encode::testing
