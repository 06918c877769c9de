// Reads the recorded test cases in tests/data/tokenizer.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "support/temp_dir.h"

namespace encode::testing {

inline std::string tokenizer_data(const std::string& name) {
  return test_data("tokenizer/" + name);
}

// Returns the cases of a file, which has one case in each line.
inline std::vector<Json> read_cases(const std::string& name) {
  std::ifstream in(tokenizer_data(name));
  std::vector<Json> cases;
  for (std::string line; std::getline(in, line);) cases.push_back(Json::parse(line));
  return cases;
}

}  // namespace encode::testing
