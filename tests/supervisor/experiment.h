// A small experiment on disk, for tests that run the supervisor in the test process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/error.h"

#include "supervisor/run.h"
#include "support/temp_dir.h"

namespace encode::testing {

// How a run ended, and what it wrote.
struct RunResult {
  ExitCode exit_code = ExitCode::kOk;
  ErrorDetail error;  // empty if exit_code is kOk
  std::string log;    // the standard error
  std::string out;    // the standard output
};

// Has the streams train_tc and train_commit, of 17 rows each. Chunks have 5 rows, so each stream
// has 4 chunks.
class Experiment {
 public:
  static constexpr int64_t kRows = 17;
  static constexpr int64_t kDim = 64;

  Experiment();

  RunConfig config;  // a test may change this before run()
  RunEnvironment environment;

  // Runs the experiment with the fake worker. `misdeed` is the value of FAKE_WORKER, which
  // fake_worker.cc describes; "" lets the worker behave well.
  RunResult run(const std::string& misdeed = "");

  const TempDir& dir() const { return dir_; }
  std::string cache(const std::string& name) const { return dir_.file("cache/" + name); }
  std::string tc() const { return cache("train_tc_embeddings.npy"); }
  std::string commit() const { return cache("train_commit_embeddings.npy"); }
  std::string read(const std::string& path) const { return read_bytes(path); }
  // Returns the chunks that workers have encoded in all runs since the last call.
  std::vector<int64_t> take_encoded_chunks() const;
  // Writes `rows` rows. Another value of `salt` gives other texts.
  void write_input(const std::string& stream, int64_t rows, const std::string& salt) const;

 private:
  TempDir dir_;
};

// Returns the bytes of the train_tc matrix of a run in which the worker behaves well.
std::string undisturbed_tc();

}  // namespace encode::testing
