#include "encode/worker_event.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"
#include "protocol/json_fields.h"
#include "protocol/row_fields.h"

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

void fields(auto& archive, MaybeConst<DeviceFacts> auto& value) {
  auto& [kind, name, place, libtorch, driver, threads, places, kernels] = value;
  archive("kind", kind)("name", name)("place", place)("libtorch", libtorch)("driver", driver);
  archive("threads", threads)("places", places)("kernels", kernels);
}

void fields(auto& archive, MaybeConst<DeviceMemory> auto& value) {
  auto& [allocated_bytes, reserved_bytes, peak_allocated_bytes, total_bytes] = value;
  archive("allocated_bytes", allocated_bytes)("reserved_bytes", reserved_bytes);
  archive("peak_allocated_bytes", peak_allocated_bytes)("total_bytes", total_bytes);
}

void fields(auto& archive, MaybeConst<BatchPlan> auto& value) {
  auto& [budget_tokens, launch_tokens, longest_row_tokens, batches_at_once] = value;
  archive("budget_tokens", budget_tokens)("launch_tokens", launch_tokens);
  archive("longest_row_tokens", longest_row_tokens)("batches_at_once", batches_at_once);
}

void fields(auto& archive, MaybeConst<RowStats> auto& value) {
  auto& [tokens, truncated_rows, lost_tokens, zero_token_rows, redone_rows, set_aside_rows] = value;
  archive("tokens", tokens)("truncated_rows", truncated_rows)("lost_tokens", lost_tokens);
  archive("zero_token_rows", zero_token_rows)("redone_rows", redone_rows);
  archive("set_aside_rows", set_aside_rows);
}

void fields(auto& archive, MaybeConst<StageSeconds> auto& value) {
  auto& [read, tokenize, pack, rows_awaited, encode, commit_awaited, commit] = value;
  archive("read", read)("tokenize", tokenize)("pack", pack)("rows_awaited", rows_awaited);
  archive("encode", encode)("commit_awaited", commit_awaited)("commit", commit);
}

void fields(auto& archive, MaybeConst<ProductRates> auto& value) {
  auto& [threads, flops, tokens_per_second, tokens_per_cpu_second, square_flops] = value;
  archive("threads", threads)("flops_per_token", flops);
  archive("tokens_per_second", tokens_per_second);
  archive("tokens_per_cpu_second", tokens_per_cpu_second);
  archive("square_flops_per_second", square_flops);
}

void fields(auto& archive, MaybeConst<ErrorDetail> auto& value) {
  auto& [code, exit_code, what, where, expected, found, hint] = value;
  archive("code", code)("exit_code", exit_code)("what", what)("where", where);
  archive("expected", expected)("found", found)("hint", hint);
}

void fields(auto& /*archive*/, MaybeConst<ModelLoading> auto& /*value*/) {}

void fields(auto& archive, MaybeConst<Parity> auto& value) {
  auto& [cosine, least] = value;
  archive("cosine", cosine)("least", least);
}

void fields(auto& archive, MaybeConst<ModelLoaded> auto& value) {
  auto& [unit, device, dim, seconds, tokenizer, host_rss_bytes, parity] = value;
  archive("unit", unit)("device", device)("dim", dim)("seconds", seconds);
  archive("tokenizer", tokenizer)("host_rss_bytes", host_rss_bytes)("parity", parity);
}

void fields(auto& archive, MaybeConst<UnitStarted> auto& value) {
  auto& [unit, plan] = value;
  archive("unit", unit)("plan", plan);
}

void fields(auto& archive, MaybeConst<ChunkStarted> auto& value) {
  auto& [unit, chunk, rows] = value;
  archive("unit", unit)("chunk", chunk)("rows", rows);
}

void fields(auto& archive, MaybeConst<WindowStarted> auto& value) {
  auto& [unit, rows, stages, ahead] = value;
  archive("unit", unit)("rows", rows)("stages", stages)("ahead", ahead);
}

void fields(auto& archive, MaybeConst<ProbeStarted> auto& value) {
  auto& [unit, rows] = value;
  archive("unit", unit)("rows", rows);
}

void fields(auto& archive, MaybeConst<ProbeDone> auto& value) {
  auto& [unit, rows] = value;
  archive("unit", unit)("rows", rows);
}

void fields(auto& archive, MaybeConst<BatchHalved> auto& value) {
  auto& [unit, budget_tokens] = value;
  archive("unit", unit)("budget_tokens", budget_tokens);
}

void fields(auto& archive, MaybeConst<RowsSetAside> auto& value) {
  auto& [unit, rows] = value;
  archive("unit", unit)("rows", rows);
}

void fields(auto& archive, MaybeConst<BatchDone> auto& value) {
  auto& [unit, rows_done, tokens_done] = value;
  archive("unit", unit)("rows_done", rows_done)("tokens_done", tokens_done);
}

void fields(auto& archive, MaybeConst<ChunkDone> auto& value) {
  auto& [unit, chunk, rows, path, file_bytes, seconds, stats, memory, host_rss_bytes] = value;
  archive("unit", unit)("chunk", chunk)("rows", rows)("path", path)("file_bytes", file_bytes);
  archive("seconds", seconds)("stats", stats)("memory", memory);
  archive("host_rss_bytes", host_rss_bytes);
}

void fields(auto& archive, MaybeConst<UnitDone> auto& value) {
  auto& [unit, rows_done, stats, stages, token_slots, device_peak_bytes] = value;
  archive("unit", unit)("rows_done", rows_done)("stats", stats)("stages", stages);
  archive("token_slots", token_slots)("device_peak_bytes", device_peak_bytes);
}

void fields(auto& archive, MaybeConst<CacheCounts> auto& value) {
  auto& [deduplicated_rows, requests, row_hits, compact_hits, disk_hits, damaged_rows, stored_rows,
         row_bytes, compact_bytes, disk_bytes] = value;
  archive("deduplicated_rows", deduplicated_rows)("requests", requests)("row_hits", row_hits);
  archive("compact_hits", compact_hits)("disk_hits", disk_hits)("damaged_rows", damaged_rows);
  archive("stored_rows", stored_rows)("row_bytes", row_bytes)("compact_bytes", compact_bytes);
  archive("disk_bytes", disk_bytes);
}

void fields(auto& archive, MaybeConst<CacheUsed> auto& value) {
  auto& [unit, counts] = value;
  archive("unit", unit)("counts", counts);
}

void fields(auto& archive, MaybeConst<CacheProblem> auto& value) {
  auto& [error, off] = value;
  archive("error", error)("off", off);
}

void fields(auto& archive, MaybeConst<ProductsTimed> auto& value) {
  auto& [unit, rates] = value;
  archive("unit", unit)("rates", rates);
}

void fields(auto& archive, MaybeConst<DeviceChecked> auto& value) {
  auto& [device, allocator, synchronous_launches] = value;
  archive("device", device)("allocator", allocator)("synchronous_launches", synchronous_launches);
}

void fields(auto& archive, MaybeConst<DefenceTried> auto& value) {
  auto& [name, works, found] = value;
  archive("name", name)("works", works)("found", found);
}

void fields(auto& archive, MaybeConst<LogLine> auto& value) {
  auto& [level, message] = value;
  archive("level", level)("message", message);
}

void fields(auto& archive, MaybeConst<WorkerFailed> auto& value) {
  auto& [error] = value;
  archive("error", error);
}

void fields(auto& /*archive*/, MaybeConst<WorkerFinished> auto& /*value*/) {}

void fields(auto& archive, MaybeConst<WorkerRetired> auto& value) {
  auto& [reason, stages] = value;
  archive("reason", reason)("stages", stages);
}

void fields(auto& archive, MaybeConst<MemoryPressure> auto& value) {
  auto& [pressed, used_percent, available_bytes] = value;
  archive("pressed", pressed)("used_percent", used_percent);
  archive("available_bytes", available_bytes);
}

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

}  // namespace

std::string to_json_line(const WorkerEvent& event) {
  Json line =
      std::visit([](const auto& alternative) { return JsonWriter::to_value(alternative); }, event);
  line["kind"] = kKinds.at(event.index());
  // A message may quote bytes of an input that are not UTF-8. dump() replaces these bytes, so that
  // the message still arrives.
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

WorkerEvent worker_event_from_json(std::string_view line) {
  constexpr int64_t kMaxBytes = int64_t{1} << 20;
  const Json sent = parse_document(line, kMaxBytes);
  if (!sent.is_object() || !sent.contains("kind") || !sent["kind"].is_string())
    refuse_document("the line is not a worker event", "no field 'kind'");
  return read_event(sent["kind"].get<std::string>(), sent);
}

}  // namespace encode
