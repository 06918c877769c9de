// The keys that describe one stream.
#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "base/input_format.h"
#include "base/names.h"
#include "base/where_filter.h"
#include "config/key_tables.h"
#include "config/key_values.h"

namespace encode {
namespace {

constexpr int64_t kMaxRows = 1'000'000'000'000;

std::vector<std::string> everywhere() { return {kSharedStreams, kSplitStreams, kSingleInput}; }

ValueSpec filter_value() {
  return {.type = ValueType::kText, .min = 0, .max = static_cast<int64_t>(WhereFilter::kMostBytes)};
}

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

// The keys that say what is read.
std::vector<KeySpec> file_keys() {
  return {
      {.sections = {kSplitStreams, kSingleInput},
       .name = "file",
       .value = paths_of(1),
       .default_note = "required",
       .flags = {{.group = FlagGroup::kMain,
                  .place = 20,
                  .name = "--input",
                  .placeholder = "FILE",
                  .help =
                      fmt::format("Text file ({}; also .gz, .zst), {} file, or a pattern in quotes "
                                  "such as 'data/part-*.parquet'; \"-\" is standard input",
                                  text_titles(), columnar_titles())}},
       .help = "The input: a file, a pattern such as data/part-*.jsonl, a folder of "
               "datasets.save_to_disk, or a list of these; \"-\": standard input.",
       .set_stream = [](StreamConfig& s, const Value& v) { set_paths(s.input, v); }},
      {.sections = everywhere(),
       .name = "field",
       .value = text_of(0),
       .default_text = "",
       .flags = {{.group = FlagGroup::kMain,
                  .place = 30,
                  .name = "--field",
                  .placeholder = "NAME",
                  .help = field_flag_help()}},
       .help = fmt::format("The field that has the text. JSON: a name or JSON pointer; {}: a "
                           "column; {}: empty.",
                           column_titles(), fieldless_names()),
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.field = text(v); }},
      {.sections = everywhere(),
       .name = "text",
       .value = text_of(0),
       .default_text = "",
       .flags = {{.group = FlagGroup::kMain,
                  .place = 35,
                  .name = "--text",
                  .placeholder = "TEMPLATE",
                  .help = text_flag_help()}},
       .help = "In place of field: the text, made from several fields as in \"title: {title} | "
               "text: {/body/main}\"; {{ and }} are braces.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.text_template = text(v); }},
      {.sections = everywhere(),
       .name = "missing_field",
       .value = choice_of(names_of(kMissingFieldPolicies)),
       .default_text = default_of(kMissingFieldPolicies, InputOptions().missing_field),
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 55,
                  .name = "--missing-field",
                  .help = "A field that a row does not have, or that is null, makes the row one "
                          "that cannot be read (error), or is left empty (empty)"}},
       .help = "A field of the text that a row does not have, or that is null. error: the row is "
               "bad; empty: nothing stands in its place.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.input.missing_field = value_of(kMissingFieldPolicies, text(v));
           }},
      {.sections = everywhere(),
       .name = "where",
       .value = filter_value(),
       .default_text = "",
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 45,
                  .name = "--where",
                  .placeholder = "FILTER",
                  .help = where_flag_help()}},
       .help =
           "The filter of the rows, as in lang == \"en\" and length(text) > 20: only records for "
           "which it is true are encoded. One stream of a split has it; the others keep the same "
           "records.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.filter.where = text(v); }},
      {.sections = everywhere(),
       .name = "format",
       .value = choice_of(names_of(kTextFormats)),
       .default_text = default_of(kTextFormats, InputOptions().format),
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 40,
                  .name = "--format",
                  .help = "Format of the input; auto: by the suffix of its name"}},
       .help = "The format of the file; auto: by the suffix of its name.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.input.format = value_of(kTextFormats, text(v)); }},
  };
}

// The keys that say what happens to the rows.
std::vector<KeySpec> row_keys() {
  return {
      {.sections = everywhere(),
       .name = "bad_row",
       .value = choice_of(names_of(kBadRowPolicies)),
       .default_text = default_of(kBadRowPolicies, InputOptions().bad_row),
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 50,
                  .name = "--bad-row",
                  .help = "A row that cannot be read ends the run (error), or is left out and "
                          "listed in a file (reject)"}},
       .help = "error: a row that cannot be read ends the run; reject: it is left out and listed.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.input.bad_row = value_of(kBadRowPolicies, text(v)); }},
      {.sections = everywhere(),
       .name = "empty_row",
       .value = choice_of(names_of(kEmptyRowPolicies)),
       .default_text = default_of(kEmptyRowPolicies, InputOptions().empty_row),
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 60,
                  .name = "--empty-row",
                  .help = "A row without text gets an embedding (keep), is left out (reject) or "
                          "ends the run (error)"}},
       .help = "A row of no bytes; spaces are text. keep: it is encoded; reject: it is left out; "
               "error: it ends the run.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             s.input.empty_row = value_of(kEmptyRowPolicies, text(v));
           }},
      {.sections = everywhere(),
       .name = "utf8",
       .value = choice_of(names_of(kUtf8Policies)),
       .default_text = default_of(kUtf8Policies, InputOptions().utf8),
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 70,
                  .name = "--utf8",
                  .help =
                      "Invalid UTF-8 becomes U+FFFD (replace), or makes the row one that cannot be "
                      "read (error)"}},
       .help = "Invalid UTF-8. replace: it becomes U+FFFD and is counted; error: the row is bad.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { s.input.utf8 = value_of(kUtf8Policies, text(v)); }},
      {.sections = everywhere(),
       .name = "max_row_bytes",
       .value = integer_of(1, 64 << 20),
       .default_text = default_of(InputOptions().max_row_bytes),
       .no_flag = "rows of more than 1 MiB are rare",
       .help = "The most bytes of a row. A longer row is a bad row.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.max_row_bytes = integer(v); }},
      {.sections = everywhere(),
       .name = "limit_rows",
       .value = integer_of(0, kMaxRows),
       .default_text = default_of(InputOptions().limit_rows),
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 80,
                  .name = "--limit-rows",
                  .help = "Encode only this number of rows, from the first one; 0: all"}},
       .help = "The number of rows that are encoded, from the first one; 0: all.",
       .set_stream = [](StreamConfig& s, const Value& v) { s.input.limit_rows = integer(v); }},
  };
}

// A key of a stream that replaces the key of `semantic` with the same name.
KeySpec override_of(const std::string& name, ValueSpec value, std::string help,
                    void (*set)(StreamConfig&, const Value&)) {
  std::string flag = name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return {.sections = {kSharedStreams, kSplitStreams},
          .name = name,
          .value = std::move(value),
          .default_note = fmt::format("`semantic.{}`", name),
          .inherits = "semantic." + name,
          .no_flag = fmt::format("`--{}` applies to every stream", flag),
          .help = std::move(help),
          .set_stream = set};
}

}  // namespace

std::vector<KeySpec> input_keys() { return joined({file_keys(), row_keys()}); }

std::vector<KeySpec> stream_override_keys() {
  return {
      override_of("batch_size", integer_or_auto_of(0, kMaxBatchRows),
                  "The batch size of this stream.",
                  [](StreamConfig& s, const Value& v) {
                    set_batch_limit(s.speed.batch_size, s.auto_batch.size, v);
                  }),
      override_of("batch_tokens", integer_or_auto_of(0, kMaxBatchTokens),
                  "The most tokens in a batch of this stream.",
                  [](StreamConfig& s, const Value& v) {
                    set_batch_limit(s.speed.batch_tokens, s.auto_batch.tokens, v);
                  }),
      override_of(
          "max_length", max_length_value(), "The most tokens of a row of this stream.",
          [](StreamConfig& s, const Value& v) { s.result.max_length = optional<int64_t>(v); }),
      override_of(
          "prompt", prompt_value(),
          "The prompt of this stream. It replaces a prompt_name that applies to more streams.",
          [](StreamConfig& s, const Value& v) { s.result.prompt = optional<std::string>(v); }),
      override_of(
          "prompt_name", or_null(text_of(1)),
          "The prompt name of this stream. It replaces a prompt that applies to more streams.",
          [](StreamConfig& s, const Value& v) { s.result.prompt_name = optional<std::string>(v); }),
  };
}

}  // namespace encode
