// A fixture for commands about one run, which makes a table of 23 records.
#pragma once

#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "supervisor/program.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace encode::testing {

class CliTable : public ::testing::Test {
 protected:
  // `flags` say which texts and which columns the run takes from the records of in.jsonl, which
  // have the fields id ("k7"), title ("T7") and n (7).
  explicit CliTable(std::vector<std::string> flags) : flags_(std::move(flags)) {
    std::string lines;
    for (int row = 0; row < 23; ++row)
      lines += fmt::format("{{\"id\":\"k{0}\",\"title\":\"T{0}\",\"n\":{0}}}\n", row);
    dir_.write("in.jsonl", lines);
  }
  // Runs `encode <command>` with the flags of the run, which makes out.parquet.
  ProgramEnd encode(const std::string& command, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {command,
                                      "--model",
                                      kModel,
                                      "--input",
                                      dir_.file("in.jsonl"),
                                      "--output",
                                      dir_.file("out.parquet")};
    words.insert(words.end(), flags_.begin(), flags_.end());
    words.insert(words.end(), more.begin(), more.end());
    return other(words);
  }
  ProgramEnd other(const std::vector<std::string>& words) const {
    return Program(dir_.path(), words).wait();
  }

  const std::string kModel = test_data("sentence_transformers/model2vec");
  TempDir dir_;

 private:
  std::vector<std::string> flags_;
};

}  // namespace encode::testing
