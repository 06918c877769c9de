// The table of keys. A new key is one entry here; docs/config.md and configs/schema.json are then
// refreshed as the failing test says.
#include <string>

#include "base/names.h"
#include "config/key_values.h"
#include "config/schema.h"
#include "config/stream_keys.h"

namespace encode {
namespace {

constexpr int64_t kMaxThreads = 1024;

std::vector<KeySpec> model_keys() {
  return {
      {.sections = {"semantic"},
       .name = "model",
       .value = text_of(1),
       .default_note = "required",
       .help = "Model directory, or a hub id that is in the local Hugging Face cache.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.result.model = text(v); }},
      {.sections = {"semantic"},
       .name = "revision",
       .value = or_null(text_of(1)),
       .default_text = "null",
       .help = "Revision of a hub id; null: the one that the cache calls main.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.revision = optional<std::string>(v); }},
      {.sections = {"semantic"},
       .name = "dtype",
       .value = choice_of(names_of(kComputeTypes)),
       .default_text = "float32",
       .help =
           "Type that the model computes in. The embeddings are float32 in any case. int8: float32 "
           "with products of quantized operands, on processors with AMX or AVX512_VNNI, an "
           "approximation. fp8: bfloat16 with products of operands quantized to 8-bit floats "
           "(e4m3), on GPUs of compute capability 8.9 or 9.0 and above, an approximation.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.result.dtype = parse_compute_type(text(v), "semantic.dtype");
           }},
      {.sections = {"semantic"},
       .name = "float32_matmul_precision",
       .value = choice_of(names_of(kMatmulPrecisions)),
       .default_text = "highest",
       .help = "highest: float32 products as exact as float32 is; high: fewer bits of each factor "
               "where "
               "that is faster (AMX, CUDA).",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.result.float32_matmul_precision =
                 parse_matmul_precision(text(v), "semantic.float32_matmul_precision");
           }},
      {.sections = {"semantic"},
       .name = "pooling",
       .value = or_null(choice_of(names_of(kPoolingModes))),
       .default_text = "null",
       .help = "How token vectors become one vector; null: as the model directory says; none: they "
               "do not, and the matrix has a row for every token, beside OUT.offsets.npy.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.result.pooling.reset();
             if (const auto name = optional<std::string>(v)) {
               s.result.pooling = parse_pooling_mode(*name, "semantic.pooling");
             }
           }},
      {.sections = {"semantic"},
       .name = "normalize",
       .value = or_null(boolean_value()),
       .default_text = "null",
       .help = "Scale every vector to length 1; null: as the model directory says.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.normalize = optional<bool>(v); }},
      {.sections = {"semantic"},
       .name = "truncate_dim",
       .value = or_null(integer_of(1, 6 << 14)),
       .default_text = "null",
       .help =
           "Columns of an embedding that are kept, the first ones, for Matryoshka models; null: as "
           "the model directory says. A cut row is normalized again only with normalize: true.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.truncate_dim = optional<int64_t>(v); }},
      {.sections = {"semantic"},
       .name = "output_dtype",
       .value = output_type_value(),
       .default_text = "float32",
       .help =
           "Type of the final matrix, as quantize_embeddings of sentence-transformers makes it; "
           "chunks stay float32.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.store.final_format.type = parse_output_type(text(v), "semantic.output_dtype");
           }},
      {.sections = {"semantic"},
       .name = "quantization_ranges",
       .value = text_of(0),
       .default_text = "",
       .help =
           "For int8 and uint8: .npy of float32 [2, dim], the lowest and the highest value of each "
           "column; empty: those of all rows of the matrix.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.final_format.ranges_file = text(v); }},
  };
}

std::vector<KeySpec> token_keys() {
  return {
      {.sections = {"semantic"},
       .name = "max_length",
       .value = max_length_value(),
       .default_text = "null",
       .help =
           "Tokens of a row at most, special tokens included; null: as the model directory says."},
      {.sections = {"semantic"},
       .name = "prompt",
       .value = prompt_value(),
       .default_text = "null",
       .help = "Text put before every row. Not together with prompt_name."},
      {.sections = {"semantic"},
       .name = "prompt_name",
       .value = or_null(text_of(1)),
       .default_text = "null",
       .help = "Name of one of the model's own prompts. Not together with prompt."},
      {.sections = {"semantic"},
       .name = "causal",
       .value = or_null(boolean_value()),
       .default_text = "null",
       .help = "Whether a token sees only the tokens before it; null: as config.json says.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.result.causal = optional<bool>(v); }},
  };
}

std::vector<KeySpec> run_keys() {
  return {
      {.sections = {"semantic"},
       .name = "batch_size",
       .value = integer_of(0, kMaxBatchRows),
       .default_text = "32",
       .help =
           "Limit of a batch, in rows of max_length tokens each: a batch holds at most as many "
           "tokens as these rows, and so more rows when the rows are shorter; 0: no such limit. "
           "It changes the speed and the memory, never the numbers."},
      {.sections = {"semantic"},
       .name = "batch_tokens",
       .value = integer_of(0, kMaxBatchTokens),
       .default_text = "0",
       .help =
           "Tokens in a batch at most; 0: 16,384. The smaller one of this limit and the limit by "
           "batch_size holds. A GPU rounds it to whole launches, whose size goes by the model's "
           "width; on a CPU no batch is larger than 512 tokens.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.speed.batch_tokens = integer(v); }},
      {.sections = {"semantic"},
       .name = "use_chunked_encoding",
       .value = boolean_value(),
       .default_text = "true",
       .help = "Encode in chunks that survive an interruption; false: the standard mode, one pass.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.use_chunked_encoding = boolean(v); }},
      {.sections = {"semantic"},
       .name = "chunk_size",
       .value = integer_of(0, 1'000'000'000),
       .default_text = std::to_string(kDefaultChunkRows),
       .help = "Rows in a chunk; 0: the default.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.chunk_size = integer(v); }},
      {.sections = {"semantic"},
       .name = "save_chunks",
       .value = boolean_value(),
       .default_text = "true",
       .help = "Save every chunk at once, so that a run can be resumed.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.save_chunks = boolean(v); }},
      {.sections = {"semantic"},
       .name = "keep_chunk_cache",
       .value = boolean_value(),
       .default_text = "false",
       .help = "Keep the chunk files of a finished stream.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.keep_chunk_cache = boolean(v); }},
      {.sections = {"semantic"},
       .name = "cache_dir",
       .alias = "cache_directory",
       .value = text_of(1),
       .default_note = "`<output.file>.cache`, else `cache/embeddings`",
       .help = "Directory of chunks, logs and, without `output.file`, the final matrices.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.cache_dir = text(v); }},
      {.sections = {"semantic"},
       .name = "combine",
       .value = boolean_value(),
       .default_note = "`true` where `output.combine` is given, else `false`",
       .help = "Also write one matrix per split that holds the streams side by side."},
  };
}

std::vector<KeySpec> hardware_keys() {
  return {
      {.sections = {"hardware"},
       .name = "device",
       .value = device_value(),
       .default_text = "auto",
       .help = "auto takes the first GPU, and the CPU where there is none.",
       .set_run = [](RunConfig& r, const Value& v) { r.hardware.device = text(v); }},
      {.sections = {"hardware"},
       .name = "strict_numerics",
       .value = boolean_value(),
       .default_text = "false",
       .help = "true: a run does not go on with chunks of another kind of device, or of another "
               "version of LibTorch or of the driver; false: it warns.",
       .set_run = [](RunConfig& r, const Value& v) { r.hardware.strict_numerics = boolean(v); }},
      {.sections = {"hardware"},
       .name = "threads",
       .value = integer_of(0, kMaxThreads),
       .default_text = "0",
       .help = "Compute threads on the CPU; 0: as many as the container may use.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.speed.threads = integer(v); }},
      {.sections = {"hardware"},
       .name = "tokenizer_threads",
       .value = integer_of(0, kMaxThreads),
       .default_text = "0",
       .help = "Threads that tokenize ahead; 0: chosen.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.speed.tokenizer_threads = integer(v); }},
      {.sections = {"hardware"},
       .name = "prefetch_bytes",
       .value = integer_of(1 << 20, int64_t{1} << 40),
       .default_text = "268435456",
       .help = "Host memory for texts and token ids that are read ahead.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.speed.prefetch_bytes = integer(v); }},
      {.sections = {"hardware"},
       .name = "max_restarts",
       .value = integer_of(0, 1000),
       .default_text = "5",
       .help = "Restarts of a worker that makes no progress.",
       .set_run = [](RunConfig& r, const Value& v) { r.hardware.max_restarts = integer(v); }},
      {.sections = {"hardware.allocator"},
       .name = "expandable_segments",
       .value = boolean_value(),
       .default_text = "true",
       .help = "Let the CUDA allocator grow its segments, against fragmentation.",
       .set_run = [](RunConfig& r,
                     const Value& v) { r.hardware.expandable_segments = boolean(v); }},
      {.sections = {"hardware.allocator"},
       .name = "conf",
       .value = text_of(0),
       .default_text = "",
       .help = "More settings in the syntax of PYTORCH_ALLOC_CONF; they beat expandable_segments.",
       .set_run = [](RunConfig& r, const Value& v) { r.hardware.allocator_conf = text(v); }},
  };
}

std::vector<KeySpec> output_keys() {
  return {
      {.sections = {"output"},
       .name = "file",
       .value = text_of(0),
       .default_text = "",
       .help = "Path of the final matrix of a run with one stream; empty: in the cache directory.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.output = text(v); }},
      {.sections = {"output"},
       .name = "combine",
       .value = {.type = ValueType::kNames, .min = 2, .max = 64, .pattern = kNamePattern},
       .default_text = "[tc, commit]",
       .help = "Streams that stand side by side in the combined matrix, in this order."},
      {.sections = {"log"},
       .name = "level",
       .value = choice_of({"trace", "debug", "info", "warning", "error"}),
       .default_text = "info",
       .help = "The least grave message that is shown.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.level = text(v); }},
      {.sections = {"log"},
       .name = "file",
       .value = text_of(0),
       .default_text = "",
       .help = "Log file; empty: encode.log in the cache directory.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.file = text(v); }},
      {.sections = {"log"},
       .name = "json",
       .value = boolean_value(),
       .default_text = "false",
       .help = "JSON lines on standard output instead of text.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.json = boolean(v); }},
      {.sections = {"log"},
       .name = "progress",
       .value = boolean_value(),
       .default_text = "true",
       .help = "Show progress: a bar on a terminal, plain lines elsewhere.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.progress = boolean(v); }},
  };
}

}  // namespace

const std::vector<KeySpec>& config_keys() {
  static const std::vector<KeySpec> keys = [] {
    std::vector<KeySpec> all;
    for (auto* part : {model_keys, token_keys, run_keys, hardware_keys, input_keys,
                       stream_override_keys, output_keys}) {
      for (KeySpec& key : part()) all.push_back(std::move(key));
    }
    return all;
  }();
  return keys;
}

}  // namespace encode
