#include "config/stream_keys.h"

#include <string>

#include "base/names.h"
#include "config/key_values.h"

namespace encode {
namespace {

constexpr int64_t kMaxRows = 1'000'000'000'000;

}  // namespace

std::vector<KeySpec> input_keys() {
  const std::vector<std::string> everywhere = {kSharedStreams, kSplitStreams, kSingleInput};
  return {
      {.sections = {kSplitStreams, kSingleInput},
       .name = "file",
       .value = text_of(1),
       .default_note = "required",
       .help = "Input file, plain, .gz or .zst; \"-\": standard input.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.path = text(v); }},
      {.sections = everywhere,
       .name = "field",
       .value = text_of(0),
       .default_text = "",
       .help = "JSONL: name or JSON pointer of the text; CSV and TSV: its column; lines: empty.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.field = text(v); }},
      {.sections = everywhere,
       .name = "format",
       .value = choice_of(names_of(kTextFormats)),
       .default_text = "auto",
       .help = "How the file becomes rows; auto: by the suffix of its name.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.input.format = value_of(kTextFormats, text(v)); }},
      {.sections = everywhere,
       .name = "bad_row",
       .value = choice_of(names_of(kBadRowPolicies)),
       .default_text = "error",
       .help =
           "A row that cannot be read ends the run (error), or is listed and left out (reject).",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.input.bad_row = value_of(kBadRowPolicies, text(v)); }},
      {.sections = everywhere,
       .name = "empty_row",
       .value = choice_of(names_of(kEmptyRowPolicies)),
       .default_text = "keep",
       .help = "What to do with a row without text.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.input.empty_row = value_of(kEmptyRowPolicies, text(v));
           }},
      {.sections = everywhere,
       .name = "utf8",
       .value = choice_of(names_of(kUtf8Policies)),
       .default_text = "replace",
       .help = "Invalid UTF-8 becomes U+FFFD and is counted (replace), or makes a bad row (error).",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.input.utf8 = value_of(kUtf8Policies, text(v)); }},
      {.sections = everywhere,
       .name = "max_row_bytes",
       .value = integer_of(1, 64 << 20),
       .default_text = "1048576",
       .help = "A longer row is a bad row.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.max_row_bytes = integer(v); }},
      {.sections = everywhere,
       .name = "limit_rows",
       .value = integer_of(0, kMaxRows),
       .default_text = "0",
       .help = "Rows that are read at most; 0: all.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.limit_rows = integer(v); }},
  };
}

std::vector<KeySpec> stream_override_keys() {
  const std::vector<std::string> data_only = {kSharedStreams, kSplitStreams};
  return {
      {.sections = data_only,
       .name = "batch_size",
       .value = integer_of(0, kMaxBatchRows),
       .default_note = "`semantic.batch_size`",
       .inherits = "semantic.batch_size",
       .help = "This stream's own batch size.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.speed.batch_size = integer(v); }},
      {.sections = data_only,
       .name = "batch_tokens",
       .value = integer_of(0, kMaxBatchTokens),
       .default_note = "`semantic.batch_tokens`",
       .inherits = "semantic.batch_tokens",
       .help = "This stream's own limit of tokens in a batch.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.speed.batch_tokens = integer(v); }},
      {.sections = data_only,
       .name = "max_length",
       .value = max_length_value(),
       .default_note = "`semantic.max_length`",
       .inherits = "semantic.max_length",
       .help = "This stream's own limit of tokens.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.max_length = optional<int64_t>(v); }},
      {.sections = data_only,
       .name = "prompt",
       .value = prompt_value(),
       .default_note = "`semantic.prompt`",
       .inherits = "semantic.prompt",
       .help = "This stream's own prompt; replaces a prompt_name that holds for more streams.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.prompt = optional<std::string>(v); }},
      {.sections = data_only,
       .name = "prompt_name",
       .value = or_null(text_of(1)),
       .default_note = "`semantic.prompt_name`",
       .inherits = "semantic.prompt_name",
       .help = "This stream's own prompt name; replaces a prompt that holds for more streams.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.prompt_name = optional<std::string>(v); }},
  };
}

}  // namespace encode
