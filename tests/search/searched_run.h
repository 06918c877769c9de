// A run on a tiny model whose matrix a test searches.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "real_run.h"

namespace encode::testing {

// Encodes the rows of `texts` with the real worker.
class SearchedRun {
 public:
  static const std::vector<std::string>& rows();  // the texts; no two of them are equal

  SearchedRun();

  // Runs `encode run` with more arguments; an --input replaces the texts. The test fails if the
  // command fails.
  void run(const std::vector<std::string>& extra = {}) const;
  // Runs `encode search <arguments>`. `input` is the content of standard input.
  ProgramEnd search(std::vector<std::string> arguments, const std::string& input = "") const;
  // Runs `encode search --matrix .. --model .. --device cpu --json <arguments>` and returns the
  // lines. The test fails if the command fails.
  std::vector<Json> hits(std::vector<std::string> arguments) const;

  std::string matrix() const { return run_.matrix("out"); }
  std::string model() const { return run_.dir().file("model"); }
  std::string texts() const { return run_.dir().file("rows.txt"); }
  const TempDir& dir() const { return run_.dir(); }

 private:
  RealRun run_;
};

}  // namespace encode::testing
