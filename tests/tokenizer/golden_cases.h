// Reads the recorded test cases in tests/data/tokenizer.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "encode/tokenizer.h"

#include "base/json.h"
#include "support/temp_dir.h"

namespace encode::testing {

inline std::string tokenizer_data(const std::string& name) {
  return test_data("tokenizer/" + name);
}

// Loads the tokenizer.json of a family, or its .model file.
inline std::unique_ptr<Tokenizer> load_family(const std::string& name) {
  const std::string file = tokenizer_data(name + "/tokenizer.json");
  if (std::filesystem::exists(file)) return load_tokenizer(file);
  return load_tokenizer(tokenizer_data(name + "/tokenizer.model"));
}

// Returns the cases of a file, which has one case in each line.
inline std::vector<Json> read_cases(const std::string& name) {
  std::ifstream in(tokenizer_data(name));
  std::vector<Json> cases;
  for (std::string line; std::getline(in, line);) cases.push_back(Json::parse(line));
  return cases;
}

}  // namespace encode::testing
