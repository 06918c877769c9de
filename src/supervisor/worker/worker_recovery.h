// Recovers from failures of workers: it decides with FaultPolicy, remembers with FaultMemory, and
// records each failure in faults.jsonl.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/job.h"
#include "encode/worker_event.h"

#include "run_plan/plan.h"
#include "run_record/fault_log.h"
#include "run_record/run_log.h"
#include "supervisor/worker/fault_policy.h"
#include "supervisor/worker/oom_watch.h"
#include "supervisor/worker/worker_name.h"
#include "supervisor/worker/worker_session.h"

namespace encode {

// Not thread-safe.
class Recovery {
 public:
  // `config` and `log` must outlive the object. Requires the CacheLock. Forgets the failures of
  // earlier runs if the config says StoreOptions::fresh.
  Recovery(const RunConfig& config, RunLog& log, double first_delay_seconds);

  // Must be called once, when the run begins.
  void run_started();
  // Forgets which rows of a stream earlier runs have set aside.
  void take_back(const std::string& stream) { policy_.finished(stream); }
  // Must be called for each worker. `streams` are the streams of the job's units, in their order,
  // and must live until the worker has ended. Adds to the job what is known from earlier failures.
  void worker_started(const WorkerName& worker, const std::vector<const StreamPlan*>& streams,
                      JobSpec& job);
  // Gives a worker that runs another name for messages.
  void name_worker(const WorkerName& worker) { workers_[worker.number].label = worker.label; }
  // Must be called with each event of the worker.
  void event(size_t worker, const WorkerEvent& event);
  // Must be called when every row of the stream is committed.
  void stream_finished(const std::string& stream) { policy_.finished(stream); }
  // Must be called after a worker has ended and has left rows. Returns the seconds until the next
  // worker. Throws Error if there must be no other worker on its device.
  double worker_failed(size_t worker, const WorkerOutcome& outcome);
  // Records that the worker was replaced as planned.
  void worker_retired(size_t worker, const std::string& reason);
  // Must be called after a worker has ended because it found no more work.
  void worker_finished(size_t worker) { policy_.worker_ended(worker); }
  // Records the error after which the run goes on without the device of the worker.
  void device_lost(size_t worker, const ErrorDetail& error);
  // Records the error that ends the run.
  void gave_up(size_t worker, const ErrorDetail& error);

  // Returns the restarts of this worker's device since its last progress.
  int64_t restarts(size_t worker) const { return policy_.restarts(worker); }

 private:
  // What a worker was doing when its last event came.
  struct Worker {
    std::string label;
    std::string device = {};  // DeviceFacts::name of the last worker with this number
    std::vector<const StreamPlan*> streams = {};
    int64_t unit = -1;
    RowRange rows = {};
    RowRange ahead = {};  // WindowStarted::ahead
    bool probing = false;

    void works_on(const WindowStarted& window);
    void works_on(const ProbeStarted& part);
    void is_idle() { unit = -1, rows = ahead = {}, probing = false; }
    RowRange all_rows() const;
    std::string rows_text() const;
    const StreamPlan* stream(int64_t number) const;
    std::string prefix() const { return label.empty() ? "" : label + ": "; }
  };

  double decide(size_t number, const WorkerOutcome& outcome);
  void batch_halved(const Worker& worker, const BatchHalved& halved);
  FaultRecord record(const Worker& worker, FaultType type, const ErrorDetail& error) const;
  void on_rows_set_aside(const Worker& worker, const StreamPlan& stream,
                         const std::vector<SetAsideRow>& rows);
  void on_cache_problem(const Worker& worker, const CacheProblem& problem);
  bool leave_cache_after(const Worker& worker, const ErrorDetail& error);

  const RunConfig& config_;
  RunLog& log_;
  FaultMemory memory_;
  FaultPolicy policy_;
  FaultLog faults_;
  WindowShare window_share_;
  bool expandable_segments_ = true;  // false: off, even if the config sets it
  bool embedding_cache_ = true;      // false: off, even if the config sets it
  std::map<size_t, Worker> workers_;
};

}  // namespace encode
