// A small sound sentence-transformers directory that tests damage, and the check of what an Error
// says.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "support/temp_dir.h"

namespace encode::testing {

// BERT-like, hidden_size 4, 10 ids, 32 positions; files as sentence-transformers 2 wrote them
// (all-MiniLM-L6-v2's).
class TinyModel {
 public:
  TinyModel();
  std::string path() const { return dir_.path(); }
  std::string file(std::string_view name) const { return dir_.file(name); }
  void write(std::string_view name, std::string_view content) const { dir_.write(name, content); }
  void remove(std::string_view name) const;
  ModelDirectory open() const { return open_model_directory(path()); }

 private:
  TempDir dir_;
};

inline constexpr std::string_view kTinyConfig =
    R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 4, "vocab_size": 10, )"
    R"("num_hidden_layers": 1, "max_position_embeddings": 32})";

// What the Error of `action` must hold; the texts are substrings.
struct Expected {
  std::string code;
  std::string what;
  std::string expected;
  std::string found;
  ExitCode exit_code = ExitCode::kConfig;
};

// Runs `action` and checks its Error, that it took less than a second and less than 64 MiB of
// memory.
void expect_refused(const std::function<void()>& action, const Expected& expected);

}  // namespace encode::testing
