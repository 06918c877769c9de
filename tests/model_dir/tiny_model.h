// A small valid sentence-transformers directory for tests that damage it, and a check of the Error.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "support/temp_dir.h"

namespace encode::testing {

// A model like BERT with hidden_size 4, 10 ids and 32 positions. The files are those that
// sentence-transformers 2 wrote for all-MiniLM-L6-v2.
class TinyModel {
 public:
  TinyModel();
  std::string path() const { return dir_.path(); }
  std::string file(std::string_view name) const { return dir_.file(name); }
  void write(std::string_view name, std::string_view content) const { dir_.write(name, content); }
  // Writes modules.json, a list of these entries.
  void write_modules(const std::vector<std::string>& entries) const;
  void remove(std::string_view name) const;
  ModelDirectory open() const { return open_model_directory(path()); }

 private:
  TempDir dir_;
};

inline constexpr std::string_view kTinyConfig =
    R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 4, "vocab_size": 10, )"
    R"("num_hidden_layers": 1, "max_position_embeddings": 32})";

// The expected fields of an Error. The texts are substrings.
struct Expected {
  std::string code;
  std::string what;
  std::string expected;
  std::string found;
  ExitCode exit_code = ExitCode::kConfig;
};

// Runs `action` and checks its Error. Also checks that it took less than a second and less than
// 64 MiB of memory.
void expect_refused(const std::function<void()>& action, const Expected& expected);
void expect_open_refused(const TinyModel& model, const Expected& expected);

}  // namespace encode::testing
