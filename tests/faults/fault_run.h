// Runs an experiment in the test process, with the real worker on a tiny model and on a device that
// fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/error.h"
#include "encode/store.h"

#include "supervisor/run.h"
#include "support/temp_dir.h"

namespace encode::testing {

// True in the test soak.faults, where the tests try every batch.
bool fault_soak();

struct FaultRunEnd {
  ExitCode exit_code = ExitCode::kOk;
  ErrorDetail error;  // empty if exit_code is kOk
  std::string log;    // the standard error
};

// The stream train_tc of kRows short texts in chunks of 20 rows. Each text of a row in `poison` has
// the token kPoison, and no other text has it.
class FaultRun {
 public:
  static constexpr int64_t kRows = 120;
  static constexpr int64_t kPoison = 1;  // [UNK], the token of each character that is no letter

  explicit FaultRun(std::vector<int64_t> poison = {});

  RunConfig config;  // a test may change this before run()
  RunEnvironment environment;

  // Adds a stream with the same texts, but its own poisoned rows.
  void add_stream(const std::string& stream, const std::vector<int64_t>& poison);
  // `faults` as in parse_faults(). Faults are counted over all runs of this object.
  FaultRunEnd run(const std::string& faults = "");

  // Returns how often this fault of the faults ("cuda@batch:1") has happened in all runs.
  int64_t times_happened(const std::string& fault) const;

  const TempDir& dir() const { return dir_; }
  std::string cache(const std::string& name) const { return dir_.file("cache/" + name); }
  std::string final(const std::string& stream = "tc") const {
    return cache("train_" + stream + "_embeddings.npy");
  }
  // Returns the vector of a row of a final matrix.
  std::vector<float> row(int64_t row, const std::string& stream = "tc") const;

  // Writes the texts of a stream again, with other poisoned rows.
  void write_texts(const std::string& stream, const std::vector<int64_t>& poison) const;

 private:
  TempDir dir_;
};

// The values of the final matrix of `poison`'s texts on a device that works, row by row.
std::vector<std::vector<float>> undisturbed(const std::vector<int64_t>& poison);

}  // namespace encode::testing
