#include "preflight/worker_check.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <utility>

#include "encode/job.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "supervisor/plan/job_unit.h"
#include "supervisor/plan/resume.h"

namespace encode {
namespace {

// The worker of the check reads what earlier runs have left: the vectors of its self-test, and the
// algorithms of the matrix products, which decide the bits of these vectors.
constexpr std::array<const char*, 2> kEarlierFiles = {"/self_test.json", "/products.json"};

// A unit for each model and each set of options. Streams that differ only in their input share one.
std::vector<JobUnit> make_units(const CheckedExperiment& experiment) {
  std::vector<JobUnit> units;
  for (const CheckedStream& stream : experiment.streams) {
    const StreamPlan& plan = stream.plan;
    const bool known = std::any_of(units.begin(), units.end(), [&](const JobUnit& unit) {
      return unit.model_path == plan.model_path && unit.effective == plan.effective;
    });
    if (known) continue;
    JobUnit& unit = units.emplace_back(job_unit(plan));
    // The worker reads no rows. With a row that is no token ids it loads the tokenizer.
    unit.scan = {};
    unit.scan.rows = 1;
    unit.scan.tokenized = stream.model->tokenizer == nullptr ? 1 : 0;
    // Nothing is encoded, so the choice of the run does not matter.
    if (unit.speed.batch_size == kAutoBatch) unit.speed.batch_size = 0;
    if (unit.speed.batch_tokens == kAutoBatch) unit.speed.batch_tokens = 0;
  }
  return units;
}

// Names for the defences of job/defences.h in the findings.
std::string check_of(const std::string& defence) {
  using Names = std::array<std::pair<std::string_view, std::string_view>, 4>;
  constexpr Names kNames = {{{"ids", "token ids"},
                             {"positions", "positions"},
                             {"vectors", "vectors"},
                             {"release", "memory release"}}};
  for (const auto& [name, check] : kNames) {
    if (name == defence) return std::string(check);
  }
  return defence;
}

// Turns the events of the worker into findings.
class Listener {
 public:
  Listener(std::string requested, WorkerFacts& facts, PreflightFindings& findings)
      : requested_(std::move(requested)), facts_(facts), findings_(findings) {}

  void event(const WorkerEvent& event) {
    std::visit(Overloaded{[this](const DeviceChecked& device) { on(device); },
                          [this](const ModelLoaded& loaded) { on(loaded); },
                          [this](const DefenceTried& tried) { on(tried); },
                          [this](const LogLine& line) {
                            if (line.level != "warning" && line.level != "error") return;
                            findings_.yellow("worker", line.message,
                                             "see docs/models.md and "
                                             "docs/gpu.md");
                          },
                          [](const auto&) {}},
               event);
  }

 private:
  void on(const DeviceChecked& checked) {
    facts_.device = checked.device;
    std::string text =
        fmt::format("{}, LibTorch {}", describe(checked.device), checked.device.libtorch);
    if (!checked.device.driver.empty()) text += ", driver " + checked.device.driver;
    if (!checked.allocator.empty()) text += "; allocator " + checked.allocator;
    if (checked.synchronous_launches) text += "; synchronous launches";
    findings_.green("device", preview(text, 400));
  }
  void on(const ModelLoaded& loaded) {
    findings_.green(
        "self-test",
        fmt::format("the model was loaded in {}, gives {} columns and passes its checks",
                    format_duration(loaded.seconds), loaded.dim));
  }
  void on(const DefenceTried& tried) {
    const std::string check = check_of(tried.name);
    if (tried.works) return findings_.green(check, preview(tried.found, 200));
    findings_.red(check, {.exit_code = ExitCode::kInternal,
                          .code = "preflight.defence",
                          .what = "a defence against faults does not work",
                          .where = requested_,
                          .expected = "",
                          .found = tried.found,
                          .hint = "this is a defect of encode, or the device is broken"});
  }

  const std::string requested_;
  WorkerFacts& facts_;
  PreflightFindings& findings_;
};

}  // namespace

WorkerFacts check_worker(const WorkerCheck& check, const HardwareOptions& hardware,
                         const CheckedExperiment& experiment, PreflightFindings& findings) {
  WorkerFacts facts;
  findings.guard("worker", [&] {
    for (const char* name : kEarlierFiles) {
      const std::string earlier = check.cache_dir + name;
      if (check.cache_dir.empty() || !path_exists(earlier, "io.stat")) continue;
      std::error_code failure;
      std::filesystem::copy_file(earlier, check.scratch + name, failure);
      if (failure) throw system_error("io.read", "copy", earlier, failure.value());
    }
    const JobSpec job = {.cache_dir = check.scratch,
                         .hardware = hardware,
                         .units = make_units(experiment),
                         .check_only = true};
    const std::string path = check.scratch + "/job.json";
    write_file_without_sync(path, to_json(job));
    Listener listener(hardware.device, facts, findings);
    WorkerSession session(check.worker, check.stop,
                          {.on_event = [&](const WorkerEvent& event) { listener.event(event); },
                           .on_output = [](std::string_view) {},
                           .on_garbage = [](std::string_view, const std::string&) {},
                           .on_tick = [](Clock::time_point) {}});
    constexpr int kNoLock = -1;
    const WorkerOutcome outcome = session.run(path, kNoLock);
    facts.peak_bytes = outcome.peak_resident_bytes;
    if (outcome.end == WorkerOutcome::End::kStopped) throw Stopped();
    if (outcome.end != WorkerOutcome::End::kFinished) throw Error(outcome.error);
  });
  return facts;
}

}  // namespace encode
