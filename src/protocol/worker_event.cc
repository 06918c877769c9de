#include "encode/worker_event.h"

#include <array>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "protocol/json_fields.h"
#include "protocol/row_fields.h"
#include "protocol/same_build.h"

namespace encode {
namespace {

// The "kind" of each event, in the order of the alternatives of WorkerEvent.
constexpr std::array<std::string_view, std::variant_size_v<WorkerEvent>> kKinds = {
    "model_loading", "model_loaded",   "unit_started", "chunk_started", "window_started",
    "probe_started", "probe_done",     "batch",        "batch_halved",  "rows_set_aside",
    "chunk_done",    "unit_done",      "cache_used",   "cache_problem", "products",
    "device",        "defence",        "log",          "error",         "finished",
    "retired",       "memory_pressure"};

}  // namespace

// JsonWriter and JsonReader find these functions by argument-dependent lookup. So the functions are
// in the namespace encode and not in an unnamed namespace.

constexpr auto names(DeviceKind /*tag*/) {
  return NameTable<DeviceKind, 2>{{{"cpu", DeviceKind::kCpu}, {"cuda", DeviceKind::kCuda}}};
}

constexpr auto names(LogLevel /*tag*/) {
  return NameTable<LogLevel, 3>{
      {{"debug", LogLevel::kDebug}, {"info", LogLevel::kInfo}, {"warning", LogLevel::kWarning}}};
}

ENCODE_FIELDS(DeviceFacts, kind, name, place, libtorch, driver, threads, places, kernels)
ENCODE_FIELDS(DeviceMemory, allocated_bytes, reserved_bytes, peak_allocated_bytes, total_bytes)
ENCODE_FIELDS(BatchPlan, budget_tokens, launch_tokens, longest_row_tokens, batches_at_once)
ENCODE_FIELDS(RowStats, tokens, truncated_rows, lost_tokens, zero_token_rows, redone_rows,
              set_aside_rows, passages)
ENCODE_FIELDS(StageSeconds, read, tokenize, pack, rows_awaited, encode, commit_awaited, commit)
ENCODE_FIELDS(ProductRates, threads, flops_per_token, tokens_per_second, tokens_per_cpu_second,
              square_flops_per_second)
ENCODE_FIELDS(ErrorDetail, code, exit_code, what, where, expected, found, hint, error_number)
void fields(auto& /*archive*/, MaybeConst<ModelLoading> auto& /*value*/) {}
ENCODE_FIELDS(Parity, cosine, least)
ENCODE_FIELDS(ModelLoaded, unit, device, dim, seconds, tokenizer, host_rss_bytes, parity)
ENCODE_FIELDS(UnitStarted, unit, plan)
ENCODE_FIELDS(ChunkStarted, unit, chunk, rows)
ENCODE_FIELDS(WindowStarted, unit, rows, stages, ahead)
ENCODE_FIELDS(ProbeStarted, unit, rows)
ENCODE_FIELDS(ProbeDone, unit, rows)
ENCODE_FIELDS(BatchHalved, unit, budget_tokens)
ENCODE_FIELDS(RowsSetAside, unit, rows)
ENCODE_FIELDS(BatchDone, unit, rows_done, tokens_done)
ENCODE_FIELDS(ChunkDone, unit, chunk, rows, path, file_bytes, seconds, stats, memory,
              host_rss_bytes)
ENCODE_FIELDS(UnitDone, unit, rows_done, stats, stages, token_slots, device_peak_bytes)
ENCODE_FIELDS(CacheCounts, deduplicated_rows, requests, row_hits, compact_hits, disk_hits,
              damaged_rows, stored_rows, row_bytes, compact_bytes, disk_bytes)
ENCODE_FIELDS(CacheUsed, unit, counts)
ENCODE_FIELDS(CacheProblem, error, off)
ENCODE_FIELDS(ProductsTimed, unit, rates)
ENCODE_FIELDS(DeviceChecked, device, allocator, synchronous_launches)
ENCODE_FIELDS(DefenceTried, name, works, found)
ENCODE_FIELDS(LogLine, level, message)
ENCODE_FIELDS(WorkerFailed, error)
void fields(auto& /*archive*/, MaybeConst<WorkerFinished> auto& /*value*/) {}
ENCODE_FIELDS(WorkerRetired, reason, stages)
ENCODE_FIELDS(MemoryPressure, pressed, used_percent, available_bytes)

namespace {

// Reads the alternative of WorkerEvent that `kind` names.
template <size_t kIndex = 0>
WorkerEvent read_event(const std::string& kind, const Json& json) {
  if constexpr (kIndex == kKinds.size()) {
    refuse_document("the event has an unknown kind", preview(kind));
  } else {
    if (kind != kKinds.at(kIndex)) return read_event<kIndex + 1>(kind, json);
    return JsonReader::read<std::variant_alternative_t<kIndex, WorkerEvent>>(json);
  }
}

template <size_t... kIndex>
std::string schema_of_events(std::index_sequence<kIndex...> /*indices*/) {
  const auto one = [](std::string_view kind, const auto& event) {
    return fmt::format("{}{}", kind, SchemaWriter::schema(event));
  };
  return (one(kKinds[kIndex], std::variant_alternative_t<kIndex, WorkerEvent>{}) + ...);
}

}  // namespace

std::string event_schema() {
  return schema_of_events(std::make_index_sequence<std::variant_size_v<WorkerEvent>>{});
}

std::string to_json_line(const WorkerEvent& event) {
  Json line =
      std::visit([](const auto& alternative) { return JsonWriter::to_value(alternative); }, event);
  line["kind"] = kKinds.at(event.index());
  // A message may quote bytes of an input that are not UTF-8. dump() replaces these bytes, so that
  // the message still arrives.
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

WorkerEvent worker_event_from_json(std::string_view line) {
  const Json message = parse_message(line);
  return read_event(message["kind"].get<std::string>(), message);
}

}  // namespace encode
