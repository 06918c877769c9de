// `encode run` with the real worker on a tiny model and generated texts.
#pragma once

#include <string>
#include <vector>

#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {

// A folder with a model directory (the tiny random BERT, Qwen2 or T5 of tests/data with a tokenizer
// of single characters) and an input of `rows` rows.
class RealRun {
 public:
  RealRun(const std::string& model, int64_t rows);

  // Runs `encode run --model .. --input .. --output NAME.npy <extra>` to its end. An --input or
  // --device in `extra` takes the place of the generated texts, or of the CPU.
  ProgramEnd run(const std::string& name, const std::vector<std::string>& extra) const;
  std::vector<std::string> arguments(const std::string& name,
                                     const std::vector<std::string>& extra) const;

  ProgramEnd verify(const std::string& name) const;  // `encode verify NAME.npy`

  std::string matrix(const std::string& name) const { return dir_.file(name + ".npy"); }
  const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
};

}  // namespace encode::testing
