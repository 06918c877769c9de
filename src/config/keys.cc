// The table of keys. To add a key, add an entry here. A test then fails, and its message says how
// to update docs/config.md and configs/schema.json.
#include <fmt/format.h>
#include <string>

#include "base/names.h"
#include "base/units.h"
#include "config/cache_keys.h"
#include "config/hardware_keys.h"
#include "config/key_values.h"
#include "config/schema.h"
#include "config/stream_keys.h"

namespace encode {
namespace {

std::vector<KeySpec> model_keys() {
  return {
      {.sections = {"semantic"},
       .name = "model",
       .value = text_of(1),
       .default_note = "required",
       .help = "A model directory, or a hub id that is in the local Hugging Face cache.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.result.model = text(v); }},
      {.sections = {"semantic"},
       .name = "revision",
       .value = or_null(text_of(1)),
       .default_text = "null",
       .help = "The revision of a hub id; null: main.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.revision = optional<std::string>(v); }},
      {.sections = {"semantic"},
       .name = "ignore_custom_code",
       .value = boolean_value(),
       .default_text = "false",
       .help = "true: a model directory that names Python code of its own (auto_map) is encoded as "
               "if it named none. The vectors may then differ from those of its author, so it "
               "counts as another result.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.ignore_custom_code = boolean(v); }},
  };
}

std::vector<KeySpec> precision_keys() {
  return {
      {.sections = {"semantic"},
       .name = "dtype",
       .value = choice_of(names_of(kComputeTypes)),
       .default_text = "float32",
       .help =
           "The type that the model computes in. The embeddings are always float32. int8 and fp8 "
           "are approximations. int8: float32, with matrix products of quantized operands; needs a "
           "processor with AVX2. fp8: bfloat16, with matrix products of operands "
           "quantized to 8-bit floats (e4m3); needs a GPU of compute capability 9.0 or "
           "above.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.result.dtype = parse_compute_type(text(v), "semantic.dtype");
           }},
      {.sections = {"semantic"},
       .name = "float32_matmul_precision",
       .value = choice_of(names_of(kMatmulPrecisions)),
       .default_text = "highest",
       .help = "The precision of float32 matrix products. highest: as exact as float32; high: with "
               "fewer bits of each factor if that is faster (AMX, CUDA).",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.result.float32_matmul_precision =
                 parse_matmul_precision(text(v), "semantic.float32_matmul_precision");
           }},
      {.sections = {"semantic"},
       .name = "vector_precision",
       .value = choice_of(names_of(kVectorPrecisions)),
       .default_text = "float32",
       .help = "float16: every value of a vector is rounded to the nearest float16 number. The "
               "embedding cache takes half the space then, in memory and on disk. It changes the "
               "vectors, so it counts as another result.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.result.vector_precision = value_of(kVectorPrecisions, text(v));
           }},
  };
}

std::vector<KeySpec> vector_keys() {
  return {
      {.sections = {"semantic"},
       .name = "pooling",
       .value = pooling_value(),
       .default_text = "null",
       .help =
           "How the vectors of the tokens become one vector; null: as the model directory says; "
           "none: every token keeps its vector, and OUT.offsets.npy says where the vectors of a "
           "row begin in the matrix.",
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
           "The number of columns that are kept, counted from the first one, for Matryoshka "
           "models; "
           "null: as the model directory says. A cut row is normalized again only with normalize: "
           "true.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.truncate_dim = optional<int64_t>(v); }},
      {.sections = {"semantic"},
       .name = "output_dtype",
       .value = output_type_value(),
       .default_text = "float32",
       .help = "The type of the final matrix. The values are those of quantize_embeddings of "
               "sentence-transformers. Chunks stay float32.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.store.final_format.type = parse_output_type(text(v), "semantic.output_dtype");
           }},
      {.sections = {"semantic"},
       .name = "quantization_ranges",
       .value = text_of(0),
       .default_text = "",
       .help =
           "For int8 and uint8: a .npy file of float32 [2, dim] with the lowest and the highest "
           "value of each column; empty: the ranges of the matrix itself.",
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
           "The most tokens of a row, special tokens included; null: as the model directory says."},
      {.sections = {"semantic"},
       .name = "prompt",
       .value = prompt_value(),
       .default_text = "null",
       .help = "Text that is put before every row. It excludes prompt_name."},
      {.sections = {"semantic"},
       .name = "prompt_name",
       .value = or_null(text_of(1)),
       .default_text = "null",
       .help = "The name of one of the model's own prompts. It excludes prompt."},
      {.sections = {"semantic"},
       .name = "causal",
       .value = or_null(boolean_value()),
       .default_text = "null",
       .help = "Whether a token sees only the tokens before it; null: as config.json says.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.result.causal = optional<bool>(v); }},
      {.sections = {"semantic"},
       .name = "special_tokens",
       .value = choice_of(names_of(kSpecialTokensRules)),
       .default_text = "by_class",
       .help =
           "The special tokens that every row gets. by_class: those that transformers gives it, "
           "for the class in tokenizer_config.json; as_in_tokenizer_json: those of the "
           "post-processor of tokenizer.json. It counts as another result.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.result.special_tokens = value_of(kSpecialTokensRules, text(v));
           }},
  };
}

std::vector<KeySpec> run_keys() {
  return {
      {.sections = {"semantic"},
       .name = "batch_size",
       .value = integer_or_auto_of(0, kMaxBatchRows),
       .default_text = "32",
       .help = "The limit of a batch, as a number of rows of max_length tokens; 0: no such limit; "
               "auto: "
               "the run chooses it. A batch of shorter rows has more rows. It changes the speed "
               "and the "
               "memory, never the numbers."},
      {.sections = {"semantic"},
       .name = "batch_tokens",
       .value = integer_or_auto_of(0, kMaxBatchTokens),
       .default_text = "0",
       .help =
           "The most tokens in a batch; 0: 16,384; auto: the run chooses it. The smaller of this "
           "limit and the limit of "
           "batch_size applies. On a GPU it is rounded down to whole launches of 2,048 to 16,384 "
           "tokens, which depend on the width of the model. On a CPU it is at most 512."},
      {.sections = {"semantic"},
       .name = "padding",
       .value = choice_of(names_of(kPaddingPolicies)),
       .default_text = "none",
       .help = "How the rows of a batch get one length. encode never pads: the rows of a batch are "
               "packed one after the other. longest and max_length are accepted, for configs of "
               "other programs, and change nothing but a note in the log.",
       .set_run = [](RunConfig& r,
                     const Value& v) { r.padding = value_of(kPaddingPolicies, text(v)); }},
      {.sections = {"semantic"},
       .name = "use_chunked_encoding",
       .value = boolean_value(),
       .default_text = "true",
       .help = "Encode in chunks that survive an interruption; false: the standard mode, which is "
               "one pass without chunk files.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.use_chunked_encoding = boolean(v); }},
      {.sections = {"semantic"},
       .name = "chunk_size",
       .value = integer_or_auto_of(0, 1'000'000'000),
       .default_text = fmt::to_string(kDefaultChunkRows),
       .help = "The number of rows in a chunk; 0: the default; auto: a number for each stream, so "
               "that a kill costs about a minute of work at most.",
       .set_run = [](RunConfig& r,
                     const Value& v) { r.store.chunk_size = integer_or_auto(v, kAutoChunkRows); }},
      {.sections = {"semantic"},
       .name = "save_chunks",
       .value = boolean_value(),
       .default_text = "true",
       .help = "Save every chunk when it is complete, so that a run can be resumed; false: the "
               "standard mode.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.save_chunks = boolean(v); }},
      {.sections = {"semantic"},
       .name = "keep_chunk_cache",
       .value = boolean_value(),
       .default_text = "false",
       .help = "Keep the chunk files of a finished stream, and the cache directory of a run with "
               "`output.file`.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.keep_chunk_cache = boolean(v); }},
      {.sections = {"semantic"},
       .name = "quarantine",
       .value = choice_of(names_of(kQuarantinePolicies)),
       .default_text = "error",
       .help = "What a final matrix has in place of a row that cannot be encoded. error: there is "
               "no final, all other rows are encoded and kept, and the run ends with exit code 65; "
               "zeros: a vector of zeros; drop: nothing, and the row is missing from the other "
               "streams of the split, too. A file beside the matrix lists the rows. A change of "
               "this key needs no model.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.store.quarantine = value_of(kQuarantinePolicies, text(v));
           }},
      {.sections = {"semantic"},
       .name = "cache_dir",
       .alias = "cache_directory",
       .value = text_of(1),
       .default_note = "with `output.file` x.npy: `.x.npy.cache` beside it, which a finished run "
                       "removes; else `cache/embeddings`",
       .help =
           "The directory of the chunks, the log and, without `output.file`, the final matrices.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.cache_dir = text(v); }},
      {.sections = {"semantic"},
       .name = "combine",
       .value = boolean_value(),
       .default_note = "`true` if `output.combine` is given, else `false`",
       .help = "Also write one matrix for each split that holds its streams side by side."},
  };
}

std::vector<KeySpec> output_keys() {
  return {
      {.sections = {"output"},
       .name = "file",
       .value = text_of(0),
       .default_text = "",
       .help =
           "The path of the final matrix, for a run with one stream. Its suffix states the "
           "format: .npy, .parquet, .arrow, .feather or .ipc; empty: the matrix is in the cache "
           "directory.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.output = text(v); }},
      {.sections = {"output"},
       .name = "format",
       .value = choice_of(names_of(kMatrixFormats)),
       .default_note = "by the suffix of `output.file`, else `npy`",
       .help = "The file format of the final matrices. parquet and arrow (an Arrow IPC file) are "
               "tables: the vectors are the column `embedding`. Combined matrices stay .npy files.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.store.final_format.file = value_of(kMatrixFormats, text(v));
           }},
      {.sections = {"output"},
       .name = "columns",
       .value = columns_value(),
       .default_text = "[]",
       .help =
           "The columns of a table before the vectors. row: the number of the row; text: its "
           "text; every other name is a field or a column of the input. NAME=FIELD renames it, as "
           "in name=/meta/package.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.store.final_format.columns.clear();
             for (const std::string& column : std::get<std::vector<std::string>>(v))
               r.store.final_format.columns.push_back(parse_table_column(column));
           }},
      {.sections = {"output"},
       .name = "combine",
       .value = {.type = ValueType::kNames,
                 .min = 2,
                 .max = 64,
                 .pattern = kNamePattern,
                 .example = "[tc, commit]"},
       .default_note =
           "with `semantic.combine: true`: all streams of the split, in the order of the config",
       .help = "The streams of the combined matrix, from left to right."},
      {.sections = {"log"},
       .name = "level",
       .value = choice_of({"trace", "debug", "info", "warning", "error"}),
       .default_text = "info",
       .help = "The least severe messages that are shown.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.level = text(v); }},
      {.sections = {"log"},
       .name = "file",
       .value = text_of(0),
       .default_text = "",
       .help = "The log file; empty: encode.log in the cache directory.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.file = text(v); }},
      {.sections = {"log"},
       .name = "json",
       .value = boolean_value(),
       .default_text = "false",
       .help = "Write JSON lines to standard output instead of text.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.json = boolean(v); }},
      {.sections = {"log"},
       .name = "progress",
       .value = boolean_value(),
       .default_text = "true",
       .help = "Show the progress, as a bar on a terminal and as plain lines elsewhere.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.progress = boolean(v); }},
  };
}

}  // namespace

const std::vector<KeySpec>& config_keys() {
  static const std::vector<KeySpec> keys = [] {
    std::vector<KeySpec> all;
    for (auto* part : {model_keys, precision_keys, vector_keys, token_keys, run_keys, cache_keys,
                       hardware_keys, input_keys, stream_override_keys, output_keys}) {
      for (KeySpec& key : part()) all.push_back(std::move(key));
    }
    return all;
  }();
  return keys;
}

}  // namespace encode
