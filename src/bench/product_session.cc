#include "bench/product_session.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "store/run_files.h"
#include "run_plan/resume.h"

namespace encode {

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
  WorkerSession life(std::move(worker), stop,
                     {.on_event = on_event,
                      .on_output = [](std::string_view) {},
                      .on_garbage = [](std::string_view, const std::string&) {},
                      .on_tick = [](Clock::time_point) {}});
  constexpr int kNoLock = -1;
  const WorkerOutcome outcome = life.run(path, kNoLock);
  if (outcome.end == WorkerOutcome::End::kStopped) throw Stopped();
  if (outcome.end != WorkerOutcome::End::kFinished) throw Error(outcome.error);
  return session;
}

}  // namespace encode
