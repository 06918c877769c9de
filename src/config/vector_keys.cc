// The keys of the model, and of what decides its vectors.
#include <fmt/format.h>
#include <string>

#include "base/names.h"
#include "base/output_types.h"
#include "config/key_tables.h"
#include "config/key_values.h"

namespace encode {
namespace {

std::vector<KeySpec> model_keys() {
  return {
      {.sections = {"semantic"},
       .name = "model",
       .value = text_of(1),
       .default_note = "required",
       .flags = {{.group = FlagGroup::kMain,
                  .place = 10,
                  .name = "--model",
                  .placeholder = "DIR",
                  .help = "Directory of the model, or its Hugging Face id (org/name) if `encode "
                          "pull` or a Python library has downloaded it"}},
       .help =
           "The directory of the model, or its Hugging Face id (org/name) if `encode pull` or a "
           "Python library has downloaded it into the Hugging Face cache.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.result.model = text(v); }},
      {.sections = {"semantic"},
       .name = "revision",
       .value = or_null(text_of(1)),
       .default_text = "null",
       .no_flag = "a pinned revision belongs to a config, which is kept",
       .help = "The revision of a hub id; null: main.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.revision = optional<std::string>(v); }},
      {.sections = {"semantic"},
       .name = "ignore_custom_code",
       .value = boolean_value(),
       .default_text = default_of(ResultOptions().ignore_custom_code),
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 130,
                  .name = "--ignore-custom-code",
                  .fixed = "true",
                  .help = "Encode a model that comes with Python code (trust_remote_code) "
                          "without that code"}},
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
       .default_text = default_of(kComputeTypes, ResultOptions().dtype),
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 10,
                  .name = "--dtype",
                  .help = "Type that the model computes in; int8 and fp8 are approximations"}},
       .help =
           "The type that the model computes in. Each of them gives float32 vectors; output_dtype "
           "is the type in which the vectors are written. int8 and fp8 are approximations. int8: "
           "float32, with matrix products of quantized operands; needs a processor with AVX2 or of "
           "64-bit ARM. fp8: bfloat16, with matrix products of operands quantized to 8-bit floats "
           "(e4m3); needs a GPU of compute capability 9.0 or above.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.result.dtype = parse_compute_type(text(v), "semantic.dtype");
           }},
      {.sections = {"semantic"},
       .name = "float32_matmul_precision",
       .value = choice_of(names_of(kMatmulPrecisions)),
       .default_text = default_of(kMatmulPrecisions, ResultOptions().float32_matmul_precision),
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 20,
                  .name = "--float32-matmul-precision",
                  .help = "Precision of float32 matrix products; high may be faster"}},
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
       .default_text = default_of(kVectorPrecisions, ResultOptions().vector_precision),
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 30,
                  .name = "--vector-precision",
                  .help = "Round the values of the embeddings to this type; float16 halves the "
                          "size of the embedding cache"}},
       .help = "float16: every value of a vector is rounded to the nearest float16 number. The "
               "embedding cache takes half the space then, in memory and on disk. It changes the "
               "vectors, so it counts as another result.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.result.vector_precision = value_of(kVectorPrecisions, text(v));
           }},
  };
}

std::vector<KeySpec> output_vector_keys() {
  return {
      {.sections = {"semantic"},
       .name = "pooling",
       .value = pooling_value(),
       .default_text = "null",
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 40,
                  .name = "--pooling",
                  .help =
                      "How token embeddings become one embedding; none: keep one for each token "
                      "(default: as the model says)"}},
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
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 50,
                  .name = "--normalize",
                  .fixed = "true",
                  .help = "Scale every embedding to length 1 (default: as the model says)"},
                 {.group = FlagGroup::kVectors,
                  .place = 60,
                  .name = "--no-normalize",
                  .fixed = "false",
                  .help = "Do not scale the embeddings to length 1"}},
       .help = "Scale every vector to length 1; null: as the model directory says.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.normalize = optional<bool>(v); }},
      {.sections = {"semantic"},
       .name = "truncate_dim",
       .value = or_null(integer_of(1, kDirectoryPoolings.size() << 14)),
       .default_text = "null",
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 70,
                  .name = "--truncate-dim",
                  .help = "Number of dimensions to keep, from the first one (Matryoshka models; "
                          "default: as the model says)"}},
       .help = "The number of columns that are kept, counted from the first one, for Matryoshka "
               "models; null: as the model directory says. A cut row is normalized again only with "
               "normalize: true.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.truncate_dim = optional<int64_t>(v); }},
      {.sections = {"semantic"},
       .name = "output_dtype",
       .value = output_type_value(),
       .default_text = default_of(kOutputTypes, FinalFormat().type),
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 80,
                  .name = "--output-dtype",
                  .help = fmt::format("Type of the values in the output; {} are quantized",
                                      quantized_types_in_words())}},
       .help = "The type of the values in the output. They are those of quantize_embeddings of "
               "sentence-transformers. Chunks stay float32.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.store.final_format.type = parse_output_type(text(v), "semantic.output_dtype");
           }},
      {.sections = {"semantic"},
       .name = "quantization_ranges",
       .value = text_of(0),
       .default_text = "",
       .no_flag = "few runs have ranges of their own",
       .help = fmt::format(
           "For {}: a .npy file of float32 [2, dim] with the lowest and the highest value of each "
           "column; empty: the ranges of the matrix itself.",
           ranged_types_in_words()),
       .set_run = [](RunConfig& r, const Value& v) { r.store.final_format.ranges_file = text(v); }},
  };
}

std::vector<KeySpec> token_keys() {
  return {
      {.sections = {"semantic"},
       .name = "max_length",
       .value = max_length_value(),
       .default_text = "null",
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 90,
                  .name = "--max-length",
                  .help = "Most tokens of a row, special tokens included; what is longer is cut "
                          "(default: as the model says)"}},
       .help =
           "The most tokens of a row, special tokens included; null: as the model directory says."},
      {.sections = {"semantic"},
       .name = "prompt",
       .value = prompt_value(),
       .default_text = "null",
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 100,
                  .name = "--prompt",
                  .placeholder = "TEXT",
                  .help = "Text to put before every row, such as 'query: '"}},
       .help = "Text that is put before every row. It excludes prompt_name."},
      {.sections = {"semantic"},
       .name = "prompt_name",
       .value = or_null(text_of(1)),
       .default_text = "null",
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 110,
                  .name = "--prompt-name",
                  .placeholder = "NAME",
                  .help = "Name of a prompt that the model defines, to put before every row"}},
       .help = "The name of one of the model's own prompts. It excludes prompt."},
      {.sections = {"semantic"},
       .name = "causal",
       .value = or_null(boolean_value()),
       .default_text = "null",
       .no_flag = "`config.json` of the model says it",
       .help = "Whether a token sees only the tokens before it; null: as config.json says.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.result.causal = optional<bool>(v); }},
      {.sections = {"semantic"},
       .name = "special_tokens",
       .value = choice_of(names_of(kSpecialTokensRules)),
       .default_text = default_of(kSpecialTokensRules, ResultOptions().special_tokens),
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 120,
                  .name = "--special-tokens",
                  .help = "Add the special tokens of the tokenizer's class in transformers, or "
                          "those of tokenizer.json"}},
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

}  // namespace

std::vector<KeySpec> vector_keys() {
  return joined({model_keys(), precision_keys(), output_vector_keys(), token_keys()});
}

}  // namespace encode
