#include "encode/worker_event.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/json_fields.h"

namespace encode {
namespace {

// The "kind" of each event, in the order of the alternatives of WorkerEvent.
constexpr std::array<std::string_view, std::variant_size_v<WorkerEvent>> kKinds = {
    "model_loaded", "unit_started", "chunk_started", "batch", "chunk_done",
    "unit_done",    "products",     "log",           "error", "finished"};

}  // namespace

// JsonWriter and JsonReader find these functions by argument-dependent lookup. So the functions are
// in the namespace encode and not in an unnamed namespace.

constexpr auto names(DeviceKind /*tag*/) {
  return NameTable<DeviceKind, 2>{{{"cpu", DeviceKind::kCpu}, {"cuda", DeviceKind::kCuda}}};
}

void fields(auto& archive, MaybeConst<RowRange> auto& value) {
  auto& [begin, end] = value;
  archive("begin", begin)("end", end);
}

void fields(auto& archive, MaybeConst<DeviceFacts> auto& value) {
  auto& [kind, name, place, libtorch, driver, threads] = value;
  archive("kind", kind)("name", name)("place", place)("libtorch", libtorch)("driver", driver);
  archive("threads", threads);
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
  auto& [tokens, truncated_rows, lost_tokens, zero_token_rows, redone_rows] = value;
  archive("tokens", tokens)("truncated_rows", truncated_rows)("lost_tokens", lost_tokens);
  archive("zero_token_rows", zero_token_rows)("redone_rows", redone_rows);
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
  auto& [exit_code, code, what, where, expected, found, hint] = value;
  archive("exit_code", exit_code)("code", code)("what", what)("where", where);
  archive("expected", expected)("found", found)("hint", hint);
}

void fields(auto& archive, MaybeConst<ModelLoaded> auto& value) {
  auto& [unit, device, dim, seconds, tokenizer, host_rss_bytes] = value;
  archive("unit", unit)("device", device)("dim", dim)("seconds", seconds);
  archive("tokenizer", tokenizer)("host_rss_bytes", host_rss_bytes);
}

void fields(auto& archive, MaybeConst<UnitStarted> auto& value) {
  auto& [unit, plan] = value;
  archive("unit", unit)("plan", plan);
}

void fields(auto& archive, MaybeConst<ChunkStarted> auto& value) {
  auto& [unit, chunk, rows] = value;
  archive("unit", unit)("chunk", chunk)("rows", rows);
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

void fields(auto& archive, MaybeConst<ProductsTimed> auto& value) {
  auto& [unit, rates] = value;
  archive("unit", unit)("rates", rates);
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

namespace {

// Reads the alternative of WorkerEvent that `kind` names.
template <size_t kIndex = 0>
WorkerEvent read_event(const std::string& kind, const Json& json) {
  if constexpr (kIndex == kKinds.size()) {
    refuse_document("the event has an unknown kind", kind.substr(0, 80));
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
