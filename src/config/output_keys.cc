// The keys of the matrices and of the messages.
#include <fmt/format.h>
#include <string>

#include "base/names.h"
#include "base/output_format.h"
#include "config/key_tables.h"
#include "config/key_values.h"

namespace encode {
namespace {

std::vector<KeySpec> matrix_keys() {
  return {
      {.sections = {"output"},
       .name = "file",
       .value = text_of(0),
       .default_text = "",
       .flags = {{.group = FlagGroup::kMain,
                  .place = 40,
                  .name = "--output",
                  .placeholder = "FILE",
                  .help = fmt::format(
                      "File for the embeddings, a row for each text; its suffix decides the "
                      "format: {} (default: a .npy file in --cache-dir)",
                      matrix_suffixes())}},
       .help = fmt::format(
           "The file for the embeddings, for a run with one stream. Its suffix decides the "
           "format: {}; empty: the matrix is in the cache directory.",
           matrix_suffixes()),
       .set_run = [](RunConfig& r, const Value& v) { r.store.output = text(v); }},
      {.sections = {"output"},
       .name = "format",
       .value = choice_of(names_of(kMatrixFormats)),
       .default_note = "by the suffix of `output.file`, else `npy`",
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 100,
                  .name = "--output-format",
                  .help = "Format of the output in --cache-dir, if there is no --output "
                          "(default: npy)"}},
       .help = "The file format of the output. parquet and arrow (an Arrow IPC file) are "
               "tables: the vectors are the column `embedding`. Combined matrices stay .npy files.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.store.final_format.file = value_of(kMatrixFormats, text(v));
           }},
      {.sections = {"output"},
       .name = "columns",
       .value = columns_value(),
       .default_text = "[]",
       .flags = {{.group = FlagGroup::kMain,
                  .place = 50,
                  .name = "--columns",
                  .placeholder = "LIST",
                  .help = "Columns to copy into a .parquet or .arrow output beside the embeddings, "
                          "as in row,text,name=/a/b: row, text, or fields of the input, with NAME= "
                          "to rename one"}},
       .help = "The columns that a .parquet or .arrow output has before the embeddings. row: the "
               "number of the row; text: its text; every other name is a field or a column of the "
               "input. NAME=FIELD renames it, as in name=/meta/package.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.store.final_format.columns.clear();
             for (const std::string& column : std::get<std::vector<std::string>>(v))
               r.store.final_format.columns.push_back(parse_table_column(column));
           }},
      {.sections = {"output"},
       .name = "parts",
       .value = choice_of(names_of(kOutputParts)),
       .default_text = default_of(kOutputParts, StoreOptions().parts),
       .no_flag = "`encode merge` and `encode slurm` have `--parts`",
       .help =
           "How encode merge publishes the rows of shards. many: a file for each shard, without "
           "a copy; one: one .npy file, which is a copy.",
       .set_run = [](RunConfig& r,
                     const Value& v) { r.store.parts = value_of(kOutputParts, text(v)); }},
      {.sections = {"output"},
       .name = "combine",
       .value = {.type = ValueType::kNames,
                 .min = 2,
                 .max = 64,
                 .pattern = kNamePattern,
                 .example = "[tc, commit]"},
       .default_note =
           "with `semantic.combine: true`: all streams of the split, in the order of the config",
       .no_flag = "only a config has several streams",
       .help = "The streams of the combined matrix, from left to right."},
  };
}

std::vector<KeySpec> log_keys() {
  return {
      {.sections = {"log"},
       .name = "level",
       .value = choice_of({"trace", "debug", "info", "warning", "error"}),
       .default_text = LogOptions().level,
       .flags = {{.group = FlagGroup::kMessages,
                  .place = 20,
                  .name = "--log-level",
                  .help = "Least severe messages to show"},
                 {.group = FlagGroup::kMessages,
                  .place = 30,
                  .name = "--quiet",
                  .fixed = "error",
                  .help = "Show only errors"}},
       .help = "The least severe messages that are shown.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.level = text(v); }},
      {.sections = {"log"},
       .name = "file",
       .value = text_of(0),
       .default_text = "",
       .no_flag = "the cache directory has the log",
       .help = "The log file; empty: encode.log in the cache directory.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.file = text(v); }},
      {.sections = {"log"},
       .name = "json",
       .value = boolean_value(),
       .default_text = default_of(LogOptions().json),
       .flags = {{.group = FlagGroup::kMessages,
                  .place = 10,
                  .name = "--json",
                  .fixed = "true",
                  .help = "Write JSON lines to standard output instead of text"}},
       .help = "Write JSON lines to standard output instead of text.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.json = boolean(v); }},
      {.sections = {"log"},
       .name = "progress",
       .value = boolean_value(),
       .default_text = default_of(LogOptions().progress),
       .flags = {{.group = FlagGroup::kMessages,
                  .place = 40,
                  .name = "--no-progress",
                  .fixed = "false",
                  .help = "Show no progress"}},
       .help = "Show the progress, as a bar on a terminal and as plain lines elsewhere.",
       .set_run = [](RunConfig& r, const Value& v) { r.log.progress = boolean(v); }},
  };
}

}  // namespace

std::vector<KeySpec> output_keys() { return joined({matrix_keys(), log_keys()}); }

}  // namespace encode
