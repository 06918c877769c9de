// The checks of `encode preflight`: of the host, the models, the inputs, the cache directory, the
// outputs and the worker. device_checks.h has the checks of the device. One thread at a time may
// call them. Problems become findings; check_worker() throws Stopped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/device.h"
#include "encode/store.h"
#include "encode/tokenizer.h"

#include "base/host.h"
#include "base/stop_signal.h"
#include "preflight/findings.h"
#include "run_plan/memory/memory_refusal.h"
#include "run_plan/plan_steps.h"
#include "supervisor/worker/worker_session.h"

namespace encode {

struct CheckedModel {
  OpenedModel opened;
  std::unique_ptr<Tokenizer> tokenizer;  // null if the directory has none that can be used
};

struct CheckedStream {
  StreamPlan plan;  // `scan` is complete only if `whole` is true
  const CheckedModel* model = nullptr;
  bool readable = false;   // the input is a file, not standard input
  bool whole = false;      // every row was read
  int64_t file_bytes = 0;  // the size of the input
  int64_t rows = 0;        // an estimate if `whole` is false
  bool by_flags = false;   // the run has no config file; see setting_name()
};

// What could be opened. Whatever could not be opened has a red finding.
struct CheckedExperiment {
  std::map<std::string, std::unique_ptr<CheckedModel>> models;  // by path
  std::vector<CheckedStream> streams;
  std::set<std::string> probed = {};  // directories that probe_once() has tried

  int64_t largest_model_bytes() const;
};

// The host: its processors and its memory.
struct HostFacts {
  HostMemory memory;
  int64_t processors = 1;
  // The limits of this process; 0: no limit.
  int64_t open_files = 0;     // ulimit -n
  int64_t address_bytes = 0;  // ulimit -v
};

HostFacts host_facts();  // throws no Error

void check_host(const HostFacts& host, PreflightFindings& findings);

struct HostNeeds {
  int64_t worker_bytes = 0;    // the measured peak of a worker with the largest model
  int64_t prefetch_bytes = 0;  // SpeedOptions::prefetch_bytes, the largest of the streams
  RunLimit limit = {};         // of the config
};

// Compares the needs with the memory that is available, within the limit. This process stands for
// the supervisor of the run.
void check_memory_to_run(const HostFacts& host, const HostNeeds& needs,
                         PreflightFindings& findings);

// Reports which defences against faults of the device are active with these settings:
// docs/preflight.md lists them. These are the defences of the supervisor; the worker tries its own,
// see check_worker(). Defences that exist only on a GPU are reported only if the machine has one.
void check_defences(const RunConfig& config, bool machine_has_gpu, PreflightFindings& findings);

struct ModelNeeds {
  std::string hash_cache;            // for hash_model_files()
  std::optional<MemoryLimit> limit;  // of the device; see memory_limit_of()
};

// Opens and hashes the model of these options, unless `experiment` has it. Returns null after a red
// finding.
const CheckedModel* check_model(const ResultOptions& options, const ModelNeeds& models,
                                CheckedExperiment& experiment, PreflightFindings& findings);

// Adds a stream for each stream of the config whose model and options are good.
void check_streams(const RunConfig& config, const ModelNeeds& models, CheckedExperiment& experiment,
                   PreflightFindings& findings);

// Reads the inputs of an experiment: small ones to their end, and the beginning of large ones.
// Fills the streams of the experiment, apart from the identity. Removes a stream whose input cannot
// be used, after a red finding.
void check_inputs(CheckedExperiment& experiment, PreflightFindings& findings);

// Checks the inputs of the streams that `experiment` lacks because their model or options cannot be
// used, so that one call names everything that is missing. Tokenizes nothing.
void check_other_inputs(const RunConfig& config, const CheckedExperiment& experiment,
                        PreflightFindings& findings);

// Tries the cache directory, or the directory in which a run would create it, and the log. Looks
// whether another run holds the lock, but does not take it.
void check_cache_directory(const RunConfig& config, PreflightFindings& findings);

// Returns a sentence that a run goes on without the embedding cache for this reason.
std::string without_cache(const ErrorDetail& error);
// Returns true if the directory has something that a worker must check. Otherwise tries whether an
// embedding cache can be created there. A problem is yellow.
bool probe_embedding_cache(const std::string& dir, PreflightFindings& findings);

// Checks that no output would replace a foreign file and that the outputs can be written. Then
// reads the inputs, and checks what a run checks then: the columns, the room on the disk, the
// combined matrices, the quarantine.
void check_outputs_and_plan(const RunConfig& config, CheckedExperiment& experiment,
                            PreflightFindings& findings);

// What a run will find on disk for a stream.
struct StreamOutlook {
  bool finished = false;                  // the final matrix exists, or only has to be converted
  bool encoded = false;                   // no row is left to encode
  int64_t chunk_rows = 0;                 // the rows in a chunk of the cache; 0: there are none
  int64_t rows_set_aside = 0;             // of the committed chunks
  std::vector<ChunkOrigin> origins = {};  // where the committed chunks were computed
};

// Checks that the chunks and matrices that exist belong to this experiment, and that the files of a
// run can be written. Returns an outlook for each stream of `experiment`.
std::vector<StreamOutlook> check_results(const RunConfig& config, CheckedExperiment& experiment,
                                         PreflightFindings& findings);

// Reports how much of each stream is lost if the run is killed. `outlooks` is the result of
// check_results().
void check_interruption(const RunConfig& config, const CheckedExperiment& experiment,
                        const std::vector<StreamOutlook>& outlooks, PreflightFindings& findings);

// Returns true if nothing is left to encode. Reads every final matrix and every chunk.
bool is_complete(const RunConfig& config, const CheckedExperiment& experiment);

struct WorkerCheck {
  const WorkerOptions& worker;
  const StopSignal& stop;
  std::string scratch;  // an empty directory for the files of the worker
  // The directory that has the self_test.json of earlier runs; "": none.
  std::string cache_dir;
  // The worker opens the embedding cache in its directory; "": there is none to open.
  EmbeddingCacheOptions embedding_cache;
};

// What the worker has reported.
struct WorkerFacts {
  std::optional<DeviceFacts> device;  // nullopt: the worker could not be used
  int64_t peak_bytes = 0;             // the peak of its resident memory
};

// Starts a worker that encodes nothing. It opens the device, loads each model, tries its defences
// (job/defences.h) and compares the vectors of fixed texts with the vectors that earlier runs have
// recorded. A failure becomes a red finding. Throws Stopped if a signal comes.
WorkerFacts check_worker(const WorkerCheck& check, const HardwareOptions& hardware,
                         const CheckedExperiment& experiment, PreflightFindings& findings);

}  // namespace encode
