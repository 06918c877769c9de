// Tests that the table of keys is complete, and that configs/schema.json agrees with it.
#include "config/reference.h"

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/json.h"
#include "config/key_values.h"
#include "config/load.h"
#include "config/schema.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::read_bytes;
using testing::write_bytes;

constexpr const char* kRefresh = "run config_test with ENCODE_REFRESH=1 to refresh the file";

bool refresh() { return std::getenv("ENCODE_REFRESH") != nullptr; }

TEST(Reference, CommittedSchemaIsThatOfTheLoader) {
  const std::string path = testing::source_file("configs/schema.json");
  if (refresh()) write_bytes(path, config_json_schema());
  EXPECT_TRUE(read_bytes(path) == config_json_schema()) << path << ": " << kRefresh;
}

// Collects the paths of all leaves that the schema allows.
void collect(const Json& schema, const std::string& path, std::set<std::string>& keys) {
  if (schema.contains("anyOf")) return collect(schema["anyOf"][1], path, keys);
  if (schema["type"] != "object") {
    keys.insert(path);
    return;
  }
  const Json& others = schema["additionalProperties"];
  if (others.is_object()) return collect(others, path + ".*", keys);
  EXPECT_EQ(others, false) << path << " allows unknown keys";
  for (const auto& [name, child] : schema["properties"].items()) {
    std::string child_path = path;
    collect(child, child_path.append(".").append(name), keys);
  }
}

TEST(Reference, SchemaAllowsExactlyTheKeysOfTheTable) {
  std::set<std::string> expected;
  for (const KeySpec& key : config_keys()) {
    for (const std::string& section : key.sections) {
      std::string path;
      for (const std::string& part : split_key(section))
        path.append(".").append(part[0] == '<' ? "*" : part);
      expected.insert(path + "." + key.name);
      if (!key.alias.empty()) expected.insert(path + "." + key.alias);
    }
  }
  std::set<std::string> found;
  collect(Json::parse(config_json_schema()), "", found);
  EXPECT_EQ(found, expected);
}

TEST(Reference, EveryDefaultIsValidAndEveryKeyExplained) {
  for (const KeySpec& key : config_keys()) {
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_NE(key.default_text.has_value(), !key.default_note.empty()) << key.name;
    if (key.default_text) {
      EXPECT_NO_THROW(key.default_value()) << key.name;
    }
  }
}

// A struct of encode/config.h and the table of keys have the same defaults, apart from batch_size.
TEST(Reference, ARunOfDefaultsHasTheDefaultsOfTheStructs) {
  const RunConfig run =
      load_config("", {{.key = "semantic.model", .value = "m", .flag = "--model"},
                       {.key = "input.file", .value = "a.txt", .flag = "--input"}})
          .run;
  ASSERT_EQ(run.streams.size(), 1U);
  const StreamConfig& stream = run.streams[0];
  StreamConfig expected_stream;
  expected_stream.stream = stream.stream;
  expected_stream.input.path = "a.txt";
  expected_stream.result.model = "m";
  expected_stream.speed.batch_size = kDefaultBatchSize;
  RunConfig expected;
  expected.store.cache_dir = "cache/embeddings";
  expected.streams = {expected_stream};
  EXPECT_TRUE(stream.input == expected_stream.input);
  EXPECT_TRUE(stream.result == expected_stream.result);
  EXPECT_TRUE(stream.speed == expected_stream.speed);
  EXPECT_TRUE(run.store == expected.store);
  EXPECT_TRUE(run.hardware == expected.hardware);
  EXPECT_TRUE(run.log == expected.log);
  EXPECT_TRUE(run == expected) << "another part of RunConfig, or a new one";
  EXPECT_EQ(SpeedOptions().batch_size, 0) << "no limit, unlike in a config";
  EXPECT_EQ(kDefaultBatchSize, 32);
}

// The pattern of the table accepts what find_device() accepts.
TEST(Reference, DevicesHaveTheNamesThatFindDeviceAccepts) {
  for (const char* name :
       {"auto", "cpu", "cuda", "cuda:0", "cuda:9", "cuda:10", "cuda:99", "", "gpu", "CPU", "cpu:0",
        "auto:1", "cuda:", "cuda:-1", "cuda:01", "cuda:1x", "cuda:100", "cuda: 1"}) {
    bool accepted = true;
    try {
      parse_value(device_value(), name, {.key = "hardware.device", .where = "--device"});
    } catch (const Error&) {
      accepted = false;
    }
    EXPECT_EQ(accepted, find_device(name).has_value()) << name;
  }
}

// Returns what is wrong with the flags of a key, or "".
std::string fault_of_flags(const KeySpec& key) {
  if (key.flags.empty() == key.no_flag.empty())
    return "either a flag, or a reason why there is none";
  for (const KeyFlag& flag : key.flags) {
    if (!flag.name.starts_with("--")) return "a name begins with --";
    if (flag.help.empty() || flag.help.ends_with('.')) return "a help is a phrase without a stop";
    if (!flag.fixed) continue;
    try {
      parse_value(key.value, *flag.fixed, {.key = key.name, .where = flag.name});
    } catch (const Error& error) {
      return error.what();
    }
  }
  return "";
}

TEST(Reference, EveryKeyHasAFlagOrAReason) {
  std::set<std::string> names;
  std::set<std::pair<FlagGroup, int>> places;
  for (const KeySpec& key : config_keys()) {
    EXPECT_EQ(fault_of_flags(key), "") << key.flag_path();
    for (const KeyFlag& flag : key.flags) {
      EXPECT_TRUE(names.insert(flag.name).second) << flag.name << " sets two keys";
      EXPECT_TRUE(places.emplace(flag.group, flag.place).second)
          << flag.name << " has no own place";
    }
  }
  EXPECT_EQ(names.size(), config_flags().size());
}

TEST(Reference, ControlAKeyWithoutFlagOrReasonIsFound) {
  const KeyFlag flag = {.name = "--x", .help = "What x is"};
  const auto fault = [](const KeyFlag& given, const std::string& reason) {
    return fault_of_flags({.sections = {"log"},
                           .name = "x",
                           .value = {.type = ValueType::kBoolean},
                           .flags = {given},
                           .no_flag = reason});
  };
  EXPECT_NE(fault_of_flags({.sections = {"log"}, .name = "x"}), "");
  EXPECT_EQ(fault_of_flags({.sections = {"log"}, .name = "x", .no_flag = "few need it"}), "");
  EXPECT_EQ(fault(flag, ""), "");
  EXPECT_NE(fault(flag, "few need it"), "");
  EXPECT_NE(fault({.name = "x", .help = "What x is"}, ""), "");
  EXPECT_NE(fault({.name = "--x", .help = "What x is."}, ""), "");
  EXPECT_NE(fault({.name = "--x", .fixed = "perhaps", .help = "What x is"}, ""), "");
}

TEST(Reference, SettingsAreSpelledAsTheUserGivesThem) {
  EXPECT_EQ(spelled_setting("semantic.dtype", "int8", true), "--dtype int8");
  EXPECT_EQ(spelled_setting("semantic.dtype", "int8", false), "semantic.dtype: int8");
  EXPECT_EQ(spelled_setting("semantic.use_chunked_encoding", "false", true), "--standard");
  EXPECT_EQ(spelled_setting("semantic.use_chunked_encoding", "true", true),
            "--set semantic.use_chunked_encoding=true");
  EXPECT_EQ(spelled_setting("hardware.max_restarts", "5", true), "--set hardware.max_restarts=5");
  EXPECT_EQ(setting_name("semantic.dtype", true), "--dtype");
  EXPECT_EQ(setting_name("semantic.dtype", false), "semantic.dtype");
  EXPECT_EQ(setting_name("hardware.max_restarts", true), "--set hardware.max_restarts");
}

// A flag and --set name a key in the same way.
TEST(Reference, FlagsSetTheKeysOfTheOnlyInput) {
  std::map<std::string, std::string> keys;
  for (const KeyedFlag& keyed : config_flags()) keys[keyed.flag->name] = keyed.key->flag_path();
  EXPECT_EQ(keys["--field"], "input.field");
  EXPECT_EQ(keys["--quiet"], "log.level");
  EXPECT_EQ(keys["--embedding-cache"], "semantic.embedding_cache.dir");
}

}  // namespace
}  // namespace encode
