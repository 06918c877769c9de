#include <string>

#include "encode/error.h"
#include "encode/job.h"

#include "base/input_format.h"
#include "base/module_names.h"
#include "base/pooling_modes.h"
#include "protocol/json_fields.h"
#include "protocol/packed_blocks.h"
#include "protocol/row_fields.h"
#include "protocol/same_build.h"
#include "protocol/scan_json.h"

namespace encode {
namespace {

Json parse_job(const std::string& json) { return parse_document(json, kMaxJobBytes); }

}  // namespace

// JsonWriter and JsonReader find these functions by argument-dependent lookup. So the functions are
// in the namespace encode and not in an unnamed namespace.

constexpr auto names(TextFormat /*tag*/) { return kTextFormats; }
constexpr auto names(BadRowPolicy /*tag*/) { return kBadRowPolicies; }
constexpr auto names(EmptyRowPolicy /*tag*/) { return kEmptyRowPolicies; }
constexpr auto names(Utf8Policy /*tag*/) { return kUtf8Policies; }
constexpr auto names(MissingFieldPolicy /*tag*/) { return kMissingFieldPolicies; }
constexpr auto names(ComputeType /*tag*/) { return kComputeTypes; }
constexpr auto names(MatmulPrecision /*tag*/) { return kMatmulPrecisions; }
constexpr auto names(VectorPrecision /*tag*/) { return kVectorPrecisions; }
constexpr auto names(SpecialTokensRule /*tag*/) { return kSpecialTokensRules; }
constexpr auto names(TokenizerRecipe /*tag*/) { return kTokenizerRecipes; }
constexpr auto names(PassageUnit /*tag*/) { return kPassageUnits; }
constexpr auto names(PassageVectors /*tag*/) { return kPassageVectors; }
constexpr auto names(RowVector /*tag*/) { return kRowVectors; }
constexpr auto names(PoolingMode /*tag*/) { return kPoolingModes; }
constexpr auto names(DenseActivation /*tag*/) { return kDenseActivations; }
constexpr auto names(SentenceModule::Kind /*tag*/) { return kModuleKinds; }

ENCODE_FIELDS(InputFilter, where, paths, format, utf8, max_row_bytes)
ENCODE_FIELDS(InputOptions, path, more_paths, field, text_template, passage_field, missing_field,
              format, bad_row, empty_row, utf8, max_row_bytes, limit_rows, filter)
ENCODE_FIELDS(SpeedOptions, batch_size, batch_tokens, threads, tokenizer_threads, prefetch_bytes)
ENCODE_FIELDS(HardwareOptions, device, devices, all_devices, strict_numerics, expandable_segments,
              allocator_conf, synchronous_launches, max_restarts, worker_chunks, memory_limit_bytes,
              memory_pressure_percent)
ENCODE_FIELDS(EmbeddingCacheOptions, dir, memory_bytes, disk_bytes)
ENCODE_FIELDS(InputPart, path, first_row)
ENCODE_FIELDS(FileList, path, files, bytes, first_path, sha256, root)
ENCODE_FIELDS(ListedFiles, list, begin, end)
ENCODE_FIELDS(StreamIdentity, name, fingerprint, rows, dim, token_embeddings, passages, first_row,
              inputs, input_list, model, filtered)
ENCODE_FIELDS(ChunkOrigin, device, libtorch, driver, batch_tokens, products, kernels, cuda_numerics)
ENCODE_FIELDS(InputScan::File, path, first_row, bytes, sha256, inode, mtime_ns)
ENCODE_FIELDS(InputScan, rows_in, rows, rejected, filtered, filter_unknown, kept_xxh3_128, empty,
              blank, tokenized, utf8_replaced, text_bytes, frame_bytes, longest_bytes, files,
              listed, checkpoints, end_row)
ENCODE_FIELDS(FileKey, device, inode, size, mtime_ns, ctime_ns)
ENCODE_FIELDS(FileHash, name, bytes, sha256, settled_key)
ENCODE_FIELDS(TensorInfo, file, dtype, shape, offset_bytes, size_bytes, strides)
ENCODE_FIELDS(SentenceModule, kind, path, pooling, include_prompt, in_features, out_features, bias,
              residual, activation, tensors)
ENCODE_FIELDS(LateInteraction, marker, skip_words, unknown_token, drops_unknown_words)
ENCODE_FIELDS(TokenizerRules, special_tokens, recipe, lower_case_first)
ENCODE_FIELDS(PassageRule, max_tokens, overlap, by, vectors)
ENCODE_FIELDS(EffectiveResult, pooling, normalize, truncate_dim, modules, max_length, prompt,
              include_prompt, dtype, float32_matmul_precision, causal, dim, launch_tokens,
              vector_precision, late_interaction, tokenizer, ignore_custom_code, recipes, passages,
              row_vector)
ENCODE_FIELDS(JobUnit, identity, input, scan, speed, model_path, model_files, effective, chunk_rows,
              chunk_files, final_path, window_share, host_share, budget_limits, set_aside, probe,
              avoid, alone)
ENCODE_FIELDS(JobSpec, cache_dir, lock_token, lock_dir, hardware, embedding_cache, units,
              product_seconds, measure_refused, workers, required_kind, check_only)

// The plans of shards have scans. Those of inputs without a filter lack the fields of a filter,
// those without a field of passages its bytes, and those of unlisted files the list, as in versions
// that had none of these.
Json to_json(const InputScan& scan) {
  Json json = JsonWriter::to_value(in_job(scan));
  if (scan.frame_bytes == 0) json.erase("frame_bytes");
  if (scan.listed) {
    json["listed"]["list"].erase("path");
  } else {
    json.erase("listed");
  }
  if (!scan.kept_xxh3_128.empty()) return json;
  for (const char* field : {"filtered", "filter_unknown", "kept_xxh3_128"}) json.erase(field);
  return json;
}

InputScan in_job(const InputScan& scan) {
  InputScan short_scan = scan;
  if (scan.listed && !scan.listed->list.path.empty()) short_scan.files.clear();
  return short_scan;
}

InputScan scan_from_json(const Json& json) {
  const InputScan none;
  Json whole = json;
  if (whole.is_object()) {
    whole.emplace("frame_bytes", none.frame_bytes);
    whole.emplace("filtered", none.filtered);
    whole.emplace("filter_unknown", none.filter_unknown);
    whole.emplace("kept_xxh3_128", none.kept_xxh3_128);
    if (!whole.emplace("listed", Json()).second && whole["listed"].is_object() &&
        whole["listed"].contains("list"))
      whole["listed"]["list"].emplace("path", "");
  }
  return JsonReader::read<InputScan>(whole);
}

std::string job_schema() { return SchemaWriter::schema(JobSpec{}); }

std::string to_json(const JobSpec& spec) {
  try {
    Json job = JsonWriter::to_value(spec);
    job[kProtocolKey] = protocol_id();
    return job.dump() + "\n";
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
  return JsonReader::read<JobSpec>(parse_job(json));
}

JobSpec job_of_this_build(const std::string& json) {
  const Json job = parse_job(json);
  require_this_build(job);
  return JsonReader::read<JobSpec>(job);
}

}  // namespace encode
