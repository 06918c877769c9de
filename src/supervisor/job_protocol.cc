// The JSON that the supervisor and the worker exchange. Each struct is described once, by fields();
// writing and reading both walk that description. The structured bindings list every member, so
// that a member added to a struct does not compile until it travels too.
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/job.h"

#include "base/json.h"
#include "base/names.h"

namespace encode {
namespace {

constexpr std::string_view kCode = "job.protocol";

[[noreturn]] void refuse(std::string what, std::string found) {
  throw Error({.exit_code = ExitCode::kInternal,
               .code = std::string(kCode),
               .what = std::move(what),
               .where = "",
               .expected = "",
               .found = std::move(found),
               .hint = "encode and encode-worker must come from the same build"});
}

constexpr auto names(TextFormat /*tag*/) { return kTextFormats; }
constexpr auto names(BadRowPolicy /*tag*/) { return kBadRowPolicies; }
constexpr auto names(EmptyRowPolicy /*tag*/) { return kEmptyRowPolicies; }
constexpr auto names(Utf8Policy /*tag*/) { return kUtf8Policies; }
constexpr auto names(ComputeType /*tag*/) { return kComputeTypes; }
constexpr auto names(MatmulPrecision /*tag*/) { return kMatmulPrecisions; }
constexpr auto names(PoolingMode /*tag*/) { return kPoolingModes; }
constexpr auto names(WorkerEvent::Kind /*tag*/) {
  using Kind = WorkerEvent::Kind;
  return std::to_array<std::pair<std::string_view, Kind>>({{"model_loaded", Kind::kModelLoaded},
                                                           {"unit_started", Kind::kUnitStarted},
                                                           {"chunk_started", Kind::kChunkStarted},
                                                           {"batch", Kind::kBatch},
                                                           {"chunk_done", Kind::kChunkDone},
                                                           {"unit_done", Kind::kUnitDone},
                                                           {"products", Kind::kProducts},
                                                           {"memory", Kind::kMemory},
                                                           {"log", Kind::kLog},
                                                           {"error", Kind::kError},
                                                           {"finished", Kind::kFinished}});
}

// S or const S: one description serves the writer, which has const access, and the reader.
template <class T, class S>
concept MaybeConst = std::same_as<std::remove_const_t<T>, S>;

void fields(auto& archive, MaybeConst<InputOptions> auto& value) {
  auto& [path, field, format, bad_row, empty_row, utf8, max_row_bytes, limit_rows] = value;
  archive("path", path)("field", field)("format", format)("bad_row", bad_row)("empty_row",
                                                                              empty_row);
  archive("utf8", utf8)("max_row_bytes", max_row_bytes)("limit_rows", limit_rows);
}

void fields(auto& archive, MaybeConst<ResultOptions> auto& value) {
  auto& [model, revision, pooling, normalize, truncate_dim, max_length, prompt, prompt_name, causal,
         dtype, matmul_precision] = value;
  archive("model", model)("revision", revision)("pooling", pooling)("normalize", normalize);
  archive("truncate_dim", truncate_dim);
  archive("max_length", max_length)("prompt", prompt)("prompt_name", prompt_name);
  archive("causal", causal)("dtype", dtype)("float32_matmul_precision", matmul_precision);
}

void fields(auto& archive, MaybeConst<SpeedOptions> auto& value) {
  auto& [batch_size, batch_tokens, threads, tokenizer_threads, prefetch_bytes] = value;
  archive("batch_size", batch_size)("batch_tokens", batch_tokens)("threads", threads);
  archive("tokenizer_threads", tokenizer_threads)("prefetch_bytes", prefetch_bytes);
}

void fields(auto& archive, MaybeConst<StreamConfig> auto& value) {
  auto& [split, stream, input, result, speed] = value;
  archive("split", split)("stream", stream)("input", input)("result", result)("speed", speed);
}

void fields(auto& archive, MaybeConst<HardwareOptions> auto& value) {
  auto& [device, expandable_segments, allocator_conf, max_restarts] = value;
  archive("device", device)("expandable_segments", expandable_segments);
  archive("allocator_conf", allocator_conf)("max_restarts", max_restarts);
}

void fields(auto& archive, MaybeConst<StreamIdentity> auto& value) {
  auto& [name, fingerprint, rows, dim, token_embeddings] = value;
  archive("name", name)("fingerprint", fingerprint)("rows", rows)("dim", dim);
  archive("token_embeddings", token_embeddings);
}

void fields(auto& archive, MaybeConst<InputScan::Checkpoint> auto& value) {
  auto& [row, line, rows_in, offset_bytes] = value;
  archive("row", row)("line", line)("rows_in", rows_in)("offset_bytes", offset_bytes);
}

void fields(auto& archive, MaybeConst<InputScan> auto& value) {
  auto& [rows_in, rows, rejected, empty, tokenized, utf8_replaced, text_bytes, longest_bytes,
         sha256, file_bytes, checkpoints] = value;
  archive("rows_in", rows_in)("rows", rows)("rejected", rejected)("empty", empty);
  archive("tokenized", tokenized);
  archive("utf8_replaced", utf8_replaced)("text_bytes", text_bytes)("longest_bytes", longest_bytes);
  archive("sha256", sha256)("file_bytes", file_bytes)("checkpoints", checkpoints);
}

void fields(auto& archive, MaybeConst<JobUnit> auto& value) {
  auto& [config, identity, scan, chunk_rows, chunk_files, alone_below, final_path] = value;
  archive("config", config)("identity", identity)("scan", scan)("chunk_rows", chunk_rows);
  archive("chunk_files", chunk_files)("alone_below", alone_below)("final_path", final_path);
}

void fields(auto& archive, MaybeConst<JobSpec> auto& value) {
  auto& [cache_dir, hardware, units, product_seconds] = value;
  archive("cache_dir", cache_dir)("hardware", hardware)("units", units);
  archive("product_seconds", product_seconds);
}

void fields(auto& archive, MaybeConst<RowRange> auto& value) {
  auto& [begin, end] = value;
  archive("begin", begin)("end", end);
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

void fields(auto& archive, MaybeConst<WorkerEvent> auto& value) {
  auto& [kind, unit, chunk, rows, rows_done, tokens_done, dim, file_bytes, seconds, stats,
         device_allocated, device_reserved, device_peak, host_rss, token_slots, stages, products,
         device, path, level, message, error] = value;
  archive("kind", kind)("unit", unit)("chunk", chunk)("rows", rows)("rows_done", rows_done);
  archive("tokens_done", tokens_done)("dim", dim)("file_bytes", file_bytes)("seconds", seconds);
  archive("stats", stats)("device_allocated_bytes", device_allocated);
  archive("device_reserved_bytes", device_reserved)("device_peak_bytes", device_peak);
  archive("host_rss_bytes", host_rss)("token_slots", token_slots)("stages", stages);
  archive("products", products)("device", device)("path", path)("level", level);
  archive("message", message)("error", error);
}

class Writer {
 public:
  template <class T>
  Writer& operator()(const char* key, const T& value) {
    object_[key] = to_value(value);
    return *this;
  }

  template <class T>
  static Json to_value(const T& value) {
    if constexpr (std::same_as<T, ExitCode>) {
      return static_cast<int>(value);
    } else if constexpr (std::is_enum_v<T>) {
      const std::string_view name = name_of(names(value), value);
      if (name.empty())
        refuse("an enumerator without a name", std::to_string(static_cast<int>(value)));
      return name;
    } else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
      return value;
    } else {
      Writer writer;
      fields(writer, value);
      return std::move(writer.object_);
    }
  }
  template <class T>
  static Json to_value(const std::optional<T>& value) {
    return value ? to_value(*value) : Json();
  }
  template <class T>
  static Json to_value(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(to_value(value));
    return array;
  }

 private:
  Json object_ = Json::object();
};

class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {
    if (!object.is_object()) refuse("not a JSON object", object.type_name());
  }

  template <class T>
  Reader& operator()(const char* key, T& value) {
    const auto found = object_.find(key);
    if (found == object_.end()) refuse("a field is missing", key);
    from_value(key, *found, value);
    return *this;
  }

 private:
  [[noreturn]] static void wrong_type(const char* key, const Json& json) {
    refuse(std::string("bad value for '") + key + "'",
           json.dump(-1, ' ', false, kReplace).substr(0, 80));
  }

  static void from_value(const char* key, const Json& json, std::string& value) {
    if (!json.is_string()) wrong_type(key, json);
    value = json.get<std::string>();
  }
  static void from_value(const char* key, const Json& json, bool& value) {
    if (!json.is_boolean()) wrong_type(key, json);
    value = json.get<bool>();
  }
  static void from_value(const char* key, const Json& json, int64_t& value) {
    if (!json.is_number_integer()) wrong_type(key, json);
    constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (json.is_number_unsigned() && json.get<uint64_t>() > kMax) wrong_type(key, json);
    value = json.get<int64_t>();
  }
  static void from_value(const char* key, const Json& json, double& value) {
    if (!json.is_number()) wrong_type(key, json);
    value = json.get<double>();
  }
  static void from_value(const char* key, const Json& json, ExitCode& value) {
    int64_t code = 0;
    from_value(key, json, code);
    if (code < 0 || code > 255) wrong_type(key, json);
    value = static_cast<ExitCode>(code);
  }
  template <class T>
  requires std::is_enum_v<T>
  static void from_value(const char* key, const Json& json, T& value) {
    for (const auto& [name, item] : names(T{})) {
      if (json == name && name == name_of(names(T{}), item)) {  // users alone have aliases
        value = item;
        return;
      }
    }
    wrong_type(key, json);
  }
  template <class T>
  static void from_value(const char* key, const Json& json, std::optional<T>& value) {
    value.reset();
    if (!json.is_null()) from_value(key, json, value.emplace());
  }
  template <class T>
  static void from_value(const char* key, const Json& json, std::vector<T>& values) {
    if (!json.is_array()) wrong_type(key, json);
    values.clear();
    for (const Json& item : json) from_value(key, item, values.emplace_back());
  }
  template <class T>
  requires(std::is_class_v<T>) static void from_value(const char* /*key*/, const Json& json,
                                                      T& value) {
    Reader reader(json);
    fields(reader, value);
  }

  static constexpr auto kReplace = Json::error_handler_t::replace;
  const Json& object_;
};

// The protocol's own errors are internal ones, whatever a file with the same fault would be.
Json parse(std::string_view text, int64_t max_bytes) {
  try {
    return parse_json(text, {.max_bytes = max_bytes, .max_depth = 16}, "", kCode);
  } catch (const Error& error) {
    refuse(error.detail().what, error.detail().found);
  }
}

}  // namespace

std::string to_json(const JobSpec& spec) {
  try {
    return Writer::to_value(spec).dump() + "\n";
  } catch (const Json::type_error&) {
    throw Error({.exit_code = ExitCode::kConfig,
                 .code = "job.utf8",
                 .what = "a path or an option is not valid UTF-8",
                 .where = spec.cache_dir,
                 .expected = "paths, fields and prompts in UTF-8",
                 .found = "other bytes",
                 .hint = "rename the file, or link to it under a UTF-8 name"});
  }
}

JobSpec job_spec_from_json(const std::string& json) {
  constexpr int64_t kMaxBytes = int64_t{1} << 30;  // checkpoints: about 80 bytes for 1,000 rows
  JobSpec spec;
  const Json document = parse(json, kMaxBytes);
  Reader reader(document);
  fields(reader, spec);
  return spec;
}

namespace {

const Json& default_event() {
  static const Json event = Writer::to_value(WorkerEvent{});
  return event;
}

}  // namespace

std::string to_json_line(const WorkerEvent& event) {
  Json full = Writer::to_value(event);
  Json line = Json::object();
  for (const auto& [key, value] : full.items()) {
    if (key == "kind" || value != default_event().at(key)) line[key] = value;
  }
  // A message may quote bytes of an input: a line with a replaced byte is better than no line.
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

WorkerEvent worker_event_from_json(std::string_view line) {
  constexpr int64_t kMaxBytes = int64_t{1} << 20;
  const Json sent = parse(line, kMaxBytes);
  if (!sent.is_object() || !sent.contains("kind")) refuse("not a worker event", "no 'kind'");
  Json full = default_event();
  full.update(sent);
  WorkerEvent event;
  Reader reader(full);
  fields(reader, event);
  return event;
}

}  // namespace encode
