#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <set>

#include "base/foreign_input.h"
#include "base/input_format.h"
#include "base/names.h"
#include "base/output_format.h"
#include "base/text_template.h"
#include "base/units.h"
#include "config/resolve.h"
#include "config/schema.h"

namespace encode {
namespace {

void check_names(const RunConfig& run, const std::vector<StreamPlace>& places) {
  std::map<std::string, std::string> seen;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto [other, added] = seen.emplace(run.streams[i].name(), places[i].where);
    if (added) continue;
    throw Error({.code = "config.conflict",
                 .what = "two streams would write the same files",
                 .where = places[i].where,
                 .expected = "a different name <split>_<stream> for each stream",
                 .found = fmt::format("'{}', the same as at {}", other->first, other->second),
                 .hint = "rename the split or the stream"});
  }
}

// Refuses a stream with the name "combined", because <split>_combined is the name of the combined
// matrix of a split.
void check_reserved_name(const std::vector<StreamPlace>& places) {
  for (const StreamPlace& place : places) {
    if (place.stream != "combined") continue;
    throw Error({.code = "config.conflict",
                 .what = "a stream has the name of the combined matrix",
                 .where = place.where,
                 .expected = "another name, because semantic.combine is true",
                 .found = "'combined'",
                 .hint = "rename the stream"});
  }
}

Origin origin_of(const StreamPlace& place) {
  return {.where = place.where, .exit_code = place.exit_code};
}

Error format_conflict(const Origin& origin, std::string what, std::string expected,
                      const std::string& found) {
  return Error({.code = "config.conflict",
                .exit_code = origin.exit_code,
                .what = std::move(what),
                .where = origin.where,
                .expected = std::move(expected),
                .found = fmt::format("'{}'", preview(found)),
                .hint = "give the others to a stream of their own"});
}

// Adds the place of the input, and the exit code for this place.
Error error_of_input(const Origin& origin, ErrorDetail detail) {
  detail.exit_code = origin.exit_code;
  detail.where = origin.where;
  return Error(std::move(detail));
}

// Returns true if the run guesses the format of standard input.
bool is_guessed(const InputOptions& input) {
  return input.is_standard_input() && input.more_paths.empty() && input.format == TextFormat::kAuto;
}

// Refuses a path without the suffix of a format, and paths of different formats, because an input
// has one kind of fields.
void check_format(const InputOptions& input, const Origin& origin) {
  const TextFormat format = input_format(input).format;
  if (is_guessed(input)) return;
  std::vector<std::string> paths = input.more_paths;
  paths.insert(paths.begin(), input.path);
  for (const std::string& path : paths) {
    if (path == "-" && paths.size() > 1)
      throw format_conflict(origin, "standard input cannot be one of several files", "files", path);
    InputOptions of_path = input;
    of_path.path = path;
    const TextFormat other = input_format(of_path).format;
    if (other != TextFormat::kAuto && other != format && format != TextFormat::kAuto)
      throw format_conflict(origin, "the files of an input have different formats",
                            "files of one format", path);
    if (other != TextFormat::kAuto) continue;
    refuse_foreign_input(path, origin.where);
    throw Error(
        {.code = "config.required",
         .exit_code = origin.exit_code,
         .what = "the input needs a format",
         .where = origin.where,
         .expected = fmt::format("a name that ends in {}, optionally with {}, or in {}",
                                 text_suffixes(), compression_suffixes(), columnar_suffixes()),
         .found = fmt::format("'{}'", preview(path)),
         .hint = format_hint()});
  }
}

// Refuses a template that cannot be read, that stands beside a field, or that an input of lines
// has.
void check_template(const InputOptions& input, const Origin& origin) {
  if (input.text_template.empty()) return;
  const std::string shown = fmt::format("text '{}'", preview(input.text_template));
  if (!input.field.empty())
    throw error_of_input(origin,
                         {.code = "config.conflict",
                          .what = "field and text exclude each other",
                          .expected = "one of the two",
                          .found = fmt::format("field '{}' and {}", preview(input.field), shown),
                          .hint = "leave the field out; the template can name it in braces"});
  const TextFormat format = input_format(input).format;
  if (format != TextFormat::kAuto && facts_of(format).field == FieldUse::kNone)
    throw error_of_input(origin, {.code = "config.conflict",
                                  .what = "an input of lines has no fields",
                                  .expected = "no template, or a format that has fields",
                                  .found = shown,
                                  .hint = "leave the template out, or give a format that has "
                                          "fields; prompt puts a text in front of every row"});
  try {
    TextTemplate checked(input.text_template);
  } catch (const Error& error) {
    throw error_of_input(origin, error.detail());
  }
}

void check_field(const InputOptions& input, const Origin& origin, const FieldLister& list_fields) {
  check_template(input, origin);
  if (!input.text_template.empty()) return;
  const TextFormat format = input_format(input).format;
  if (is_guessed(input)) return;
  const FieldUse use = facts_of(format).field;
  if (use == FieldUse::kOptional) return;
  const bool has_fields = use == FieldUse::kRequired;
  const std::string& field = input.field;
  if (has_fields == !field.empty()) return;
  const std::string file = preview(input.path);
  ErrorDetail detail = {.code = "config.required",
                        .exit_code = origin.exit_code,
                        .what = "the input needs a field",
                        .where = origin.where,
                        .expected = "the name of the field or column that holds the text",
                        .found = fmt::format("no field for '{}'", file),
                        .hint =
                            "give the field, as --field NAME or as field: NAME in the config; "
                            "--text (text) makes the text from several fields"};
  const std::string names = has_fields && list_fields ? list_fields(input) : "";
  if (!names.empty()) detail.found += fmt::format(", which has: {}", names);
  if (names.empty() && format == TextFormat::kJsonl)
    detail.hint += "; if the file is one JSON array of texts, give its format instead: json";
  if (!has_fields) {
    detail.code = "config.conflict";
    detail.what = "an input of lines has no fields";
    detail.expected = "no field, or a format that has fields";
    detail.found = fmt::format("field '{}' for '{}'", preview(field), file);
    detail.hint = "leave the field out, or give a format that has fields";
  }
  throw Error(std::move(detail));
}

void check_combine(const CombineConfig& combine, const std::vector<std::string>& streams,
                   const Origin& origin) {
  for (const std::string& name : combine.streams) {
    if (std::find(streams.begin(), streams.end(), name) != streams.end()) continue;
    const std::string near = nearest(name, streams.data(), streams.size());
    throw Error(
        {.code = "config.combine",
         .exit_code = origin.exit_code,
         .what = fmt::format("a stream to combine is missing in split '{}'", combine.split),
         .where = origin.where,
         .expected = fmt::format("streams of the split: {}", fmt::join(streams, ", ")),
         .found = fmt::format("'{}'", name),
         .hint = near.empty()
                     ? "add the stream, change output.combine or set semantic.combine: false"
                     : fmt::format("did you mean '{}'?", near)});
  }
}

}  // namespace

Error missing_setting(const std::string& path, const std::string& where, bool on_command_line) {
  const bool is_model = path == "semantic.model";
  ErrorDetail error = {.code = "config.required",
                       .exit_code = ExitCode::kConfig,
                       .what = path + " is missing",
                       .where = where,
                       .expected = "a value for " + path,
                       .found = "nothing",
                       .hint = is_model ? "give a model directory, as model: DIR or --model DIR"
                                        : "give the input file"};
  if (on_command_line) {
    error.exit_code = ExitCode::kUsage;
    if (is_model) error.what = "no model is named";
    error.expected = spelled_setting(path, is_model ? "DIR" : "VALUE", true);
  }
  return Error(std::move(error));
}

Error combine_of_one(const CombineConfig& combine, const Origin& origin) {
  return Error({.code = "config.required",
                .exit_code = origin.exit_code,
                .what = "a combined matrix needs several streams",
                .where = origin.where,
                .expected = "at least two streams in every split",
                .found = combine.split.empty()
                             ? "one stream"
                             : fmt::format("one stream in split '{}'", preview(combine.split)),
                .hint = "leave semantic.combine out, or name the streams in output.combine"});
}

void check_streams(const RunConfig& run, const std::vector<StreamPlace>& places,
                   const Origin& output, const Origin& combine) {
  check_names(run, places);
  if (!run.combine.empty()) check_reserved_name(places);
  if (!run.store.output.empty() && run.streams.size() != 1) {
    throw Error({.code = "config.conflict",
                 .exit_code = output.exit_code,
                 .what = "an output file is for a run with one stream",
                 .where = output.where,
                 .expected = "one stream",
                 .found = fmt::format("{} streams", run.streams.size()),
                 .hint = "leave it out: the matrices are then written to the cache directory "
                         "(semantic.cache_dir)"});
  }
  std::map<std::string, std::vector<std::string>> streams_of;
  for (const StreamConfig& stream : run.streams) streams_of[stream.split].push_back(stream.stream);
  for (const CombineConfig& split : run.combine)
    check_combine(split, streams_of[split.split], combine);
  for (size_t i = 0; i < places.size(); ++i)
    check_format(run.streams[i].input, origin_of(places[i]));
}

void check_fields(const RunConfig& run, const std::vector<StreamPlace>& places,
                  const FieldLister& list_fields) {
  for (size_t i = 0; i < places.size(); ++i)
    check_field(run.streams[i].input, origin_of(places[i]), list_fields);
}

void check_input(const InputOptions& input, const std::string& flag,
                 const FieldLister& list_fields) {
  const Origin origin = {.where = flag, .exit_code = ExitCode::kUsage};
  check_format(input, origin);
  check_field(input, origin, list_fields);
  check_filter(input, origin);
}

namespace {

Error output_conflict(const Origin& origin, std::string what, std::string expected,
                      std::string found) {
  return Error({.code = "config.conflict",
                .exit_code = origin.exit_code,
                .what = std::move(what),
                .where = origin.where,
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = "see docs/outputs.md"});
}

// Spells the setting of the output format in the way in which the user has given the value at
// `origin`: as a flag or as a key.
std::string format_setting(MatrixFormat format, const Origin& origin) {
  return spelled_setting("output.format", std::string(to_string(format)), origin.on_command_line());
}

// Returns the error for columns beside a .npy file, with the setting that makes it a table.
Error columns_without_a_table(const StoreOptions& store, const Origin& columns) {
  const Error conflict = output_conflict(
      columns, "a .npy file has no columns beside the vectors",
      "an output that ends in .parquet or .arrow",
      fmt::format("columns and {}", format_setting(store.final_format.file, columns)));
  ErrorDetail detail = conflict.detail();
  std::string table = format_setting(MatrixFormat::kParquet, columns);
  if (!store.output.empty()) {
    const std::string path = std::filesystem::path(store.output)
                                 .replace_extension(suffix_of(MatrixFormat::kParquet))
                                 .string();
    table = spelled_setting("output.file", path, columns.on_command_line());
  }
  detail.hint = fmt::format("Parquet and Arrow files have columns: give {}, or leave out {}", table,
                            setting_name("output.columns", columns.on_command_line()));
  return Error(std::move(detail));
}

void check_suffix(const StoreOptions& store, const Origin& origin) {
  if (store.output.empty()) return;
  const std::string name = preview(store.output);
  const std::optional<MatrixFormat> format = matrix_format_of(store.output);
  if (!format) {
    throw Error({.code = "config.value",
                 .exit_code = origin.exit_code,
                 .what = "encode does not write this kind of file",
                 .where = origin.where,
                 .expected = fmt::format("a name that ends in {}", matrix_suffixes()),
                 .found = fmt::format("'{}'", name),
                 .hint = "choose .npy for numpy, or .parquet for a table with columns; see "
                         "docs/outputs.md"});
  }
  if (*format == store.final_format.file) return;
  throw output_conflict(
      origin, "the name of the output states another format",
      fmt::format("a name that ends in {}, or {}", suffix_of(store.final_format.file),
                  format_setting(*format, origin)),
      fmt::format("'{}' with {}", name, format_setting(store.final_format.file, origin)));
}

void check_column_names(const std::vector<TableColumn>& columns, const Origin& origin) {
  std::set<std::string> names;
  for (const TableColumn& column : columns) {
    const std::string found = fmt::format("'{}'", preview(describe(column)));
    if (column.name.empty() || column.source.empty())
      throw output_conflict(origin, "a column has no name or no source",
                            "NAME or NAME=FIELD, as in name=/meta/package", found);
    if (column.name == kEmbeddingColumn)
      throw output_conflict(origin, "the column of the vectors has this name already",
                            "other names than embedding", found);
    // Readers of tables find the row numbers and the texts by these names.
    if ((column.name == kRowColumn || column.name == kTextColumn) && column.name != column.source)
      throw output_conflict(origin, "the names row and text have a meaning of their own",
                            "another name for the field", found);
    if (names.insert(column.name).second) continue;
    throw output_conflict(origin, "two columns have the same name", "a different name for each",
                          found);
  }
}

}  // namespace

void check_output(const RunConfig& run, const std::vector<StreamPlace>& places, const Origin& file,
                  const Origin& columns) {
  check_suffix(run.store, file);
  const FinalFormat& format = run.store.final_format;
  if (format.columns.empty()) return;
  if (format.file == MatrixFormat::kNpy) throw columns_without_a_table(run.store, columns);
  check_column_names(format.columns, columns);
  for (const TableColumn& column : format.columns) {
    if (column.source == kTextColumn || is_number_column(column)) continue;
    for (size_t i = 0; i < places.size(); ++i) {
      const TextFormat input = input_format(run.streams[i].input).format;
      if (facts_of(input).field != FieldUse::kNone) continue;
      throw output_conflict({.where = places[i].where, .exit_code = places[i].exit_code},
                            "an input of lines has no fields for columns",
                            "only row and text as columns",
                            fmt::format("'{}'", preview(column.source)));
    }
  }
}

}  // namespace encode
