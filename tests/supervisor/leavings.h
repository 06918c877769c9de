// A folder with an input of five rows, and runs with --output in it. The worker has no model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {

class Leavings : public ::testing::Test {
 protected:
  Leavings() {
    std::string rows;
    for (int row = 0; row < 5; ++row) rows += fmt::format("{{\"text\":\"row {}\"}}\n", row);
    dir_.write("in/texts.jsonl", rows);
    dir_.write("records/.keep", "");
    std::filesystem::create_directory(dir_.file("out"));
  }
  std::vector<std::string> flags(const std::string& command) const {
    std::vector<std::string> words = run_words(dir_.file("in/texts.jsonl"), output());
    words.front() = command;
    return words;
  }
  ProgramEnd encode(std::vector<std::string> words, Program::Environment environment = {}) const {
    environment["FAKE_WORKER_RECORDS"] = dir_.file("records");
    return Program(dir_.path(), std::move(words), environment).wait();
  }
  ProgramEnd run(const std::vector<std::string>& more = {},
                 const Program::Environment& environment = {}) const {
    std::vector<std::string> words = flags("run");
    words.insert(words.end(), {"--chunk-size", "2"});
    words.insert(words.end(), more.begin(), more.end());
    return encode(words, environment);
  }
  std::string output() const { return dir_.file("out/x.npy"); }
  std::string cache(const std::string& name = "") const {
    return dir_.file("out/.x.npy.cache" + (name.empty() ? "" : "/" + name));
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.file("out")))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::vector<std::string> usual() {
    return {".x.npy.run.json", "x.npy", "x.npy.manifest.json"};
  }
  int64_t encoded() const {
    const std::string path = dir_.file("records/encoded_chunks");
    if (!std::filesystem::exists(path)) return 0;
    const std::string text = read_bytes(path);
    return std::count(text.begin(), text.end(), '\n');
  }

  TempDir dir_;
};

}  // namespace encode::testing
