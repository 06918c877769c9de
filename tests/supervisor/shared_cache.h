// An experiment of two streams in a directory whose locks no run sees, for tests: a fault library
// gives every lock to everyone and says that the directory is on FUSE.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/attempt_folders.h"
#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {

class OwnAttempt : public ::testing::Test {
 protected:
  using Environment = Program::Environment;
  using Files = std::map<std::string, std::string>;  // the files of a folder and their bytes
  static constexpr int64_t kRows = 7;

  OwnAttempt() {
    std::string rows;
    for (int64_t row = 0; row < kRows; ++row) rows += fmt::format("{{\"text\":\"row {}\"}}\n", row);
    dir_.write("texts.jsonl", rows);
    dir_.write("records/.keep", "");
    dir_.write("shared/.keep", "");
    write_config("shared", "shared/cache");
    write_config("local", "local/cache");
  }

  void write_config(const std::string& name, const std::string& cache) const {
    const std::string texts = dir_.file("texts.jsonl");
    dir_.write(name + ".yaml",
               fmt::format("semantic: {{model: {}, chunk_size: 2, cache_dir: {}}}\n"
                           "data: {{streams: {{tc: {{field: text}}, commit: {{field: text}}}}, "
                           "splits: {{train: {{tc: {}, commit: {}}}}}}}\n"
                           "output: {{combine: [tc, commit]}}\n",
                           test_data("models/bert"), dir_.file(cache), texts, texts));
  }
  // `shift` stands for a kind of device; each gives other vectors.
  Environment environment(int shift, const Environment& more = {}) const {
    Environment all = {{"FAKE_WORKER_RECORDS", dir_.file("records")},
                       {"FAKE_WORKER_SHIFT", fmt::to_string(shift)},
                       {"LD_PRELOAD", built_file(FAULT_LIBRARY)},
                       {"FAULT_ROOT", dir_.file("shared")},
                       {"FAULT_FILE_SYSTEM", "0x65735546"},
                       {"FAULT_DROP_LOCKS", "1"},
                       {"FAULT_LOCK_MAY_GO", "1"}};
    for (const auto& [name, value] : more) all[name] = value;
    return all;
  }
  std::vector<std::string> words(const std::string& command,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {command, "--config", dir_.file("shared.yaml")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  ProgramEnd encode(const std::vector<std::string>& arguments,
                    const Environment& environment) const {
    return Program(dir_.path(), arguments, environment).wait();
  }
  ProgramEnd run(int shift = 0, const Environment& more = {},
                 const std::vector<std::string>& flags = {}) const {
    return encode(words("run", flags), environment(shift, more));
  }
  ProgramEnd run_locally() const {
    return encode({"run", "--config", dir_.file("local.yaml")},
                  {{"FAKE_WORKER_RECORDS", dir_.file("records")}, {"FAKE_WORKER_SHIFT", "0"}});
  }
  int verified() const { return encode(words("verify"), {}).exit_code; }
  int64_t encoded() const {
    const std::string path = dir_.file("records/encoded_chunks");
    if (!std::filesystem::exists(path)) return 0;
    const std::string text = read_bytes(path);
    return std::count(text.begin(), text.end(), '\n');
  }
  std::string cache(const std::string& name = "") const {
    return dir_.file("shared/cache/" + name);
  }
  std::vector<std::string> attempts() const { return attempts_in(attempts_dir(cache())); }

  // Returns the matrices of a cache directory and the files beside them.
  static Files matrices(const std::string& cache) {
    Files files;
    for (const auto& entry : std::filesystem::directory_iterator(cache)) {
      const std::string name = entry.path().filename().string();
      if (name[0] != '.' && name.find("_embeddings.") != std::string::npos)
        files[name] = read_bytes(entry.path());
    }
    return files;
  }
  static std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  TempDir dir_;
};

}  // namespace encode::testing
