#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <set>

#include "base/foreign_input.h"
#include "base/input_format.h"
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

// Makes the Error for a file of an input of several files.
Error refused_file(const Origin& origin, std::string what, std::string expected,
                   const std::string& path) {
  return error_at(origin, {.code = "config.conflict",
                           .what = std::move(what),
                           .expected = std::move(expected),
                           .found = fmt::format("'{}'", preview(path)),
                           .hint = "give the others to a stream of their own"});
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
      throw refused_file(origin, "standard input cannot be one of several files", "files", path);
    InputOptions of_path = input;
    of_path.path = path;
    const TextFormat other = input_format(of_path).format;
    if (other != TextFormat::kAuto && other != format && format != TextFormat::kAuto)
      throw refused_file(origin, "the files of an input have different formats",
                         "files of one format", path);
    if (other != TextFormat::kAuto) continue;
    refuse_foreign_input(path, origin.where);
    throw error_at(origin, {.code = "config.required",
                            .what = "the input needs a format",
                            .expected = fmt::format(
                                "a name that ends in {}, optionally with {}, or in {}",
                                text_suffixes(), compression_suffixes(), columnar_suffixes()),
                            .found = fmt::format("'{}'", preview(path)),
                            .hint = format_hint()});
  }
}

// The origins of an input and of its keys.
struct InputOrigins {
  Origin input;
  Origin field;
  Origin text;
};

// Refuses a template that cannot be read, that stands beside a field, or that an input of lines
// has. `origin` is that of the template.
void check_template(const InputOptions& input, const Origin& origin) {
  if (input.text_template.empty()) return;
  const std::string shown = fmt::format("text '{}'", preview(input.text_template));
  if (!input.field.empty())
    throw error_at(origin, {.code = "config.conflict",
                            .what = "field and text exclude each other",
                            .expected = "one of the two",
                            .found = fmt::format("field '{}' and {}", preview(input.field), shown),
                            .hint = "leave the field out; the template can name it in braces"});
  const TextFormat format = input_format(input).format;
  if (format != TextFormat::kAuto && facts_of(format).field == FieldUse::kNone)
    throw error_at(origin, {.code = "config.conflict",
                            .what = "an input of lines has no fields",
                            .expected = "no template, or a format that has fields",
                            .found = shown,
                            .hint = "leave the template out, or give a format that has "
                                    "fields; prompt puts a text in front of every row"});
  try {
    TextTemplate checked(input.text_template);
  } catch (const Error& error) {
    throw error_at(origin, error.detail());
  }
}

void check_field(const InputOptions& input, const InputOrigins& origins,
                 const FieldLister& list_fields) {
  check_template(input, origins.text);
  if (!input.text_template.empty()) return;
  const TextFormat format = input_format(input).format;
  if (is_guessed(input)) return;
  const FieldUse use = facts_of(format).field;
  if (use == FieldUse::kOptional) return;
  const std::string& field = input.field;
  if ((use == FieldUse::kRequired) == !field.empty()) return;
  const std::string file = preview(input.path);
  if (use == FieldUse::kNone)
    throw error_at(origins.field,
                   {.code = "config.conflict",
                    .what = "an input of lines has no fields",
                    .expected = "no field, or a format that has fields",
                    .found = fmt::format("field '{}' for '{}'", preview(field), file),
                    .hint = "leave the field out, or give a format that has fields"});
  const std::string names = list_fields ? list_fields(input) : "";
  const bool may_be_array = names.empty() && format == TextFormat::kJsonl;
  throw error_at(
      origins.input,
      {.code = "config.required",
       .what = "the input needs a field",
       .expected = "the name of the field or column that holds the text",
       .found =
           fmt::format("no field for '{}'{}", file, names.empty() ? "" : ", which has: " + names),
       .hint = fmt::format(
           "give the field, as --field NAME or as field: NAME in the config; --text (text) makes "
           "the text from several fields{}",
           may_be_array ? "; if the file is one JSON array of texts, give its format instead: json"
                        : "")});
}

void check_combine(const CombineConfig& combine, const std::vector<std::string>& streams,
                   const Origin& origin) {
  for (const std::string& name : combine.streams) {
    if (std::find(streams.begin(), streams.end(), name) != streams.end()) continue;
    const std::string near = nearest(name, streams.data(), streams.size());
    throw error_at(
        origin,
        {.code = "config.combine",
         .what = combine.split.empty()
                     ? "a stream to combine does not exist"
                     : fmt::format("a stream to combine is missing in split '{}'", combine.split),
         .expected = fmt::format("streams{}: {}", combine.split.empty() ? "" : " of the split",
                                 fmt::join(streams, ", ")),
         .found = fmt::format("'{}'", name),
         .hint = near.empty()
                     ? "add the stream, change output.combine or set semantic.combine: false"
                     : fmt::format("did you mean '{}'?", near)});
  }
}

}  // namespace

Error error_at(const Origin& origin, ErrorDetail detail) {
  detail.exit_code = origin.exit_code;
  detail.where = origin.where;
  return Error(std::move(detail));
}

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
  return error_at(origin,
                  {.code = "config.required",
                   .what = "a combined matrix needs several streams",
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
    throw error_at(output,
                   {.code = "config.conflict",
                    .what = "an output file is for a run with one stream",
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
                  const OriginFinder& origin_of_key, const FieldLister& list_fields) {
  for (size_t i = 0; i < places.size(); ++i)
    check_field(run.streams[i].input,
                {.input = origin_of(places[i]),
                 .field = origin_of_key("field", i),
                 .text = origin_of_key("text", i)},
                list_fields);
}

void check_input(const InputOptions& input, const FieldLister& list_fields) {
  const auto flag = [](const char* name) {
    return Origin{.where = name, .exit_code = ExitCode::kUsage};
  };
  check_format(input, flag("--input"));
  check_field(input, {.input = flag("--input"), .field = flag("--field"), .text = flag("--text")},
              list_fields);
  check_filter(input, flag("--where"));
}

namespace {

constexpr const char* kOutputsHint = "see docs/outputs.md";

// Spells the setting of the output format in the way in which the user has given the value at
// `origin`: as a flag or as a key.
std::string format_setting(MatrixFormat format, const Origin& origin) {
  return spelled_setting("output.format", std::string(to_string(format)), origin.on_command_line());
}

// Returns the error for columns beside a .npy file, with the setting that makes it a table.
Error columns_without_a_table(const StoreOptions& store, const Origin& columns) {
  std::string table = format_setting(MatrixFormat::kParquet, columns);
  if (!store.output.empty()) {
    const std::string path = std::filesystem::path(store.output)
                                 .replace_extension(suffix_of(MatrixFormat::kParquet))
                                 .string();
    table = spelled_setting("output.file", path, columns.on_command_line());
  }
  return error_at(
      columns,
      {.code = "config.conflict",
       .what = "a .npy file has no columns beside the vectors",
       .expected = "an output that ends in .parquet or .arrow",
       .found = fmt::format("columns and {}", format_setting(store.final_format.file, columns)),
       .hint = fmt::format("Parquet and Arrow files have columns: give {}, or leave out {}", table,
                           setting_name("output.columns", columns.on_command_line()))});
}

void check_suffix(const StoreOptions& store, const Origin& origin) {
  if (store.output.empty()) return;
  const std::string name = preview(store.output);
  const std::optional<MatrixFormat> format = matrix_format_of(store.output);
  if (!format) {
    throw error_at(origin,
                   {.code = "config.value",
                    .what = "encode does not write this kind of file",
                    .expected = fmt::format("a name that ends in {}", matrix_suffixes()),
                    .found = fmt::format("'{}'", name),
                    .hint = "choose .npy for numpy, or .parquet for a table with columns; see "
                            "docs/outputs.md"});
  }
  if (*format == store.final_format.file) return;
  throw error_at(
      origin,
      {.code = "config.conflict",
       .what = "the name of the output states another format",
       .expected = fmt::format("a name that ends in {}, or {}", suffix_of(store.final_format.file),
                               format_setting(*format, origin)),
       .found = fmt::format("'{}' with {}", name, format_setting(store.final_format.file, origin)),
       .hint = kOutputsHint});
}

void check_column_names(const std::vector<TableColumn>& columns, const Origin& origin) {
  std::set<std::string> names;
  for (const TableColumn& column : columns) {
    const auto refuse = [&](std::string what, std::string expected) {
      throw error_at(origin, {.code = "config.conflict",
                              .what = std::move(what),
                              .expected = std::move(expected),
                              .found = fmt::format("'{}'", preview(describe(column))),
                              .hint = kOutputsHint});
    };
    if (column.name.empty() || column.source.empty())
      refuse("a column has no name or no source", "NAME or NAME=FIELD, as in name=/meta/package");
    if (column.name == kEmbeddingColumn)
      refuse("the column of the vectors has this name already", "other names than embedding");
    // Readers of tables find the row numbers and the texts by these names.
    if ((column.name == kRowColumn || column.name == kTextColumn) && column.name != column.source)
      refuse("the names row and text have a meaning of their own", "another name for the field");
    if (!names.insert(column.name).second)
      refuse("two columns have the same name", "a different name for each");
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
      throw error_at(origin_of(places[i]), {.code = "config.conflict",
                                            .what = "an input of lines has no fields for columns",
                                            .expected = "only row and text as columns",
                                            .found = fmt::format("'{}'", preview(column.source)),
                                            .hint = kOutputsHint});
    }
  }
}

}  // namespace encode
