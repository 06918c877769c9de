#include "run_plan/fit_check.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/host.h"
#include "base/units.h"
#include "batching/passage_counts.h"
#include "batching/window_bytes.h"
#include "run_plan/auto_settings.h"
#include "run_plan/run_devices.h"
#include "run_record/nvml.h"
#include "store/attempt_folders.h"

namespace encode {
namespace {

// Returns all GPUs with their memory; empty if there is no GPU, or if the driver does not answer.
std::vector<GpuStatus> ask_driver() {
  try {
    const std::unique_ptr<Nvml> nvml = Nvml::open();
    return nvml ? nvml->gpus() : std::vector<GpuStatus>();
  } catch (const Error&) {
    return {};  // the worker will report what is wrong with the GPU
  }
}

// Asks on another thread, because the driver may hang while a GPU hangs. The run then goes on
// without an answer.
std::vector<GpuStatus> gpus_in_time() {
  constexpr auto kPatience = std::chrono::seconds(5);
  std::promise<std::vector<GpuStatus>> promise;
  std::future<std::vector<GpuStatus>> answer = promise.get_future();
  std::thread([promise = std::move(promise)]() mutable {
    promise.set_value(ask_driver());
  }).detach();
  return answer.wait_for(kPatience) == std::future_status::ready ? answer.get()
                                                                 : std::vector<GpuStatus>();
}

MemoryLimit limit_of(const GpuStatus& gpu) {
  return {.kind = DeviceKind::kCuda,
          .name = gpu.name,
          .total_bytes = gpu.total_bytes.value_or(0),
          .free_bytes = gpu.free_bytes.value_or(0)};
}

// Returns the memory of the GPU that CUDA gives the number in `hardware.device` (0 if it has none),
// or nullopt if it is not known which of the `gpus` this is.
std::optional<MemoryLimit> numbered_gpu(const std::vector<GpuStatus>& gpus,
                                        const HardwareOptions& hardware) {
  const auto place = visible_gpu(gpus, hardware.device.ordinal(), gpu_selection_of_environment());
  if (!place) return std::nullopt;
  return limit_of(gpus[*place]);
}

// Returns the memory of the first of the `gpus` in the order of `before`, or nullopt if the driver
// does not report memory.
template <typename Before>
std::optional<MemoryLimit> first_gpu(const std::vector<GpuStatus>& gpus, const Before& before) {
  std::optional<MemoryLimit> first;
  for (const GpuStatus& gpu : gpus) {
    const MemoryLimit limit = limit_of(gpu);
    if (limit.total_bytes > 0 && (!first || before(limit, *first))) first = limit;
  }
  return first;
}

// Returns the GPU of the run. If it cannot be determined, returns the GPU with the most memory.
std::optional<MemoryLimit> gpu_limit(const HardwareOptions& hardware) {
  const std::vector<GpuStatus> gpus = gpus_in_time();
  std::optional<MemoryLimit> limit = numbered_gpu(gpus, hardware);
  if (!limit || limit->total_bytes == 0)
    limit = first_gpu(gpus, [](const MemoryLimit& a, const MemoryLimit& b) {
      return a.total_bytes > b.total_bytes;
    });
  if (!limit || hardware.device.kind != DeviceChoice::Kind::kAuto) return limit;
  // With `auto` the CPU computes if the GPU cannot be used.
  MemoryLimit host = host_limit();
  host.may_use_gpu = true;
  return host.total_bytes == 0 || host.total_bytes > limit->total_bytes ? host : limit;
}

std::optional<MemoryLimit> device_limit(const HardwareOptions& hardware) {
  if (hardware.device.kind == DeviceChoice::Kind::kCpu) return host_limit();
  std::optional<MemoryLimit> gpu = gpu_limit(hardware);
  if (!gpu && hardware.device.kind == DeviceChoice::Kind::kAuto) return host_limit();
  return gpu;
}

int64_t file_bytes(const std::string& path) {
  std::error_code absent;
  const auto size = std::filesystem::file_size(path, absent);
  return absent ? 0 : static_cast<int64_t>(size);
}

// Returns true if the matrix is complete and in the wanted format. Reads its manifest only.
bool is_kept(const std::string& path, const StoreOptions& store) {
  try {
    const std::optional<Manifest> manifest = read_manifest(path);
    return manifest && manifest->file_bytes == file_bytes(path) &&
           manifest->fits(store.quarantine) && has_format(*manifest, store.final_format);
  } catch (const Error&) {
    return false;  // the run makes the matrix again, or is refused
  }
}

int64_t folder_bytes(const std::string& path) {
  std::error_code absent;
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path, absent))
    bytes += file_bytes(entry.path().string());
  return bytes;
}

// Estimates the tokens of texts that are cut into passages.
TextFacts facts_of_passages(const InputScan& scan, const PassageRule& rule) {
  const int64_t cut_bytes = scan.text_bytes - scan.frame_bytes;
  const int64_t frame = scan.frame_bytes / std::max<int64_t>(1, scan.rows);  // of a row
  const PassageRule inside = rule_inside(rule, frame);
  const int64_t passages = estimated_passages(inside, scan.rows, cut_bytes);
  const int64_t tokens = cut_bytes / kTokenTextBytes * cut_bytes /
                             std::max<int64_t>(1, bytes_without_overlap(inside, cut_bytes)) +
                         passages * (frame / kTokenTextBytes);
  return {.rows = scan.rows,
          .tokens = tokens + passages,
          .text_bytes = scan.text_bytes,
          .longest_row_tokens = std::min(scan.longest_bytes, rule.max_tokens),
          .passages = passages};
}

// Estimates the tokens of texts that are encoded in windows, and their passages.
TextFacts facts_of_windows(const InputScan& scan, const EffectiveResult& effective) {
  const PassageRule& rule = *effective.passages;
  const int64_t windows = estimated_windows(rule, effective.max_length, scan.rows, scan.text_bytes);
  const int64_t repeated = (windows - scan.rows) * rule.max_tokens;
  return {.rows = scan.rows,
          .tokens = scan.text_bytes / kTokenTextBytes + scan.rows + repeated,
          .text_bytes = scan.text_bytes,
          .longest_row_tokens = std::min(scan.longest_bytes, effective.max_length),
          .passages = estimated_passages(rule, scan.rows, scan.text_bytes - scan.frame_bytes),
          .windows = windows};
}

// Estimates the tokens from a scan.
TextFacts facts_of(const InputScan& scan, const EffectiveResult& effective) {
  if (effective.passages && effective.passages->late()) return facts_of_windows(scan, effective);
  if (effective.passages) return facts_of_passages(scan, *effective.passages);
  const int64_t max_length = effective.max_length;
  const auto most = static_cast<double>(scan.rows) * static_cast<double>(max_length);
  const int64_t tokens = scan.text_bytes / kTokenTextBytes + scan.rows;
  return {.rows = scan.rows,
          .tokens = static_cast<double>(tokens) > most ? static_cast<int64_t>(most) : tokens,
          .text_bytes = scan.text_bytes,
          .longest_row_tokens = std::min(scan.longest_bytes, max_length)};
}

// Makes the request of a stream whose batches are not known yet.
MemoryRequest text_request(const StreamPlan& stream, const ModelDirectory& directory) {
  MemoryRequest request = memory_request(directory, stream.effective);
  request.texts = facts_of(stream.scan, stream.effective);
  request.chunk_rows = stream.chunk_rows;
  request.prefetch_bytes = stream.config.speed.prefetch_bytes;
  return request;
}

std::vector<CombinedDisk> combined_of(const RunConfig& config) {
  std::vector<CombinedDisk> combined;
  for (const CombineConfig& combine : config.combine) {
    CombinedDisk& matrix = combined.emplace_back();
    matrix.name = combined_name(combine);
    matrix.finished = file_bytes(final_path(config.store.matrix_dir(), matrix.name)) > 0;
    for (size_t i = 0; i < config.streams.size(); ++i) {
      const StreamConfig& stream = config.streams[i];
      const bool part = stream.split == combine.split &&
                        std::find(combine.streams.begin(), combine.streams.end(), stream.stream) !=
                            combine.streams.end();
      if (part) matrix.streams.push_back(i);
    }
  }
  return combined;
}

}  // namespace

MemoryRequest memory_request(const ModelDirectory& directory, const EffectiveResult& effective) {
  MemoryRequest request;
  request.shape = shape_of(directory);
  request.effective = effective;
  request.batches.launch_tokens = effective.launch_tokens;
  for (const char* name : kTokenizerFiles) {
    for (const ModelFile& file : directory.files) {
      if (file.path == directory.transformer_path + "/" + name)
        request.tokenizer_file_bytes = std::max(request.tokenizer_file_bytes, file.bytes);
    }
  }
  return request;
}

MemoryRequest planned_request(const StreamPlan& stream, const ModelDirectory& directory,
                              const DeviceFacts& device) {
  MemoryRequest request = text_request(stream, directory);
  request.batches = plan_batches(stream.config.speed, stream.effective.launch_tokens,
                                 stream.effective.max_length, device);
  return request;
}

RunLimit run_limit(const HardwareOptions& hardware) {
  if (hardware.memory_pressure_percent == 0) return {};
  return {.bytes = hardware.memory_limit_bytes, .workers = std::ssize(devices_of(hardware))};
}

std::optional<MemoryLimit> memory_limit_of(const HardwareOptions& hardware) {
  const RunLimit run = run_limit(hardware);
  std::optional<MemoryLimit> limit = device_limit(one_device(hardware));
  if (!limit && run.bytes > 0) limit = MemoryLimit{.kind = DeviceKind::kCuda};
  if (limit) limit->run = run;
  return limit;
}

std::optional<MemoryLimit> gpu_of(const HardwareOptions& hardware) {
  if (hardware.device.kind == DeviceChoice::Kind::kCpu) return std::nullopt;
  const std::vector<GpuStatus> gpus = gpus_in_time();
  if (const auto gpu = numbered_gpu(gpus, hardware)) return gpu;
  return first_gpu(
      gpus, [](const MemoryLimit& a, const MemoryLimit& b) { return a.free_bytes < b.free_bytes; });
}

void check_model_fits(const ModelDirectory& directory, const ResultOptions& options,
                      const std::optional<MemoryLimit>& limit) {
  if (!limit) return;
  require_memory(memory_request(directory, effective_result(directory, options)), *limit,
                 directory.path);
}

int64_t existing_bytes(const RunConfig& config, const std::string& name) {
  const StoreOptions& store = config.store;
  int64_t chunks = folder_bytes(chunks_dir(store.cache_dir, name));
  if (!store.shared_dir.empty()) {  // an attempt has not taken over the chunks of earlier runs yet
    for (const std::string& run : earlier_runs(store.shared_dir, store.cache_dir))
      chunks = std::max(chunks, folder_bytes(chunks_dir(run, name)));
  }
  return file_bytes(final_path_of(config, name)) + chunks;
}

bool has_finished(const RunConfig& config, const std::string& name) {
  return !config.store.fresh && is_kept(final_path_of(config, name), config.store);
}

ExperimentDisk check_experiment_disk(const RunConfig& config, std::vector<StreamDisk> streams) {
  const std::string final = final_path_of(config, config.streams.front().name());
  const DiskSpace space = disk_space_at(parent_directory(final));
  const bool chunks_count = config.store.chunked() &&
                            disk_space_at(config.store.cache_dir).file_system == space.file_system;
  if (!chunks_count) {
    for (StreamDisk& stream : streams) stream.largest_chunk = 0;
  }
  const DiskNeed need = disk_need(streams, combined_of(config), config.store);
  require_disk(need, space, config.config_path.empty());
  return {.need = need, .space = space};
}

void settle_settings(StreamPlan& stream, const ModelDirectory& directory, RunGpu& gpu,
                     RunLog& log) {
  if (!stream.config.auto_batch.any()) return;
  const MemoryRequest request = text_request(stream, directory);
  const std::string note = choose_batches(stream.config, request, gpu.get());
  log.info("auto", fmt::format("{}: {}", stream.config.name(), note));
}

std::optional<std::string> stream_memory_warning(const StreamPlan& stream,
                                                 const ModelDirectory& directory,
                                                 const std::optional<MemoryLimit>& limit) {
  if (!limit) return std::nullopt;
  return memory_warning(planned_request(stream, directory,
                                        {.kind = limit->kind,
                                         .threads = threads_or_quota(stream.config.speed.threads)}),
                        *limit);
}

void warn_of_memory(const StreamPlan& stream, const ModelDirectory& directory,
                    const std::optional<MemoryLimit>& limit, RunLog& log) {
  if (const auto warning = stream_memory_warning(stream, directory, limit))
    log.warning("memory", *warning);
}

int64_t vectors_of_rows(int64_t rows, int64_t all_vectors, int64_t all_rows) {
  const double share =
      static_cast<double>(rows) / static_cast<double>(std::max<int64_t>(1, all_rows));
  return std::max(rows, static_cast<int64_t>(static_cast<double>(all_vectors) * share));
}

ExperimentDisk check_disk(const RunConfig& config, const std::vector<StreamPlan>& streams) {
  std::vector<StreamDisk> disks;
  for (const StreamPlan& stream : streams) {
    const std::string name = stream.config.name();
    const TextFacts facts = facts_of(stream.scan, stream.effective);
    const int64_t vectors = stream.effective.passage_vectors() ? facts.passages : stream.scan.rows;
    disks.push_back(
        {.name = name,
         .vectors = vectors,
         .largest_chunk = vectors_of_rows(stream.chunk_rows, vectors, stream.scan.rows),
         .dim = stream.effective.dim,
         .column_bytes = column_bytes(config.store.final_format, vectors, stream.scan.text_bytes),
         .existing_bytes = existing_bytes(config, name),
         .finished = has_finished(config, name),
         .filtered = stream.config.input.filter.any()});
  }
  return check_experiment_disk(config, std::move(disks));
}

std::optional<std::string> disk_warning(const ExperimentDisk& disk) {
  const auto& [need, space] = disk;
  if (need.peak.total() <= space.usable_bytes) return std::nullopt;
  return fmt::format("the run needs up to {} of disk space, and {} has {} free",
                     format_bytes(need.peak.total()), space.path, format_bytes(space.usable_bytes));
}

void note_padding(PaddingPolicy padding, RunLog& log) {
  if (padding == PaddingPolicy::kNone) return;
  log.info(
      "padding",
      fmt::format("padding: {} is accepted, but the rows of a batch are packed without padding; "
                  "the vectors are the same, and `encode plan` shows what padding would cost",
                  to_string(padding)));
}

}  // namespace encode
