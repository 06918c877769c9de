// The keys of the devices and of the host.
#include <fmt/format.h>
#include <string>

#include "base/names.h"
#include "base/units.h"
#include "config/key_tables.h"
#include "config/key_values.h"

namespace encode {
namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMinMemory = 16'000'000;
constexpr int64_t kMaxMemory = 1'000'000'000'000'000;

}  // namespace

std::vector<KeySpec> hardware_keys() {
  return {
      {.sections = {"hardware"},
       .name = "device",
       .value = device_value(),
       .default_text = to_string(HardwareOptions().device),
       .flags = {{.group = FlagGroup::kMain,
                  .place = 60,
                  .name = "--device",
                  .help = "Device that runs the model. auto: the first GPU, or else the CPU; "
                          "cuda:N: the GPU with this number"}},
       .help = "The device that computes. auto: the first GPU, or the CPU if there is no GPU.",
       .set_run = [](RunConfig& r, const Value& v) { r.hardware.device = parse_device(text(v)); }},
      {.sections = {"hardware"},
       .name = "devices",
       .value = devices_value(),
       .default_text = "[]",
       .flags = {{.group = FlagGroup::kSpeed,
                  .place = 20,
                  .name = "--devices",
                  .placeholder = "LIST",
                  .help = "Several devices that share the rows: cuda:0,cuda:1 or all"}},
       .help =
           "Devices of one kind that encode at the same time, each with a worker process of its "
           "own. all: every GPU, or the CPU if there is no GPU; [cpu, cpu]: two workers that share "
           "the processors; []: only `device`. The matrices have the same bytes as with one "
           "device.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             const auto& names = std::get<std::vector<std::string>>(v);
             r.hardware.all_devices = names == std::vector<std::string>{kAllDevices};
             r.hardware.devices.clear();
             if (r.hardware.all_devices) return;
             for (const std::string& name : names) r.hardware.devices.push_back(parse_device(name));
           }},
      {.sections = {"hardware"},
       .name = "strict_numerics",
       .value = boolean_value(),
       .default_text = default_of(HardwareOptions().strict_numerics),
       .no_flag = "it is a rule for all runs of an experiment",
       .help = "What a run does if the cache has chunks from another kind of device, or from "
               "another version of LibTorch or of the driver. true: it stops with an error; false: "
               "it warns.",
       .set_run = [](RunConfig& r, const Value& v) { r.hardware.strict_numerics = boolean(v); }},
      {.sections = {"hardware"},
       .name = "threads",
       .value = integer_of(0, kMaxThreads),
       .default_text = default_of(SpeedOptions().threads),
       .flags = {{.group = FlagGroup::kSpeed,
                  .place = 50,
                  .name = "--threads",
                  .help = "Compute threads on a CPU; 0: as many as the container may use"}},
       .help = "The number of compute threads on a CPU; 0: as many as the container may use.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.speed.threads = integer(v); }},
      {.sections = {"hardware"},
       .name = "tokenizer_threads",
       .value = integer_of(0, kMaxThreads),
       .default_text = default_of(SpeedOptions().tokenizer_threads),
       .no_flag = "the program chooses it well",
       .help = "The number of threads that tokenize ahead; 0: chosen by the program.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.speed.tokenizer_threads = integer(v); }},
      {.sections = {"hardware"},
       .name = "prefetch_bytes",
       .value = integer_of(1 << 20, int64_t{1} << 40),
       .default_text = default_of(SpeedOptions().prefetch_bytes),
       .no_flag = "the program chooses it well",
       .help =
           "Host memory for texts and token ids that are read ahead. Above the default, more rows "
           "are sorted by length together, too. The memory limit of the run applies if it is "
           "smaller.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.speed.prefetch_bytes = integer(v); }},
      {.sections = {"hardware"},
       .name = "memory_limit",
       .value = or_null(size_of_bytes(kMinMemory, kMaxMemory)),
       .default_text = "null",
       .flags = {{.group = FlagGroup::kSpeed,
                  .place = 60,
                  .name = "--memory-limit",
                  .placeholder = "SIZE",
                  .help = "Most host memory of the run, as in 600MB or 4GiB (default: what the "
                          "container or the machine has)"}},
       .help =
           "The most host memory of the run, as in 600MB or 4GiB; null: the limit of the container "
           "or the machine. A smaller limit of the container applies in any case. A run whose "
           "model and smallest batch do not fit is refused. Near the limit a run reads less ahead; "
           "if that is not enough, it passes the limit and goes on.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             const auto size = optional<std::string>(v);
             r.hardware.memory_limit_bytes = size ? parse_bytes(*size).value_or(0) : 0;
           }},
      {.sections = {"hardware"},
       .name = "memory_pressure_percent",
       .value = integer_of(0, 99),
       .default_text = default_of(HardwareOptions().memory_pressure_percent),
       .flags = {{.group = FlagGroup::kSpeed,
                  .place = 70,
                  .name = "--memory-pressure-percent",
                  .help =
                      "Percentage of the memory limit that the run tries to stay below; 0: do not "
                      "look at the limit"}},
       .help =
           "The percentage of the memory limit that the run tries to stay below. It decides how "
           "many rows the run reads ahead; above it, the run reads fewer. 0: the run does not "
           "look at the limit.",
       .set_run = [](RunConfig& r,
                     const Value& v) { r.hardware.memory_pressure_percent = integer(v); }},
      {.sections = {"hardware"},
       .name = "max_restarts",
       .value = integer_of(0, 1000),
       .default_text = default_of(HardwareOptions().max_restarts),
       .no_flag = "it is a rule for all runs of an experiment",
       .help = "How often a worker process that fails is started again without progress in "
               "between.",
       .set_run = [](RunConfig& r, const Value& v) { r.hardware.max_restarts = integer(v); }},
      {.sections = {"hardware"},
       .name = "worker_chunks",
       .value = or_null(integer_of(0, 1'000'000'000)),
       .default_text = "null",
       .no_flag = "the program chooses it well",
       .help = fmt::format(
           "A new worker process replaces the old one after this number of chunks, so that memory "
           "cannot pile up in it; 0: never; null: never on a CPU; on a GPU after at least {} "
           "chunks and {} times the time of its start, at most {} chunks.",
           kLeastGpuChunks, kStartsPerRetirement, format_count(kMostGpuChunks)),
       .set_run = [](RunConfig& r,
                     const Value& v) { r.hardware.worker_chunks = optional<int64_t>(v); }},
      {.sections = {"hardware.allocator"},
       .name = "expandable_segments",
       .value = boolean_value(),
       .default_text = default_of(HardwareOptions().expandable_segments),
       .no_flag = "it is for the search of a fault",
       .help = "Let the CUDA allocator extend its segments, which reduces fragmentation.",
       .set_run = [](RunConfig& r,
                     const Value& v) { r.hardware.expandable_segments = boolean(v); }},
      {.sections = {"hardware.allocator"},
       .name = "conf",
       .value = text_of(0),
       .default_text = "",
       .no_flag = "`PYTORCH_ALLOC_CONF` says it for one run",
       .help = "More settings in the syntax of PYTORCH_ALLOC_CONF. They override that variable and "
               "expandable_segments.",
       .set_run = [](RunConfig& r, const Value& v) { r.hardware.allocator_conf = text(v); }},
      {.sections = {"hardware"},
       .name = "synchronous_launches",
       .value = boolean_value(),
       .default_text = default_of(HardwareOptions().synchronous_launches),
       .flags = {{.group = FlagGroup::kSpeed,
                  .place = 80,
                  .name = "--synchronous-launches",
                  .fixed = "true",
                  .help = "End every CUDA kernel before the next one starts, to find the cause of "
                          "a device error"}},
       .help =
           "End every CUDA kernel before the next one starts, so that an error names its cause; "
           "slower, with the same results.",
       .set_run = [](RunConfig& r,
                     const Value& v) { r.hardware.synchronous_launches = boolean(v); }},
  };
}

}  // namespace encode
