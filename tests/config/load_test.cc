// Tests that a valid config becomes the right RunConfig, with each value from the right source, and
// that printing the config and loading it again gives the same RunConfig.
#include "config/load.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/refused.h"
#include "loading.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::expect_round_trip;
using testing::load_text;
using testing::setting;
using testing::shown;
using testing::TempDir;

constexpr const char* kSmall = "semantic: {model: m}\ninput: {file: a.txt}\n";
const std::string configs_dir = testing::source_file("configs/");

std::vector<std::string> names(const RunConfig& run) {
  std::vector<std::string> all;
  for (const StreamConfig& stream : run.streams) all.push_back(stream.name());
  return all;
}

TEST(Load, ExperimentHasSixStreamsInOrderAndThreeCombinedMatrices) {
  const LoadedConfig loaded = load_config(configs_dir + "experiment.yaml", {});
  const RunConfig& run = loaded.run;
  EXPECT_EQ(names(run), (std::vector<std::string>{"train_tc", "train_commit", "val_tc",
                                                  "val_commit", "test_tc", "test_commit"}));
  EXPECT_EQ(run.streams[0].input.path, "data/train_tc.jsonl");
  EXPECT_EQ(run.streams[0].input.field, "code");
  EXPECT_EQ(run.streams[0].input.format, TextFormat::kJsonl);
  EXPECT_EQ(run.streams[0].result.model, "Qodo/Qodo-Embed-1-1.5B");
  EXPECT_EQ(run.streams[0].result.dtype, ComputeType::kBFloat16);
  EXPECT_EQ(run.streams[0].speed.batch_size, 16);
  EXPECT_EQ(run.streams[1].speed.batch_size, 32);
  EXPECT_EQ(run.streams[5].input.path, "data/test_commit.jsonl");
  ASSERT_EQ(run.combine.size(), 3U);
  EXPECT_EQ(run.combine[2].split, "test");
  EXPECT_EQ(run.combine[2].streams, (std::vector<std::string>{"tc", "commit"}));
  EXPECT_EQ(run.hardware.device, parse_device("cuda"));
  EXPECT_EQ(run.store.cache_dir, "cache/embeddings_qodo");
  EXPECT_EQ(run.store.chunk_size, 1000);
}

TEST(Load, QuickstartIsTheDemo) {
  const RunConfig run = load_config(configs_dir + "quickstart.yaml", {}).run;
  EXPECT_EQ(names(run), (std::vector<std::string>{"demo_tc", "demo_commit"}));
  EXPECT_EQ(run.streams[1].input.path, ".deps/quickstart/changes.jsonl");
  EXPECT_EQ(run.streams[1].input.field, "text");
  EXPECT_EQ(run.combine.size(), 1U);
  EXPECT_EQ(run.hardware.device, DeviceChoice());
}

TEST(Load, FlagsAloneMakeOneStream) {
  const LoadedConfig loaded =
      load_config("", {{"semantic.model", "models/mini", "--model"},
                       {"input.file", "texts.jsonl", "--input"},
                       {"input.field", "text", "--field"},
                       {"output.file", "out/my vectors.npy", "--output"},
                       {"semantic.use_chunked_encoding", "false", "--standard"}});
  ASSERT_EQ(names(loaded.run), std::vector<std::string>{"my_vectors"});
  EXPECT_EQ(loaded.run.streams[0].split, "");
  EXPECT_EQ(loaded.run.store.output, "out/my vectors.npy");
  EXPECT_EQ(loaded.run.store.cache_dir, "out/.my vectors.npy.cache");
  EXPECT_FALSE(loaded.run.store.use_chunked_encoding);
  EXPECT_EQ(shown(loaded, "input.file"), "texts.jsonl <- --input");
  EXPECT_EQ(shown(loaded, "semantic.use_chunked_encoding"), "false <- --standard");
  EXPECT_EQ(shown(loaded, "semantic.cache_dir"), "\"out/.my vectors.npy.cache\" <- default");
  expect_round_trip(loaded);
}

constexpr const char* kLayers = R"(semantic:
  model: m
  batch_size: 64
  max_length: 256
  cache_directory: c
data:
  streams:
    tc: {field: code, batch_size: 16, max_length: 128}
    commit: {field: message}
  splits:
    train:
      tc: {file: a.jsonl, batch_size: 8, max_length: null}
      commit: b.jsonl
)";

TEST(Layers, TheClosestToTheStreamWinsAndSaysWhereItStands) {
  const TempDir dir;
  const std::string path = dir.write("run.yaml", kLayers);
  const LoadedConfig loaded = load_config(path, {});
  EXPECT_EQ(shown(loaded, "data.splits.train.tc.batch_size"), "8 <- " + path + ":12:39");
  EXPECT_EQ(shown(loaded, "data.splits.train.tc.max_length"), "null <- " + path + ":12:42");
  EXPECT_EQ(shown(loaded, "data.splits.train.tc.field"), "code <- " + path + ":8:17");
  EXPECT_EQ(shown(loaded, "data.splits.train.commit.file"), "b.jsonl <- " + path + ":13:15");
  EXPECT_EQ(shown(loaded, "data.splits.train.commit.batch_size"), "64 <- " + path + ":3:15");
  EXPECT_EQ(shown(loaded, "data.splits.train.commit.limit_rows"), "0 <- default");
  EXPECT_EQ(shown(loaded, "semantic.cache_dir"), "c <- " + path + ":5:20");
  EXPECT_EQ(loaded.run.streams[0].speed.batch_size, 8);
  EXPECT_EQ(loaded.run.streams[0].result.max_length, std::nullopt);
  EXPECT_EQ(loaded.run.streams[1].result.max_length, 256);
  expect_round_trip(loaded);
}

TEST(Layers, AFlagBeatsTheFileForEveryStream) {
  const LoadedConfig loaded = load_text(kLayers, {{"semantic.batch_size", "4", "--batch-size"},
                                                  {"semantic.dtype", "bf16", "--dtype"},
                                                  {"input.limit_rows", "10", "--limit-rows"}});
  for (const StreamConfig& stream : loaded.run.streams) {
    EXPECT_EQ(stream.speed.batch_size, 4);
    EXPECT_EQ(stream.result.dtype, ComputeType::kBFloat16);
    EXPECT_EQ(stream.input.limit_rows, 10);
  }
  EXPECT_EQ(shown(loaded, "data.splits.train.tc.batch_size"), "4 <- --batch-size");
  EXPECT_EQ(shown(loaded, "data.splits.train.commit.limit_rows"), "10 <- --limit-rows");
  expect_round_trip(loaded);
}

TEST(Layers, APromptReplacesAPromptNameOfAWiderLayerAndTheOtherWayRound) {
  const std::string yaml =
      "semantic: {model: m, prompt_name: query}\n"
      "data: {splits: {s: {a: {file: a.txt, prompt: 'x: '}, b: b.txt.gz}}}\n";
  const RunConfig run = load_text(yaml).run;
  EXPECT_EQ(run.streams[0].result.prompt, "x: ");
  EXPECT_EQ(run.streams[0].result.prompt_name, std::nullopt);
  EXPECT_EQ(run.streams[1].result.prompt_name, "query");
  const LoadedConfig flagged = load_text(yaml, {{"semantic.prompt", "null", "--prompt"}});
  EXPECT_EQ(flagged.run.streams[1].result.prompt, "null") << "texts of flags are literal";
  EXPECT_EQ(flagged.run.streams[1].result.prompt_name, std::nullopt);
  EXPECT_EQ(shown(flagged, "semantic.prompt_name"), "null <- --prompt");
  expect_round_trip(flagged);
}

TEST(Layers, CombineHasNoStreamsOfItsOwn) {
  const LoadedConfig loaded =
      load_text("semantic: {model: m}\ndata: {splits: {s: {tc: a.txt, commit: b.txt}}}\n");
  EXPECT_TRUE(loaded.run.combine.empty());
  EXPECT_EQ(shown(loaded, "output.combine"), "absent <- absent");
  expect_round_trip(loaded);
}

TEST(Layers, CombineWithoutAListHasAllStreamsOfItsSplit) {
  const RunConfig run =
      load_text(
          "semantic: {model: m, combine: true}\ndata: {splits: {s: {tc: a.txt, b: b.txt, "
          "a: c.txt}, t: {a: a.txt, b: b.txt}}}\n")
          .run;
  ASSERT_EQ(run.combine.size(), 2U);
  EXPECT_EQ(run.combine[0].streams, (std::vector<std::string>{"tc", "b", "a"}));
  EXPECT_EQ(run.combine[1].streams, (std::vector<std::string>{"a", "b"}));
}

TEST(Layers, CombineIsOnWhereItsStreamsAreGivenUnlessSwitchedOff) {
  const std::string data = "data: {splits: {s: {a: a.txt, b: b.txt, c: c.txt}}}\n";
  const RunConfig on = load_text("semantic: {model: m}\noutput: {combine: [c, a]}\n" + data).run;
  ASSERT_EQ(on.combine.size(), 1U);
  EXPECT_EQ(on.combine[0].streams, (std::vector<std::string>{"c", "a"}));
  const RunConfig off =
      load_text("semantic: {model: m, combine: false}\noutput: {combine: [c, a]}\n" + data).run;
  EXPECT_TRUE(off.combine.empty());
  const RunConfig flag =
      load_text("semantic: {model: m}\n" + data, {{"output.combine", "b,c", "--combine"}}).run;
  ASSERT_EQ(flag.combine.size(), 1U);
  EXPECT_EQ(flag.combine[0].streams, (std::vector<std::string>{"b", "c"}));
}

// A flag for each key, with a value that is not the default.
const std::vector<Override> every_key = {
    {"semantic.model", "other", "-1"},
    {"semantic.revision", "main", "-2"},
    {"semantic.dtype", "float16", "-3"},
    {"semantic.float32_matmul_precision", "high", "-3a"},
    {"semantic.vector_precision", "float16", "-3b"},
    {"semantic.ignore_custom_code", "true", "-3c"},
    {"semantic.special_tokens", "as_in_tokenizer_json", "-3d"},
    {"semantic.pooling", "cls", "-4"},
    {"semantic.normalize", "false", "-5"},
    {"semantic.truncate_dim", "128", "-5a"},
    {"semantic.output_dtype", "int8", "-5b"},
    {"semantic.quantization_ranges", "ranges.npy", "-5c"},
    {"semantic.max_length", "64", "-6"},
    {"semantic.causal", "true", "-7"},
    {"semantic.batch_size", "1", "-8"},
    {"semantic.batch_tokens", "2", "-9"},
    {"semantic.use_chunked_encoding", "false", "-10"},
    {"semantic.chunk_size", "3", "-11"},
    {"semantic.save_chunks", "false", "-12"},
    {"semantic.keep_chunk_cache", "true", "-13"},
    {"semantic.cache_dir", "elsewhere", "-14"},
    {"hardware.device", "cuda:1", "-15"},
    {"hardware.devices", "[cuda:1]", "-15"},
    {"hardware.strict_numerics", "true", "-15"},
    {"hardware.threads", "4", "-16"},
    {"hardware.tokenizer_threads", "5", "-17"},
    {"hardware.prefetch_bytes", "6000000", "-18"},
    {"hardware.max_restarts", "7", "-19"},
    {"hardware.allocator.expandable_segments", "false", "-20"},
    {"hardware.allocator.conf", "max_split_size_mb:64", "-21"},
    {"hardware.synchronous_launches", "true", "-21"},
    {"hardware.worker_chunks", "6", "-21"},
    {"hardware.memory_limit", "1.5GB", "-21"},
    {"hardware.memory_pressure_percent", "70", "-21"},
    {"semantic.quarantine", "drop", "-21"},
    {"semantic.padding", "longest", "-21"},
    {"input.file", "other.csv", "-22"},
    {"input.field", "other", "-23"},
    {"input.missing_field", "empty", "-23"},
    {"input.where", "a == 1", "-47"},
    {"input.format", "jsonl", "-24"},
    {"input.bad_row", "reject", "-25"},
    {"input.empty_row", "error", "-26"},
    {"input.utf8", "error", "-27"},
    {"input.max_row_bytes", "8", "-28"},
    {"input.limit_rows", "9", "-29"},
    {"output.file", "other.npy", "-30"},
    {"output.parts", "one", "-30"},
    {"log.level", "debug", "-31"},
    {"log.file", "other.log", "-32"},
    {"log.json", "true", "-33"},
    {"log.progress", "false", "-34"},
    {"semantic.passages.max_tokens", "48", "-38"},
    {"semantic.passages.by", "token", "-39"},
    {"semantic.prompt", "other: ", "-35"},
    {"input.text", "{other}", "-37"},
    {"semantic.prompt_name", "other", "-36"},
};

TEST(Keys, EachGoesToAPlaceOfItsOwn) {
  const std::string base = "semantic: {model: m}\ninput: {file: a.csv, field: f}\n";
  std::vector<RunConfig> seen = {load_text(base).run};
  seen[0].config_path.clear();
  for (const Override& key : every_key) {
    const LoadedConfig loaded = load_text(base, {key});
    RunConfig run = loaded.run;
    run.config_path.clear();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), run), 0) << key.key;
    EXPECT_EQ(setting(loaded, key.key).origin, key.flag);
    seen.push_back(run);
    expect_round_trip(loaded);
  }
}

TEST(Keys, EveryFieldOfARunCanBeSet) {
  std::vector<Override> flags = every_key;
  // prompt_name cannot be given together with prompt, nor text together with field.
  flags.resize(flags.size() - 2);
  const RunConfig run = load_config("", flags).run;
  ASSERT_EQ(run.streams.size(), 1U);
  // The structured bindings name all fields. So a new field is a compile error here until the test
  // checks its key.
  const auto& [path, more_paths, field, text_template, passage_field, missing_field, format,
               bad_row, empty_row, utf8, row_bytes, limit, filter] = run.streams[0].input;
  EXPECT_EQ(filter.where, "a == 1");
  EXPECT_FALSE(filter.reads_other_input());
  EXPECT_TRUE(text_template.empty()) << "a template has a test of its own";
  EXPECT_TRUE(passage_field.empty()) << "passages have tests of their own";
  EXPECT_EQ(missing_field, MissingFieldPolicy::kEmpty);
  EXPECT_EQ(path + field, "other.csvother");
  EXPECT_TRUE(more_paths.empty()) << "a list has a test of its own";
  EXPECT_TRUE(format == TextFormat::kJsonl && bad_row == BadRowPolicy::kReject);
  EXPECT_TRUE(empty_row == EmptyRowPolicy::kError && utf8 == Utf8Policy::kError);
  EXPECT_TRUE(row_bytes == 8 && limit == 9);
  const auto& [model, revision, pooling, normalize, truncate, length, prompt, name, causal, dtype,
               precision, vector_precision, special_tokens, ignore_code, passages] =
      run.streams[0].result;
  EXPECT_TRUE(passages.max_tokens == 48 && passages.by == PassageUnit::kToken)
      << "the other keys of passages have a test of their own";
  EXPECT_EQ(special_tokens, SpecialTokensRule::kAsInTokenizerJson);
  EXPECT_TRUE(ignore_code);
  EXPECT_EQ(vector_precision, VectorPrecision::kFloat16);
  EXPECT_TRUE(model == "other" && revision == "main" && pooling == PoolingMode::kCls &&
              normalize == false && truncate == 128);
  EXPECT_TRUE(length == 64 && prompt == "other: " && !name && causal == true &&
              dtype == ComputeType::kFloat16 && precision == MatmulPrecision::kHigh);
  const auto& [batch_size, batch_tokens, threads, tokenizer_threads, prefetch] =
      run.streams[0].speed;
  EXPECT_TRUE(batch_size == 1 && batch_tokens == 2 && threads == 4 && tokenizer_threads == 5 &&
              prefetch == 6000000);
  const auto& [cache_dir, output, shared_dir, chunked, chunk_size, save, keep, final_format, parts,
               quarantine, fresh, overwrite] = run.store;
  EXPECT_EQ(shared_dir, "") << "the run sets it";
  EXPECT_TRUE(cache_dir == "elsewhere" && output == "other.npy" && !chunked && chunk_size == 3 &&
              !save && keep && parts == OutputParts::kOne && quarantine == QuarantinePolicy::kDrop);
  EXPECT_EQ(final_format, (FinalFormat{.type = OutputType::kInt8, .ranges_file = "ranges.npy"}));
  EXPECT_FALSE(fresh || overwrite) << "these are actions of one command, not settings";
  const auto& [device, devices, all_devices, strict_numerics, expandable, conf, synchronous,
               restarts, worker_chunks, memory_limit, memory_pressure] = run.hardware;
  EXPECT_EQ(devices, std::vector<DeviceChoice>{parse_device("cuda:1")});
  EXPECT_TRUE(!all_devices && memory_limit == 1'500'000'000 && memory_pressure == 70);
  EXPECT_TRUE(device == parse_device("cuda:1") && strict_numerics && !expandable &&
              conf == "max_split_size_mb:64" && synchronous && restarts == 7 && worker_chunks == 6);
  EXPECT_EQ(run.padding, PaddingPolicy::kLongest);
  const auto& [level, file, json, progress] = run.log;
  EXPECT_TRUE(level == "debug" && file == "other.log" && json && !progress);
}

TEST(Keys, AutoLeavesTheNumberToTheRun) {
  const LoadedConfig config = load_text(R"(
semantic: {model: m, batch_size: auto, batch_tokens: auto, chunk_size: auto}
data:
  streams: {b: {batch_size: 8}, c: {batch_tokens: 4096}}
  splits: {s: {a: a.txt, b: b.txt, c: {file: c.txt, batch_size: auto}}}
)");
  const std::vector<StreamConfig>& streams = config.run.streams;
  EXPECT_EQ(streams[0].auto_batch, (AutoBatch{.size = true, .tokens = true}));
  EXPECT_EQ(streams[1].auto_batch, (AutoBatch{.size = false, .tokens = true}));
  EXPECT_EQ(streams[1].speed.batch_size, 8);
  EXPECT_EQ(streams[2].auto_batch, (AutoBatch{.size = true, .tokens = false}));
  EXPECT_EQ(streams[2].speed.batch_tokens, 4096);
  EXPECT_EQ(config.run.store.chunk_size, kAutoChunkRows);
  expect_round_trip(config);
}

TEST(Devices, AreAListOrAllAndExcludeAnotherDevice) {
  using Names = std::vector<std::string>;
  const std::string base = "semantic: {model: m}\ninput: {file: a.csv, field: f}\n";
  const auto devices = [&base](const std::string& hardware, const std::vector<Override>& flags) {
    const auto loaded = load_text(base + "hardware: {" + hardware + "}\n", flags).run.hardware;
    Names names;
    for (const DeviceChoice& device : loaded.devices) names.push_back(to_string(device));
    if (loaded.all_devices) names.emplace_back("all");
    return names;
  };
  EXPECT_EQ(devices("devices: [cpu, cpu]", {}), (Names{"cpu", "cpu"}));
  EXPECT_EQ(devices("devices: all", {}), Names{"all"});
  EXPECT_EQ(devices("device: cpu", {{"hardware.devices", "cuda:0,cuda:1", "--devices"}}),
            (Names{"cuda:0", "cuda:1"}));
  EXPECT_EQ(devices("devices: [cpu, cpu]", {{"hardware.device", "cpu", "--device"}}), Names{});
  EXPECT_EQ(devices("device: cpu, devices: [cpu]", {}), Names{"cpu"});
  EXPECT_EQ(devices("device: auto, devices: [cpu, cpu]", {}), (Names{"cpu", "cpu"}));
  for (const char* wrong : {"device: cpu, devices: [cpu, cpu]", "devices: [all, cpu]"}) {
    const ErrorDetail error = testing::refused([&] { devices(wrong, {}); });
    EXPECT_EQ(error.code.name(), "config.conflict") << wrong;
    EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  }
  EXPECT_THROW(devices("devices: [auto, cpu]", {}), Error);
}

TEST(Print, ShowsEveryValueWithItsOrigin) {
  const std::string printed =
      print_config(load_config(configs_dir + "experiment.yaml", {{"log.json", "true", "--json"}}));
  EXPECT_NE(printed.find("experiment.yaml:23:10\n"), std::string::npos);
  EXPECT_NE(printed.find("# --json\n"), std::string::npos);
  EXPECT_NE(printed.find("# default\n"), std::string::npos);
}

TEST(Print, LeavesTheDefaultsOutOnRequest) {
  const std::string printed = print_config(load_text(kSmall), PrintedKeys::kGiven);
  for (const char* given : {"model: m ", "file: a.txt "})
    EXPECT_NE(printed.find(given), std::string::npos) << printed;
  for (const char* left_out : {"# default", "hardware"})
    EXPECT_EQ(printed.find(left_out), std::string::npos) << printed;
}

TEST(Print, ReadsBackTheConfigsAndAwkwardTexts) {
  expect_round_trip(load_config(configs_dir + "experiment.yaml", {}));
  expect_round_trip(load_config(configs_dir + "quickstart.yaml", {}));
  expect_round_trip(load_text(
      R"(semantic: {model: "12", prompt: "a: # \"b\" \\ \t\n\x7f\u0085\u2028é😀", revision: "1e5"}
data:
  splits:
    v1.0: {"null": " - x.txt", tc.long: "[a].txt"}
    "true": {x: '{{.txt'}
    "007": {x: '*x.txt', y: {file: "~", format: lines}}
)"));
}

TEST(Print, AFileNameCannotEndTheComment) {
  const TempDir dir;
  expect_round_trip(load_config(dir.write("a\nb: c.yaml", kSmall), {}));
}

TEST(Limits, AFileOfOneMebibyteIsRead) {
  const std::string yaml = kSmall;
  EXPECT_NO_THROW(load_text(yaml + std::string((1 << 20) - yaml.size(), '#')));
}

}  // namespace
}  // namespace encode
