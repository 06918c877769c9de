#include "bench/bench.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <sys/resource.h>
#include <utility>

#include "encode/batch_plan.h"
#include "encode/device.h"
#include "encode/error.h"
#include "encode/job.h"
#include "encode/product_rates.h"

#include "base/file.h"
#include "base/host.h"
#include "base/scratch_folder.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "bench/bench_report.h"
#include "bench/length_counts.h"
#include "run_plan/job_unit.h"
#include "run_plan/plan.h"
#include "run_plan/resume.h"
#include "run_plan/run_devices.h"
#include "run_record/run_log.h"
#include "store/run_files.h"
#include "supervisor/worker/worker_session.h"

namespace encode {
namespace {

// Returns the CPU time of this process and of its children that have ended.
double processor_seconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    struct rusage usage = {};
    ::getrusage(who, &usage);
    constexpr double kMicro = 1e-6;
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(time.tv_sec) + kMicro * static_cast<double>(time.tv_usec);
  }
  return sum;
}

// A config that is ready to be timed.
struct Case {
  RunConfig config;  // limited to the rows that are timed, with its cache in the scratch folder
  RunPlan plan;      // the plan of `config`
  JobSpec products;  // a unit for each stream; only the first unit is timed
  BenchResult result;
};

// The report of the worker about one stream of a run.
struct StreamTimes {
  RowStats stats;
  StageSeconds stages;
};

// The report of a worker that has timed the matrix products of a model alone.
struct ProductSession {
  DeviceFacts device;
  ProductRates rates;
  std::vector<BatchPlan> plans;  // by unit of the job
};

// Runs a worker, which times the matrix products of the job's first unit and plans the batches of
// every unit. `job` must have product_seconds > 0. Writes the job file into `job.cache_dir`. Throws
// the Error of the worker, what run_alone() throws, and Stopped if a signal arrives.
ProductSession time_products(const JobSpec& job, WorkerOptions worker, const StopSignal& stop) {
  const std::string path = RunFiles(job.cache_dir).job(0);
  write_file_durably(path, to_json(job));
  // The worker reports no batch while it times matrix products, and one pass through a large model
  // takes a long time. So the worker counts as hung only after an hour.
  worker.hang_floor = std::chrono::hours(1);
  ProductSession session;
  const auto on_event = [&](const WorkerEvent& event) {
    std::visit(Overloaded{[&](const ModelLoaded& loaded) { session.device = loaded.device; },
                          [&](const UnitStarted& unit) { session.plans.push_back(unit.plan); },
                          [&](const ProductsTimed& timed) { session.rates = timed.rates; },
                          [](const auto&) {}},
               event);
  };
  const WorkerOutcome outcome = run_alone(std::move(worker), stop, path, on_event);
  if (outcome.end == WorkerOutcome::End::kStopped) throw Stopped();
  if (outcome.end != WorkerOutcome::End::kFinished) throw Error(outcome.error);
  return session;
}

class Bench {
 public:
  // `environment.stop` must not be null.
  Bench(const BenchOptions& options, const RunEnvironment& environment, Terminal& err,
        const RunConfig& first)
      : options_(options),
        environment_(environment),
        err_(err),
        stop_(*environment.stop),
        scratch_(first.store.cache_dir, "bench"),
        log_(first.log) {}

  BenchReport report(const std::vector<RunConfig>& configs);

 private:
  RunConfig timed_config(RunConfig config) const;
  void add_case(const RunConfig& config);
  void count_inputs(const RunConfig& config);
  void plan_all_batches();
  void leave_out_equal_batches();
  ProductSession time_case(size_t number, const JobSpec& job);
  ProductRates products(size_t number);
  BenchTurn turn(size_t number);
  BenchTurn run(Case& timed, std::vector<StreamTimes>& streams);
  void tell(const Case& timed) const;
  double whole_seconds(const Case& timed, const BenchTurn& turn,
                       const std::vector<StreamTimes>& streams) const;

  const BenchOptions& options_;
  const RunEnvironment& environment_;
  Terminal& err_;
  const StopSignal& stop_;
  const ScratchFolder scratch_;
  const LogOptions log_;
  std::vector<InputLengths> lengths_;  // by stream
  std::vector<Case> cases_;
  std::optional<size_t> measured_;  // the index of the case that products() timed last
  ProductRates products_;           // the rates of that case
  int64_t runs_ = 0;                // the number of runs so far
  BenchReport report_;
};

BenchReport Bench::report(const std::vector<RunConfig>& configs) {
  for (const RunConfig& config : configs) add_case(config);
  count_inputs(configs.front());
  const RunPlan& plan = cases_.front().plan;
  report_.machine = host_name();
  report_.model = configs.front().streams.front().result.model;
  for (const StreamPlan& stream : plan.streams) report_.rows += stream.scan.rows;
  plan_all_batches();
  leave_out_equal_batches();
  for (int64_t number = 0; number < options_.runs; ++number) {
    for (size_t i = 0; i < cases_.size(); ++i) {
      cases_[i].result.turns.push_back(turn(i));
      tell(cases_[i]);
    }
  }
  for (Case& timed : cases_) report_.results.push_back(std::move(timed.result));
  return std::move(report_);
}

void Bench::tell(const Case& timed) const {
  if (!log_.progress || log_.level == "error" || log_.level == "warning") return;
  const BenchResult& result = timed.result;
  err_.write(fmt::format("run {} of {}, {}: {}\n", result.turns.size(), options_.runs,
                         name_of(result), format_duration(result.turns.back().seconds)));
}

// Limits a config to its first rows and directs all its output into the scratch folder.
RunConfig Bench::timed_config(RunConfig config) const {
  config.store.cache_dir = scratch_.path();
  config.store.output.clear();
  config.hardware = one_device(config.hardware);
  config.embedding_cache = {};       // rows from the cache would not be timed
  config.hardware.max_restarts = 0;  // restarts would make the times misleading
  config.log = {.level = "warning", .file = "", .json = false, .progress = false};
  for (StreamConfig& stream : config.streams) {
    if (stream.input.is_standard_input()) {
      throw Error({.code = "bench.stdin",
                   .what = "standard input can be read only once",
                   .where = stream.name(),
                   .expected = "an input file, which each run reads again",
                   .found = "-",
                   .hint = "write the rows to a file first"});
    }
    const int64_t limit = stream.input.limit_rows;
    stream.input.limit_rows = limit > 0 ? std::min(limit, options_.rows) : options_.rows;
  }
  return config;
}

void Bench::add_case(const RunConfig& config) {
  Case added;
  added.config = timed_config(config);
  Terminal out(-1);
  // The plan is silent here, because the first run reports the same warnings.
  RunLog log({.level = "error"}, err_, out);
  added.plan = make_plan(added.config, PlanPurpose::kAudit, log);
  added.products = {.cache_dir = scratch_.path(),
                    .hardware = one_device(config.hardware),
                    .units = {},
                    .product_seconds = options_.product_seconds};
  for (const StreamPlan& stream : added.plan.streams)
    added.products.units.push_back(job_unit(stream));
  added.result.dtype = to_string(added.plan.streams.front().effective.dtype);
  added.result.batch_tokens = added.plan.streams.front().config.speed.batch_tokens;
  cases_.push_back(std::move(added));
}

void Bench::count_inputs(const RunConfig& config) {
  for (const StreamConfig& stream : config.streams) {
    lengths_.push_back(count_lengths(stream.input, options_.rows, stop_));
    report_.whole_rows += lengths_.back().whole.rows();
    if (lengths_.back().whole.rows() > 0) continue;
    throw Error({.code = "bench.rows",
                 .what = "the input has no rows to time",
                 .where = stream.input.path,
                 .expected = "at least one row",
                 .found = "no rows",
                 .hint = "choose an input with rows"});
  }
}

// Plans the batches of all cases, in the worker that times the matrix products of the first case.
void Bench::plan_all_batches() {
  JobSpec job = cases_.front().products;
  for (size_t i = 1; i < cases_.size(); ++i) {
    const std::vector<JobUnit>& units = cases_[i].products.units;
    job.units.insert(job.units.end(), units.begin(), units.end());
  }
  const std::vector<BatchPlan> plans = time_case(0, job).plans;
  size_t unit = 0;
  for (Case& timed : cases_) {
    for (const StreamPlan& stream : timed.plan.streams)
      timed.result.batches.push_back({.stream = stream.config.name(), .plan = plans.at(unit++)});
  }
}

// Leaves out configs that give the same batches as an earlier config. This happens because a CPU
// has a largest batch size (one block) and a GPU has a smallest one (BatchPlan::launch_tokens).
void Bench::leave_out_equal_batches() {
  std::vector<Case> kept;
  for (Case& timed : cases_) {
    const auto same = [&](const Case& other) {
      return other.result.dtype == timed.result.dtype &&
             other.result.batches == timed.result.batches;
    };
    const auto known = std::find_if(kept.begin(), kept.end(), same);
    if (known == kept.end()) {
      kept.push_back(std::move(timed));
    } else {
      report_.notes.push_back(fmt::format("{} gives the same batches as {} and was not timed.",
                                          name_of(timed.result), name_of(known->result)));
    }
  }
  cases_ = std::move(kept);
}

ProductSession Bench::time_case(size_t number, const JobSpec& job) {
  ProductSession session = time_products(job, environment_.worker, stop_);
  report_.device = session.device;
  products_ = session.rates;
  measured_ = number;
  return session;
}

ProductRates Bench::products(size_t number) {
  return time_case(number, cases_[number].products).rates;
}

ProductRates mean(const ProductRates& a, const ProductRates& b) {
  const auto half = [](double x, double y) { return (x + y) / 2; };
  return {.threads = a.threads,
          .flops_per_token = a.flops_per_token,
          .tokens_per_second = half(a.tokens_per_second, b.tokens_per_second),
          .tokens_per_cpu_second = half(a.tokens_per_cpu_second, b.tokens_per_cpu_second),
          .square_flops_per_second = half(a.square_flops_per_second, b.square_flops_per_second)};
}

BenchTurn Bench::turn(size_t number) {
  Case& timed = cases_[number];
  const ProductRates before = measured_ == number ? products_ : products(number);
  std::vector<StreamTimes> streams(timed.plan.streams.size());
  BenchTurn done = run(timed, streams);
  done.products = mean(before, products(number));
  done.whole_seconds = whole_seconds(timed, done, streams);
  return done;
}

BenchTurn Bench::run(Case& timed, std::vector<StreamTimes>& streams) {
  BenchTurn turn;
  Stopwatch since_commit;
  RunEnvironment environment = environment_;
  environment.stop = &stop_;
  environment.measure_refused = options_.measure_refused;
  environment.on_event = [&](const WorkerEvent& event) {
    if (const auto* const loaded = std::get_if<ModelLoaded>(&event)) {
      Parity& lowest = timed.result.parity;
      if (loaded->parity.cosine < lowest.cosine) lowest = loaded->parity;
    }
    const auto* const done = std::get_if<UnitDone>(&event);
    if (done == nullptr || done->unit < 0 || done->unit >= static_cast<int64_t>(streams.size()))
      return;
    since_commit.lap();
    streams[static_cast<size_t>(done->unit)] = {.stats = done->stats, .stages = done->stages};
    turn.token_slots += done->token_slots;
    turn.peak_device_bytes = std::max(turn.peak_device_bytes, done->device_peak_bytes);
  };
  RunConfig config = timed.config;
  config.store.cache_dir += fmt::format("/run{}", runs_++);
  // Later runs log only errors, because they would repeat the warnings of the first run.
  if (!timed.result.turns.empty() || log_.level == "error") config.log.level = "error";
  Terminal out(-1);
  const double cpu_before = processor_seconds();
  const Stopwatch watch;
  const RunEnd end = run_experiment(config, environment, err_, out);
  turn.seconds = watch.seconds();
  turn.finish_seconds = since_commit.seconds();
  turn.cpu_seconds = processor_seconds() - cpu_before;
  if (end.stopped_by != 0) throw Stopped();
  std::error_code ignored;
  std::filesystem::remove_all(config.store.cache_dir, ignored);

  for (const StreamTimes& stream : streams) {
    turn.stages.add(stream.stages);
    turn.tokens += stream.stats.tokens;
    turn.truncated_rows += stream.stats.truncated_rows;
  }
  for (const StreamPlan& stream : timed.plan.streams) turn.rows += stream.scan.rows;
  turn.start_seconds = turn.seconds - turn.stages.main_thread() - turn.finish_seconds;
  turn.peak_host_bytes = end.summary.peak_host_bytes;
  return turn;
}

// Estimates the time for all rows. It assumes that the time of encoding grows with the bytes of
// text. A row counts only up to the length at which max_length cuts it.
double Bench::whole_seconds(const Case& timed, const BenchTurn& turn,
                            const std::vector<StreamTimes>& streams) const {
  double seconds = turn.start_seconds;
  for (size_t i = 0; i < streams.size(); ++i) {
    const InputLengths& lengths = lengths_[i];
    const RowStats& stats = streams[i].stats;
    const auto tokens = static_cast<double>(stats.tokens + stats.lost_tokens);
    const int64_t limit = timed.plan.streams[i].effective.max_length;
    const double cap =
        limit > 0 && tokens > 0
            ? static_cast<double>(limit) * static_cast<double>(lengths.timed.bytes()) / tokens
            : std::numeric_limits<double>::infinity();
    const double bytes = lengths.timed.bytes_up_to(cap);
    const double ratio = bytes > 0 ? lengths.whole.bytes_up_to(cap) / bytes
                                   : static_cast<double>(lengths.whole.rows()) /
                                         static_cast<double>(lengths.timed.rows());
    seconds += streams[i].stages.main_thread() * ratio;
  }
  return seconds + turn.finish_seconds * static_cast<double>(report_.whole_rows) /
                       static_cast<double>(report_.rows);
}

}  // namespace

BenchEnd run_bench(const std::vector<RunConfig>& configs, const BenchOptions& options,
                   const RunEnvironment& environment, Terminal& err) {
  const StopSignal stop;
  RunEnvironment stoppable = environment;
  stoppable.stop = &stop;
  try {
    return {.stopped_by = 0,
            .report = Bench(options, stoppable, err, configs.front()).report(configs)};
  } catch (const Stopped&) {
    return {.stopped_by = stop.number(), .report = {}};
  }
}

}  // namespace encode
