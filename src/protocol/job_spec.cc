#include <cstdint>
#include <string>

#include "encode/error.h"
#include "encode/job.h"

#include "base/module_names.h"
#include "protocol/json_fields.h"
#include "protocol/row_fields.h"

namespace encode {

// JsonWriter and JsonReader find these functions by argument-dependent lookup. So the functions are
// in the namespace encode and not in an unnamed namespace.

constexpr auto names(TextFormat /*tag*/) { return kTextFormats; }
constexpr auto names(BadRowPolicy /*tag*/) { return kBadRowPolicies; }
constexpr auto names(EmptyRowPolicy /*tag*/) { return kEmptyRowPolicies; }
constexpr auto names(Utf8Policy /*tag*/) { return kUtf8Policies; }
constexpr auto names(ComputeType /*tag*/) { return kComputeTypes; }
constexpr auto names(MatmulPrecision /*tag*/) { return kMatmulPrecisions; }
constexpr auto names(VectorPrecision /*tag*/) { return kVectorPrecisions; }
constexpr auto names(SpecialTokensRule /*tag*/) { return kSpecialTokensRules; }
constexpr auto names(TokenizerRecipe /*tag*/) { return kTokenizerRecipes; }
constexpr auto names(PoolingMode /*tag*/) { return kPoolingModes; }
constexpr auto names(DenseActivation /*tag*/) { return kDenseActivations; }
constexpr auto names(SentenceModule::Kind /*tag*/) { return kModuleKinds; }

void fields(auto& archive, MaybeConst<InputOptions> auto& value) {
  auto& [path, more_paths, field, format, bad_row, empty_row, utf8, max_row_bytes, limit_rows] =
      value;
  archive("path", path)("more_paths", more_paths)("field", field)("format", format)("bad_row",
                                                                                    bad_row);
  archive("empty_row", empty_row)("utf8", utf8)("max_row_bytes", max_row_bytes);
  archive("limit_rows", limit_rows);
}

void fields(auto& archive, MaybeConst<SpeedOptions> auto& value) {
  auto& [batch_size, batch_tokens, threads, tokenizer_threads, prefetch_bytes] = value;
  archive("batch_size", batch_size)("batch_tokens", batch_tokens)("threads", threads);
  archive("tokenizer_threads", tokenizer_threads)("prefetch_bytes", prefetch_bytes);
}

void fields(auto& archive, MaybeConst<HardwareOptions> auto& value) {
  auto& [device, devices, all_devices, strict_numerics, expandable_segments, allocator_conf,
         synchronous_launches, max_restarts, worker_chunks, memory_limit_bytes,
         memory_pressure_percent] = value;
  archive("device", device)("devices", devices)("all_devices", all_devices);
  archive("strict_numerics", strict_numerics);
  archive("expandable_segments", expandable_segments)("allocator_conf", allocator_conf);
  archive("synchronous_launches", synchronous_launches)("max_restarts", max_restarts);
  archive("worker_chunks", worker_chunks)("memory_limit_bytes", memory_limit_bytes);
  archive("memory_pressure_percent", memory_pressure_percent);
}

void fields(auto& archive, MaybeConst<EmbeddingCacheOptions> auto& value) {
  auto& [dir, memory_bytes, disk_bytes] = value;
  archive("dir", dir)("memory_bytes", memory_bytes)("disk_bytes", disk_bytes);
}

void fields(auto& archive, MaybeConst<InputPart> auto& value) {
  auto& [path, first_row] = value;
  archive("path", path)("first_row", first_row);
}

void fields(auto& archive, MaybeConst<StreamIdentity> auto& value) {
  auto& [name, fingerprint, rows, dim, token_embeddings, inputs] = value;
  archive("name", name)("fingerprint", fingerprint)("rows", rows)("dim", dim);
  archive("token_embeddings", token_embeddings)("inputs", inputs);
}

void fields(auto& archive, MaybeConst<ChunkOrigin> auto& value) {
  auto& [device, libtorch, driver, batch_tokens, products, kernels, cuda_numerics] = value;
  archive("device", device)("libtorch", libtorch)("driver", driver)("batch_tokens", batch_tokens);
  archive("products", products)("kernels", kernels)("cuda_numerics", cuda_numerics);
}

void fields(auto& archive, MaybeConst<InputScan::File> auto& value) {
  auto& [path, first_row, bytes, sha256] = value;
  archive("path", path)("first_row", first_row)("bytes", bytes)("sha256", sha256);
}

void fields(auto& archive, MaybeConst<InputScan::Checkpoint> auto& value) {
  auto& [row, file, line, rows_in, offset_bytes, xxh3_128] = value;
  archive("row", row)("file", file)("line", line)("rows_in", rows_in)("offset_bytes", offset_bytes);
  archive("xxh3_128", xxh3_128);
}

void fields(auto& archive, MaybeConst<InputScan> auto& value) {
  auto& [rows_in, rows, rejected, empty, blank, tokenized, utf8_replaced, text_bytes, longest_bytes,
         files, checkpoints] = value;
  archive("rows_in", rows_in)("rows", rows)("rejected", rejected)("empty", empty);
  archive("blank", blank)("tokenized", tokenized)("utf8_replaced", utf8_replaced);
  archive("text_bytes", text_bytes);
  archive("longest_bytes", longest_bytes)("files", files);
  archive("checkpoints", checkpoints);
}

void fields(auto& archive, MaybeConst<FileKey> auto& value) {
  auto& [device, inode, size, mtime_ns, ctime_ns] = value;
  archive("device", device)("inode", inode)("size", size)("mtime_ns", mtime_ns);
  archive("ctime_ns", ctime_ns);
}

void fields(auto& archive, MaybeConst<FileHash> auto& value) {
  auto& [name, bytes, sha256, settled_key] = value;
  archive("name", name)("bytes", bytes)("sha256", sha256)("settled_key", settled_key);
}

void fields(auto& archive, MaybeConst<TensorInfo> auto& value) {
  auto& [file, dtype, shape, offset_bytes, size_bytes, strides] = value;
  archive("file", file)("dtype", dtype)("shape", shape)("offset_bytes", offset_bytes);
  archive("size_bytes", size_bytes)("strides", strides);
}

void fields(auto& archive, MaybeConst<SentenceModule> auto& value) {
  auto& [kind, path, pooling, include_prompt, in_features, out_features, bias, residual, activation,
         tensors] = value;
  archive("kind", kind)("path", path)("pooling", pooling)("include_prompt", include_prompt);
  archive("in_features", in_features)("out_features", out_features)("bias", bias);
  archive("residual", residual)("activation", activation)("tensors", tensors);
}

void fields(auto& archive, MaybeConst<LateInteraction> auto& value) {
  auto& [marker, skip_words, unknown_token, drops_unknown_words] = value;
  archive("marker", marker)("skip_words", skip_words)("unknown_token", unknown_token);
  archive("drops_unknown_words", drops_unknown_words);
}

void fields(auto& archive, MaybeConst<TokenizerRules> auto& value) {
  auto& [special_tokens, recipe, lower_case_first] = value;
  archive("special_tokens", special_tokens)("recipe", recipe);
  archive("lower_case_first", lower_case_first);
}

void fields(auto& archive, MaybeConst<EffectiveResult> auto& value) {
  auto& [pooling, normalize, truncate_dim, modules, max_length, prompt, include_prompt, dtype,
         float32_matmul_precision, causal, dim, launch_tokens, vector_precision, late_interaction,
         tokenizer, ignore_custom_code, recipes] = value;
  archive("pooling", pooling)("normalize", normalize)("truncate_dim", truncate_dim);
  archive("modules", modules)("max_length", max_length)("prompt", prompt);
  archive("include_prompt", include_prompt)("dtype", dtype);
  archive("float32_matmul_precision", float32_matmul_precision)("causal", causal)("dim", dim);
  archive("launch_tokens", launch_tokens)("vector_precision", vector_precision);
  archive("late_interaction", late_interaction)("tokenizer", tokenizer);
  archive("ignore_custom_code", ignore_custom_code)("recipes", recipes);
}

void fields(auto& archive, MaybeConst<JobUnit> auto& value) {
  auto& [identity, input, scan, speed, model_path, model_files, effective, chunk_rows, chunk_files,
         final_path, window_share, host_share, budget_limits, set_aside, probe, avoid, alone] =
      value;
  archive("identity", identity)("input", input)("scan", scan)("speed", speed);
  archive("model_path", model_path)("model_files", model_files)("effective", effective);
  archive("chunk_rows", chunk_rows)("chunk_files", chunk_files)("final_path", final_path);
  archive("window_share", window_share)("host_share", host_share);
  archive("budget_limits", budget_limits);
  archive("set_aside", set_aside)("probe", probe)("avoid", avoid);
  archive("alone", alone);
}

void fields(auto& archive, MaybeConst<JobSpec> auto& value) {
  auto& [cache_dir, hardware, embedding_cache, units, product_seconds, measure_refused, workers,
         required_kind, check_only] = value;
  archive("cache_dir", cache_dir)("hardware", hardware)("embedding_cache", embedding_cache);
  archive("units", units);
  archive("product_seconds", product_seconds)("measure_refused", measure_refused);
  archive("workers", workers)("required_kind", required_kind)("check_only", check_only);
}

std::string to_json(const JobSpec& spec) {
  try {
    return JsonWriter::to_value(spec).dump() + "\n";
  } catch (const Json::type_error&) {
    throw Error({.code = "job.utf8",
                 .what = "a path or an option is not valid UTF-8",
                 .where = spec.cache_dir,
                 .expected = "paths, fields and prompts in UTF-8",
                 .found = "other bytes",
                 .hint = "rename the file, or make a link to it with a UTF-8 name"});
  }
}

JobSpec job_spec_from_json(const std::string& json) {
  // The checkpoints make a job large: they take about 130 bytes for a block of rows.
  constexpr int64_t kMaxBytes = int64_t{1} << 30;
  return JsonReader::read<JobSpec>(parse_document(json, kMaxBytes));
}

}  // namespace encode
