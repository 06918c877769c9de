// Runs fake jobs in child processes under a fault plan and tells how they ended.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "store/fake_job.h"
#include "store/fault.h"

namespace encode::testing {

struct ChildResult {
  bool killed = false;  // by SIGKILL
  int exit_code = -1;   // documented exit code; -1: ended by a signal, `signal` says which
  int signal = 0;
  std::vector<int64_t> acked;  // chunks whose commit returned, told through a pipe
  std::string message;         // the Error
};

FaultPlan fault_plan(const std::string& root, FaultMode mode, int64_t at);

// run_fake_job() in a forked child.
ChildResult run_child(const std::string& cache_dir, const FakeJob& job, const FaultPlan& plan);
// Any action; an Error becomes its exit code.
ChildResult run_child(const std::function<void(const std::function<void(int64_t)>& ack)>& action,
                      const FaultPlan& plan);

// Runs the job without faults and says what is wrong with the outcome; "" where the final is right
// to the byte and no chunk of `acked` was encoded again.
std::string resume_problem(const std::string& cache_dir, const FakeJob& job,
                           const std::vector<int64_t>& acked);

}  // namespace encode::testing
