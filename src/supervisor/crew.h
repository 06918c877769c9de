// The workers of a run: one for each device, until every row is committed.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encode/job.h"
#include "encode/store.h"

#include "base/stop_signal.h"
#include "run_plan/plan.h"
#include "run_plan/resume.h"
#include "run_record/run_log.h"
#include "supervisor/run.h"
#include "supervisor/run_reporter.h"
#include "supervisor/worker/worker_recovery.h"
#include "supervisor/worker/worker_session.h"

namespace encode {

// What a Crew works with. Every member must outlive the Crew.
struct CrewContext {
  const RunConfig& config;
  const RunEnvironment& environment;
  const RunPlan& plan;
  const StreamFinisher& finisher;
  const CacheLock& lock;
  const LockOfRun& lock_of_run;
  const StopSignal& stop;
  RunLog& log;
  Recovery& recovery;
  RunReporter& reporter;
};

// Watches all workers on one thread. Several workers share the chunks of each stream by claims in
// the store (ChunkStore::claim()), so nothing has to be handed out here, and the chunks of a worker
// that dies are free again at once.
//
// - Only one worker runs until the first one has loaded its model. Its kind of device is then
//   required of all others, and the self-test compares them with it.
// - Each device has its own restarts. A device that fails for good is lost, and the others go on;
//   the run ends when no device is left, or after an error that no device has caused.
// Not thread-safe.
class Crew {
 public:
  // `states` has the state of each stream of the plan, and must outlive the Crew.
  Crew(const CrewContext& context, std::vector<StreamState>& states);

  // Returns when every row of every stream is committed. Throws Stopped after a signal, and the
  // Error that ends the run.
  void encode_all();
  // Returns the sum of the largest resident memory of each device's workers.
  int64_t peak_resident_bytes() const;

 private:
  // A device and its worker.
  struct Slot {
    enum class State {
      kWaiting,  // a worker starts at `due`
      kAlive,
      kResting,  // its last worker found nothing more to do
      kLost,     // the run goes on without the device
    };
    WorkerName name;
    DeviceChoice device;
    State state = State::kWaiting;
    Clock::time_point due = {};
    std::unique_ptr<WorkerSession> session = nullptr;
    std::vector<size_t> streams = {};  // the streams of the job's units
    bool loaded = false;
    int64_t peak_bytes = 0;
  };

  void start_workers();
  void start(Slot& slot);
  void watch();
  void on_event(Slot& slot, const WorkerEvent& event);
  void on_loaded(Slot& slot, const DeviceFacts& device);
  void on_unit_done(size_t stream);
  void ended(Slot& slot, WorkerOutcome outcome);
  void failed(Slot& slot, const WorkerOutcome& outcome);
  bool can_lose(const ErrorDetail& error) const;
  void dismiss_loading_workers();
  void settle();
  void settle_stream(size_t stream);
  void name_devices(const std::vector<DeviceChoice>& devices);
  JobSpec make_job(const Slot& slot) const;
  std::string write_job(const Slot& slot, const JobSpec& job) const;
  std::vector<UnitProgress> progress_of(const Slot& slot) const;
  std::vector<size_t> streams_left() const;
  bool all_encoded() const;
  int64_t count(Slot::State state) const;

  const CrewContext context_;
  std::vector<StreamState>& states_;
  bool shared_ = false;  // several workers may share the chunks
  bool counted_ = true;  // false: the first worker must count the devices
  std::vector<std::unique_ptr<Slot>> slots_;
  std::optional<ChunkOrigin> kind_;  // the kind of the first device that was loaded
  std::vector<int64_t> committed_;   // the committed rows of each stream, according to events
  bool progress_ = false;            // a chunk was committed since the workers last rested
  std::map<size_t, std::future<StreamState>> finishing_;
};

}  // namespace encode
