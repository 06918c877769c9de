// A small experiment without a problem, for `encode preflight`. A test plants a problem in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "real_run.h"

namespace encode::testing {

// What `encode preflight --json` has said.
struct Report {
  Json json;
  int exit_code = 0;
  std::string err;

  // Whether a finding with this grade has `text` in what it says or in its code.
  bool has(const std::string& grade, const std::string& text) const;
  std::string all() const;  // every finding that is not green, for messages
};

class HealthyExperiment {
 public:
  HealthyExperiment();

  const TempDir& dir() const { return runs.dir(); }
  std::string file(const std::string& name) const { return dir().file(name); }
  // Writes a config of one stream on the CPU. `hardware` and `semantic` are further lines of YAML,
  // and `input` replaces the input file.
  void write_config(const std::string& semantic, const std::string& hardware) const;
  // Makes the programs see an NVIDIA driver with these answers (tests/run_record/nvml/stand_in.cc),
  // and a plugin for CUDA 13. The config then has no `device`, which means auto.
  void add_gpu(const Program::Environment& answers);
  // Makes system calls on files in the folder fail (tests/store/fault.h).
  void add_fault(const Program::Environment& fault);
  Report preflight(const std::vector<std::string>& more = {}) const;

  RealRun runs{"bert", 30};
  std::string input;  // the file that the config names
  std::string field;  // of the input; "" for a file of lines
  std::string device = "cpu";
  Program::Environment environment;
  std::function<void()> before_exec;
};

}  // namespace encode::testing
