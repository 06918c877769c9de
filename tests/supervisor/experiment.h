// A small experiment on disk, run in this process with the fake worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/error.h"

#include "supervisor/run.h"
#include "support/temp_dir.h"

namespace encode::testing {

// What a run came to.
struct RunResult {
  ExitCode exit_code = ExitCode::kOk;
  ErrorDetail error;  // where exit_code is not kOk
  std::string log;    // what the terminal showed
  std::string out;    // standard output
};

// Streams train_tc and train_commit of 17 rows each, chunks of 5 rows: 4 chunks a stream.
class Experiment {
 public:
  static constexpr int64_t kRows = 17;
  static constexpr int64_t kDim = 64;

  Experiment();

  RunConfig config;  // change it before run()
  RunEnvironment environment;

  // Runs with FAKE_WORKER=`misdeed` ("crash:2:1": crash in chunk 2, once; chunk -1: before the
  // first).
  RunResult run(const std::string& misdeed = "");

  const TempDir& dir() const { return dir_; }
  std::string cache(const std::string& name) const { return dir_.file("cache/" + name); }
  std::string tc() const { return cache("train_tc_embeddings.npy"); }
  std::string commit() const { return cache("train_commit_embeddings.npy"); }
  std::string read(const std::string& path) const { return read_bytes(path); }
  // Chunks that workers have encoded so far, over all runs; starts to count anew.
  std::vector<int64_t> take_encoded_chunks() const;
  void write_input(const std::string& stream, int64_t rows, const std::string& salt) const;

 private:
  TempDir dir_;
};

// The matrices of an undisturbed run.
std::string undisturbed_tc();

}  // namespace encode::testing
