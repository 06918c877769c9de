#include "supervisor/crew.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "protocol/device_kind.h"
#include "run_plan/job_unit.h"
#include "run_plan/run_devices.h"
#include "store/run_files.h"

namespace encode {

Crew::Crew(const CrewContext& context, std::vector<StreamState>& states)
    : context_(context), states_(states) {
  const HardwareOptions& hardware = context_.config.hardware;
  std::vector<DeviceChoice> devices = devices_of(hardware);
  counted_ = !hardware.all_devices;
  shared_ = devices.size() > 1 || !counted_;
  if (shared_ && !context_.finisher.chunk_files()) {
    context_.log.info("one_worker",
                      "without chunk files a run uses one device, " + to_string(devices.front()));
    devices.resize(1);
    shared_ = false;
    counted_ = true;
  }
  for (const StreamState& state : states_) committed_.push_back(state.rows_done);
  name_devices(devices);
}

// Adds a slot for each new device, and names all of them.
void Crew::name_devices(const std::vector<DeviceChoice>& devices) {
  const std::vector<std::string> labels = device_labels(devices);
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i == slots_.size()) slots_.push_back(std::make_unique<Slot>());
    slots_[i]->device = devices[i];
    slots_[i]->name = {.number = i, .label = labels[i]};
  }
}

void Crew::encode_all() {
  while (!all_encoded()) {
    start_workers();
    watch();
  }
}

int64_t Crew::peak_resident_bytes() const {
  int64_t sum = 0;
  for (const auto& slot : slots_) sum += slot->peak_bytes;
  return sum;
}

bool Crew::all_encoded() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](const StreamState& state) { return state.encoded; });
}

int64_t Crew::count(Slot::State state) const {
  return std::count_if(slots_.begin(), slots_.end(),
                       [state](const auto& slot) { return slot->state == state; });
}

// A stream whose last chunk was just committed has no work left, although its final matrix does not
// exist yet.
std::vector<size_t> Crew::streams_left() const {
  std::vector<size_t> streams;
  for (size_t i = 0; i < states_.size(); ++i) {
    const bool complete = shared_ && committed_[i] >= context_.plan.streams[i].identity.rows;
    if (!states_[i].encoded && !complete) streams.push_back(i);
  }
  return streams;
}

void Crew::start_workers() {
  using State = Slot::State;
  const int64_t alive = count(State::kAlive);
  if (context_.stop.number() != 0) {
    if (alive == 0) throw Stopped();
    return;
  }
  if (alive == 0 && count(State::kWaiting) == 0) {
    progress_ = false;
    for (const auto& slot : slots_) {
      if (slot->state == State::kResting) slot->state = State::kWaiting;
    }
  }
  for (const auto& slot : slots_) {
    if (slot->state != State::kWaiting || Clock::now() < slot->due) continue;
    const bool too_early = shared_ && !kind_ && count(State::kAlive) > 0;
    if (!too_early) start(*slot);
  }
}

void Crew::start(Slot& slot) {
  slot.streams = streams_left();
  slot.state = Slot::State::kResting;
  if (slot.streams.empty()) return;
  context_.lock_of_run.require();
  JobSpec job = make_job(slot);
  std::vector<const StreamPlan*> streams;
  for (const size_t i : slot.streams) streams.push_back(&context_.plan.streams[i]);
  context_.recovery.worker_started(slot.name, streams, job);
  const std::string job_path = write_job(slot, job);
  context_.reporter.worker_started(slot.name, progress_of(slot));
  const size_t number = slot.name.number;
  RunReporter& reporter = context_.reporter;
  slot.loaded = false;
  slot.session = std::make_unique<WorkerSession>(
      context_.environment.worker, context_.stop,
      WorkerSession::Callbacks{
          .on_event = [this, &slot](const WorkerEvent& event) { on_event(slot, event); },
          .on_output = [&reporter,
                        number](std::string_view line) { reporter.output(number, line); },
          .on_garbage = [&reporter](std::string_view line,
                                    const std::string& why) { reporter.garbage(line, why); }});
  slot.session->start(job_path, context_.lock.fd());
  slot.state = Slot::State::kAlive;
}

JobSpec Crew::make_job(const Slot& slot) const {
  const int64_t devices = std::ssize(slots_) - count(Slot::State::kLost);
  JobSpec job{.cache_dir = context_.config.store.cache_dir,
              .lock_token = context_.lock_of_run.token,
              .lock_dir = context_.lock_of_run.dir,
              .hardware = context_.config.hardware,
              .embedding_cache = context_.config.embedding_cache,
              .units = {},
              .measure_refused = context_.environment.measure_refused};
  job.hardware.device = slot.device;
  // The number of devices is not known yet, so the first worker has the whole host until it is
  // replaced.
  job.workers = counted_ ? devices : 2;
  if (shared_) job.required_kind = kind_;
  for (const size_t i : slot.streams) {
    const StreamPlan& stream = context_.plan.streams[i];
    JobUnit& unit = job.units.emplace_back(job_unit(stream));
    unit.chunk_rows = states_[i].chunk_rows;
    unit.chunk_files = context_.finisher.chunk_files();
    unit.final_path = context_.finisher.standard_path(stream);
    unit.host_share = 1.0 / static_cast<double>(devices);
  }
  return job;
}

std::string Crew::write_job(const Slot& slot, const JobSpec& job) const {
  const std::string path = RunFiles(context_.config.store.cache_dir).job(slot.name.number);
  write_file_durably(path, to_json(job));
  return path;
}

std::vector<UnitProgress> Crew::progress_of(const Slot& slot) const {
  std::vector<UnitProgress> units;
  for (const size_t i : slot.streams) {
    const StreamPlan& stream = context_.plan.streams[i];
    units.push_back({.stream = i,
                     .name = stream.config.name(),
                     .input_path = stream.input_name(),
                     .rows = stream.identity.rows,
                     .rows_before = committed_[i],
                     .chunks = states_[i].chunks,
                     .chunk_files = context_.finisher.chunk_files(),
                     .sequence = stream.effective.sequence_name()});
  }
  return units;
}

void Crew::watch() {
  std::vector<const WorkerSession*> sessions;
  std::chrono::milliseconds most = WorkerSession::kTick;
  for (const auto& slot : slots_) {
    if (slot->state == Slot::State::kAlive) sessions.push_back(slot->session.get());
    if (slot->state != Slot::State::kWaiting) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(slot->due - Clock::now());
    if (left.count() > 0) most = std::min(most, left);
  }
  WorkerSession::wait_for_input(sessions, context_.stop, most);
  const Clock::time_point now = Clock::now();
  for (size_t i = 0; i < slots_.size(); ++i) {  // an event may add slots
    Slot& slot = *slots_[i];
    if (slot.state != Slot::State::kAlive) continue;
    if (std::optional<WorkerOutcome> outcome = slot.session->step(now))
      ended(slot, std::move(*outcome));
  }
  if (shared_ && streams_left().empty()) dismiss_loading_workers();
  if (count(Slot::State::kAlive) > 0) context_.reporter.tick(now);
}

void Crew::on_event(Slot& slot, const WorkerEvent& event) {
  const size_t number = slot.name.number;
  if (const auto* loaded = std::get_if<ModelLoaded>(&event)) on_loaded(slot, loaded->device);
  context_.environment.on_event(event);
  context_.reporter.event(number, event);
  context_.recovery.event(number, event);
  const auto stream_of = [&slot](int64_t unit) {
    const bool known = unit >= 0 && unit < std::ssize(slot.streams);
    return known ? std::optional(slot.streams[static_cast<size_t>(unit)]) : std::nullopt;
  };
  if (const auto* chunk = std::get_if<ChunkDone>(&event)) {
    progress_ = true;
    if (const auto stream = stream_of(chunk->unit)) committed_[*stream] += chunk->rows.size();
  }
  const auto* done = std::get_if<UnitDone>(&event);
  if (done == nullptr) return;
  if (const auto stream = stream_of(done->unit)) on_unit_done(*stream);
}

void Crew::on_loaded(Slot& slot, const DeviceFacts& device) {
  slot.loaded = true;
  if (!shared_ || kind_) return;
  kind_ = origin_of(device);
  if (counted_) return;
  counted_ = true;
  if (device.kind != DeviceKind::kCuda) return;
  name_devices(all_devices(std::max<int64_t>(1, device.places)));
  context_.recovery.name_worker(slot.name);
  context_.reporter.name_worker(slot.name);
}

// Assembles the final matrix on another thread while the workers encode the next stream.
void Crew::on_unit_done(size_t stream) {
  const StreamPlan& plan = context_.plan.streams[stream];
  const bool complete = !shared_ || committed_[stream] >= plan.identity.rows;
  if (!complete || states_[stream].encoded) return;
  context_.recovery.stream_finished(plan.config.name());
  if (!context_.finisher.chunk_files() || finishing_.contains(stream)) return;
  finishing_[stream] = std::async(std::launch::async, [this, &plan] {
    return context_.finisher.finish(plan, /*alone=*/false);
  });
}

// Finds out from the disk, not from the workers' events, how far each stream is. Must not be called
// while a worker writes: its unfinished files would look like files that a crash has left.
void Crew::settle() {
  const bool others = count(Slot::State::kAlive) > 0;
  for (auto entry = finishing_.begin(); entry != finishing_.end();) {
    auto& [stream, state] = *entry;
    const bool ready = state.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    if (others && !ready) {
      ++entry;
      continue;
    }
    if (StreamState result = state.get(); result.encoded) states_[stream] = std::move(result);
    entry = finishing_.erase(entry);
  }
  if (others || context_.stop.number() != 0) return;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].encoded) settle_stream(i);
  }
}

// The chunks are read only when all of them exist. A long run has thousands of workers, one after
// the other, and would otherwise read its chunks each time a worker ends.
void Crew::settle_stream(size_t stream) {
  const StreamPlan& plan = context_.plan.streams[stream];
  StreamState& state = states_[stream];
  std::optional<int64_t> rows;
  if (context_.finisher.chunk_files())
    rows = committed_rows(context_.config.store.cache_dir, plan.identity);
  if (rows && *rows < plan.identity.rows) {
    state.rows_done = *rows;
  } else {
    state = context_.finisher.finish(plan, /*alone=*/true);
  }
  committed_[stream] = state.rows_done;
  if (state.encoded) context_.recovery.stream_finished(plan.config.name());
}

void Crew::ended(Slot& slot, WorkerOutcome outcome) {
  using End = WorkerOutcome::End;
  const size_t number = slot.name.number;
  slot.session.reset();
  slot.state = Slot::State::kWaiting;
  slot.due = {};
  slot.peak_bytes = std::max(slot.peak_bytes, outcome.peak_resident_bytes);
  context_.reporter.worker_ended(number);
  settle();
  if (all_encoded() || context_.stop.number() != 0) return;
  if (outcome.end == End::kRetired)
    return context_.recovery.worker_retired(number, outcome.retired);
  if (outcome.end == End::kFinished) {
    // The stream may not be finished: other workers may still encode chunks that this worker did
    // not get.
    const bool others = count(Slot::State::kAlive) + count(Slot::State::kWaiting) > 1;
    if (shared_ && (others || progress_)) {
      slot.state = Slot::State::kResting;
      return context_.recovery.worker_finished(number);
    }
    outcome.end = End::kRetry;
    outcome.error.code = "worker.incomplete";
    outcome.error.what = "encode-worker reported that it had finished, but rows are missing";
    outcome.error.hint = "another program may be writing to " + context_.config.store.cache_dir;
  }
  failed(slot, outcome);
}

void Crew::failed(Slot& slot, const WorkerOutcome& outcome) {
  const size_t number = slot.name.number;
  try {
    const double delay = context_.recovery.worker_failed(number, outcome);
    slot.due = Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(delay));
  } catch (const Error& error) {
    if (!can_lose(error.detail())) {
      context_.recovery.gave_up(number, error.detail());
      throw;
    }
    slot.state = Slot::State::kLost;
    context_.recovery.device_lost(number, error.detail());
    context_.reporter.device_lost(number);
    // Wakes the resting workers, because the rows of the lost device are free now.
    for (const auto& other : slots_) {
      if (other->state == Slot::State::kResting) other->state = Slot::State::kWaiting;
    }
    return;
  }
  context_.reporter.restarted(number, context_.recovery.restarts(number));
  if (count(Slot::State::kAlive) == 0)
    context_.reporter.phase(RunPhase::kRestarting, &outcome.error);
}

// Returns true if the error may belong to this device alone, so that others can go on.
bool Crew::can_lose(const ErrorDetail& error) const {
  const bool of_the_device = error.exit_code == ExitCode::kUnavailable ||
                             error.exit_code == ExitCode::kInternal ||
                             error.exit_code == ExitCode::kTempFail;
  return of_the_device && count(Slot::State::kLost) + 1 < std::ssize(slots_);
}

// Ends the workers that still load their model and would then find nothing to do. A large model
// takes minutes to load.
void Crew::dismiss_loading_workers() {
  for (const auto& slot : slots_) {
    if (slot->state != Slot::State::kAlive || slot->loaded) continue;
    slot->session.reset();
    slot->state = Slot::State::kResting;
    context_.recovery.worker_finished(slot->name.number);
    context_.reporter.worker_ended(slot->name.number);
  }
  if (count(Slot::State::kAlive) == 0) settle();
}

}  // namespace encode
