// The keys that describe one stream.
#include <string>

#include "base/names.h"
#include "config/key_tables.h"
#include "config/key_values.h"

namespace encode {
namespace {

constexpr int64_t kMaxRows = 1'000'000'000'000;

std::vector<std::string> everywhere() { return {kSharedStreams, kSplitStreams, kSingleInput}; }

void set_paths(InputOptions& input, const Value& value) {
  input.more_paths.clear();
  if (const auto* path = std::get_if<std::string>(&value)) {
    input.path = *path;
    return;
  }
  const auto& paths = std::get<std::vector<std::string>>(value);
  input.path = paths.front();
  input.more_paths.assign(paths.begin() + 1, paths.end());
}

void set_batch_limit(int64_t& limit, bool& automatic, const Value& value) {
  automatic = is_auto(value);
  limit = integer_or_auto(value, 0);
}

// What is read.
std::vector<KeySpec> file_keys() {
  return {
      {.sections = {kSplitStreams, kSingleInput},
       .name = "file",
       .value = paths_of(1),
       .default_note = "required",
       .flags =
           {{.group = FlagGroup::kTexts,
             .place = 20,
             .name = "--input",
             .placeholder = "FILE",
             .help =
                 "Text file (txt, JSONL, JSON, CSV, TSV; also .gz, .zst), Parquet or Arrow file, "
                 "or a pattern in quotes such as 'data/part-*.parquet'; \"-\" is standard input"}},
       .help = "The input: a file, a pattern such as data/part-*.jsonl, a folder of "
               "datasets.save_to_disk, or a list of these; \"-\": standard input.",
       .set_stream = [](StreamConfig& s, const Value& v) { set_paths(s.input, v); }},
      {.sections = everywhere(),
       .name = "field",
       .value = text_of(0),
       .default_text = "",
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 30,
                  .name = "--field",
                  .placeholder = "NAME",
                  .help = "Where a row has its text. JSON: name or JSON pointer; CSV, TSV, "
                          "Parquet, Arrow: column"}},
       .help = "The text's field. JSON: a name or JSON pointer; CSV, TSV, Parquet, Arrow: a "
               "column; lines: empty.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.field = text(v); }},
      {.sections = everywhere(),
       .name = "format",
       .value = choice_of(names_of(kTextFormats)),
       .default_text = "auto",
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 40,
                  .name = "--format",
                  .help = "Format of the input; auto: by the suffix of its name"}},
       .help = "The format of the file; auto: by the suffix of its name.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.input.format = value_of(kTextFormats, text(v)); }},
  };
}

// What happens to its rows.
std::vector<KeySpec> row_keys() {
  return {
      {.sections = everywhere(),
       .name = "bad_row",
       .value = choice_of(names_of(kBadRowPolicies)),
       .default_text = "error",
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 50,
                  .name = "--bad-row",
                  .help = "A row that cannot be read ends the run (error), or is left out and "
                          "listed (reject)"}},
       .help = "error: a row that cannot be read ends the run; reject: it is left out and listed.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.input.bad_row = value_of(kBadRowPolicies, text(v)); }},
      {.sections = everywhere(),
       .name = "empty_row",
       .value = choice_of(names_of(kEmptyRowPolicies)),
       .default_text = "keep",
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 60,
                  .name = "--empty-row",
                  .help = "What happens to a row without text"}},
       .help = "A row of no bytes; spaces are text. keep: it is encoded; reject: it is left out; "
               "error: it ends the run.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.input.empty_row = value_of(kEmptyRowPolicies, text(v));
           }},
      {.sections = everywhere(),
       .name = "utf8",
       .value = choice_of(names_of(kUtf8Policies)),
       .default_text = "replace",
       .flags =
           {{.group = FlagGroup::kTexts,
             .place = 70,
             .name = "--utf8",
             .help = "Invalid UTF-8 becomes U+FFFD (replace), or makes the row a bad one (error)"}},
       .help = "Invalid UTF-8. replace: it becomes U+FFFD and is counted; error: the row is bad.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.input.utf8 = value_of(kUtf8Policies, text(v)); }},
      {.sections = everywhere(),
       .name = "max_row_bytes",
       .value = integer_of(1, 64 << 20),
       .default_text = "1048576",
       .no_flag = "rows of more than 1 MiB are rare",
       .help = "The most bytes of a row. A longer row is a bad row.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.max_row_bytes = integer(v); }},
      {.sections = everywhere(),
       .name = "limit_rows",
       .value = integer_of(0, kMaxRows),
       .default_text = "0",
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 80,
                  .name = "--limit-rows",
                  .help = "Most rows that are encoded; 0: all"}},
       .help = "The most rows that are encoded; 0: all.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.limit_rows = integer(v); }},
  };
}

}  // namespace

std::vector<KeySpec> input_keys() { return joined({file_keys(), row_keys()}); }

std::vector<KeySpec> stream_override_keys() {
  const std::vector<std::string> data_only = {kSharedStreams, kSplitStreams};
  return {
      {.sections = data_only,
       .name = "batch_size",
       .value = integer_or_auto_of(0, kMaxBatchRows),
       .default_note = "`semantic.batch_size`",
       .inherits = "semantic.batch_size",
       .no_flag = "`--batch-size` applies to every stream",
       .help = "The batch size of this stream.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             set_batch_limit(s.speed.batch_size, s.auto_batch.size, v);
           }},
      {.sections = data_only,
       .name = "batch_tokens",
       .value = integer_or_auto_of(0, kMaxBatchTokens),
       .default_note = "`semantic.batch_tokens`",
       .inherits = "semantic.batch_tokens",
       .no_flag = "`--batch-tokens` applies to every stream",
       .help = "The most tokens in a batch of this stream.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             set_batch_limit(s.speed.batch_tokens, s.auto_batch.tokens, v);
           }},
      {.sections = data_only,
       .name = "max_length",
       .value = max_length_value(),
       .default_note = "`semantic.max_length`",
       .inherits = "semantic.max_length",
       .no_flag = "`--max-length` applies to every stream",
       .help = "The most tokens of a row of this stream.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.max_length = optional<int64_t>(v); }},
      {.sections = data_only,
       .name = "prompt",
       .value = prompt_value(),
       .default_note = "`semantic.prompt`",
       .inherits = "semantic.prompt",
       .no_flag = "`--prompt` applies to every stream",
       .help = "The prompt of this stream. It replaces a prompt_name that applies to more streams.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.prompt = optional<std::string>(v); }},
      {.sections = data_only,
       .name = "prompt_name",
       .value = or_null(text_of(1)),
       .default_note = "`semantic.prompt_name`",
       .inherits = "semantic.prompt_name",
       .no_flag = "`--prompt-name` applies to every stream",
       .help = "The prompt name of this stream. It replaces a prompt that applies to more streams.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.result.prompt_name = optional<std::string>(v); }},
  };
}

}  // namespace encode
