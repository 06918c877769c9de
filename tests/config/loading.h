// Loads configs for tests, and looks at their settings.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "config/load.h"
#include "support/temp_dir.h"

namespace encode::testing {

inline Setting setting(const LoadedConfig& loaded, const std::string& key) {
  const auto found =
      std::find_if(loaded.settings.begin(), loaded.settings.end(),
                   [&key](const Setting& candidate) { return candidate.key == key; });
  return found == loaded.settings.end() ? Setting{key, "absent", "absent"} : *found;
}

// Returns the text "value <- origin" for a key.
inline std::string shown(const LoadedConfig& loaded, const std::string& key) {
  return setting(loaded, key).value + " <- " + setting(loaded, key).origin;
}

inline LoadedConfig load_text(const std::string& yaml,
                              const std::vector<Override>& overrides = {}) {
  const TempDir dir;
  return load_config(dir.write("run.yaml", yaml), overrides);
}

// Returns the error of a config; without a code if it is good.
inline ErrorDetail refusal(const std::string& yaml, const std::vector<Override>& flags = {}) {
  try {
    load_text(yaml, flags);
  } catch (const Error& error) {
    return error.detail();
  }
  return {};
}

// Checks that the printed config loads to the same run, and that its settings print the same.
inline void expect_round_trip(const LoadedConfig& loaded) {
  for (const PrintedKeys keys : {PrintedKeys::kAll, PrintedKeys::kGiven}) {
    const std::string printed = print_config(loaded, keys);
    LoadedConfig again = load_text(printed);
    again.run.config_path = loaded.run.config_path;
    EXPECT_EQ(again.run, loaded.run) << printed;
    ASSERT_EQ(again.settings.size(), loaded.settings.size());
    for (size_t i = 0; i < again.settings.size(); ++i) {
      EXPECT_EQ(again.settings[i].key, loaded.settings[i].key);
      EXPECT_EQ(again.settings[i].value, loaded.settings[i].value) << again.settings[i].key;
    }
  }
}

}  // namespace encode::testing
