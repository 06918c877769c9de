// Runs fake jobs in child processes under a fault plan and reports how they ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/fake_job.h"
#include "store/fault.h"

namespace encode::testing {

// Returns the number of the round of tests/soak/store.sh, in which the tests do more. Returns 0 in
// a usual run.
uint32_t soak_round();

struct ChildResult {
  bool killed = false;         // true if SIGKILL ended the child
  int exit_code = -1;          // the exit code, or -1 if a signal ended the child
  int signal = 0;              // the signal that ended the child, or 0
  std::vector<int64_t> acked;  // the chunks for which commit() returned
  std::string message;         // the text of the Error, or ""
};

FaultPlan fault_plan(const std::string& root, FaultMode mode, int64_t at);

// Runs run_fake_job() in a forked child.
ChildResult run_child(const std::string& cache_dir, const FakeJob& job, const FaultPlan& plan);
// Runs `action` in a forked child. If it throws an Error, the child ends with the Error's exit
// code.
ChildResult run_child(const std::function<void(const std::function<void(int64_t)>& ack)>& action,
                      const FaultPlan& plan);

// Returns "torn PATH" if a file with the name of a final matrix or of a chunk does not have all its
// bytes, or "".
std::string torn_file(const std::string& cache_dir, const FakeJob& job);

// Runs the job without faults and returns what is wrong with the result. Returns "" if every byte
// of the final matrix is right and no chunk of `acked` (the committed chunks) was encoded again.
std::string resume_problem(const std::string& cache_dir, const FakeJob& job,
                           const std::vector<int64_t>& acked);

}  // namespace encode::testing
