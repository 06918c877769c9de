// Tests that keys of earlier versions are read, named in the run, and have no effect. The control
// is the error of an unknown key in broken_test.cc.
#include <gtest/gtest.h>

#include "config/load.h"
#include "config/schema.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

const std::string kConfig = "semantic: {model: m}\ninput: {file: a.txt}\n";

RunConfig load_text(const std::string& yaml, const std::vector<Override>& overrides = {}) {
  const testing::TempDir dir;
  RunConfig run = load_config(dir.write("run.yaml", yaml), overrides).run;
  run.config_path.clear();
  return run;
}

// Returns the only sentence about retired keys, and takes it from the run.
std::string take_sentence(RunConfig& run) {
  EXPECT_EQ(run.retired_keys.size(), 1U);
  std::string sentence = run.retired_keys.empty() ? "" : run.retired_keys.front();
  run.retired_keys.clear();
  return sentence;
}

TEST(RetiredKeys, OfAConfigHaveNoEffectWhateverTheirValue) {
  for (const std::string value : {"true", "false", "null", "[a, {b: c}]"}) {
    RunConfig run = load_text(kConfig + "hardware: {product_search: " + value + "}\n");
    const std::string sentence = take_sentence(run);
    EXPECT_TRUE(sentence.ends_with("run.yaml:3:12: hardware.product_search has no effect any more"))
        << sentence;
    EXPECT_EQ(run, load_text(kConfig)) << value;
  }
}

TEST(RetiredKeys, OfAFlagHaveNoEffect) {
  RunConfig run = load_text(kConfig, {{"hardware.product_search", "x", "--product-search"}});
  EXPECT_EQ(take_sentence(run), "--product-search: hardware.product_search has no effect any more");
  EXPECT_EQ(run, load_text(kConfig));
}

TEST(RetiredKeys, AreNoKeysOfTheReference) {
  for (const KeySpec& key : config_keys()) {
    for (const std::string& section : key.sections)
      EXPECT_EQ(retired_key(join_key(section, key.name)), nullptr) << key.name;
  }
  EXPECT_EQ(config_json_schema().find("product_search"), std::string::npos);
}

}  // namespace
}  // namespace encode
