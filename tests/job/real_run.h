// Runs `encode run` with the real worker on a tiny model and generated texts.
#pragma once

#include <string>
#include <vector>

#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {

// How RealRun::kill_runs() kills. The first run is killed after `first_ms`, and each later run
// `step_ms` later than the one before.
struct Kills {
  int times;
  int first_ms = 150;
  int step_ms = 150;
};

// A folder with a model directory and an input file. The model is a tiny random one from
// tests/data, with a tokenizer of single characters.
class RealRun {
 public:
  // `model` is the name of a directory in tests/data/models: "bert", "qwen2" or "t5".
  RealRun(const std::string& model, int64_t rows);

  // Runs `encode run --model .. --input .. --output NAME.npy <extra>` to its end. An --input in
  // `extra` replaces the generated texts, and a --device replaces the CPU.
  ProgramEnd run(const std::string& name, const std::vector<std::string>& extra) const;
  // Returns the arguments of the command that run() starts.
  std::vector<std::string> arguments(const std::string& name,
                                     const std::vector<std::string>& extra) const;

  // Starts run(name, extra) again and again and kills each run with SIGKILL, until kills.times runs
  // were killed or a run has ended before its kill. Returns the number of runs that were killed.
  // The next call of run() goes on with the same run.
  int kill_runs(const std::string& name, const std::vector<std::string>& extra,
                const Kills& kills) const;

  ProgramEnd verify(const std::string& name) const;  // runs `encode verify NAME.npy`

  // The file that run(name, ..) writes.
  std::string matrix(const std::string& name) const { return dir_.file(name + ".npy"); }
  const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
};

}  // namespace encode::testing
