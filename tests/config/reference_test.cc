// Tests that docs/config.md and configs/schema.json agree with the table of keys.
#include "config/reference.h"

#include <cstdlib>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/json.h"
#include "config/load.h"
#include "config/schema.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::read_bytes;
using testing::write_bytes;

constexpr const char* kBegin = "<!-- keys: begin -->\n";
constexpr const char* kEnd = "<!-- keys: end -->";
constexpr const char* kRefresh = "run config_test with ENCODE_REFRESH=1 to refresh the file";

bool refresh() { return std::getenv("ENCODE_REFRESH") != nullptr; }

TEST(Reference, DocsListEveryKeyWithItsDefault) {
  const std::string path = testing::source_file("docs/config.md");
  const std::string docs = read_bytes(path);
  const size_t begin = docs.find(kBegin);
  const size_t end = docs.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && begin < end);
  const size_t from = begin + std::string(kBegin).size();
  if (refresh()) write_bytes(path, docs.substr(0, from) + config_reference() + docs.substr(end));
  EXPECT_TRUE(refresh() || docs.substr(from, end - from) == config_reference())
      << path << ": " << kRefresh;
  for (const KeySpec& key : config_keys()) {
    EXPECT_NE(config_reference().find("| `" + key.name + "`"), std::string::npos) << key.name;
  }
}

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

}  // namespace
}  // namespace encode
