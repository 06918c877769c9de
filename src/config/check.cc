#include <algorithm>
#include <map>
#include <set>

#include "base/input_format.h"
#include "base/units.h"
#include "config/resolve.h"

namespace encode {
namespace {

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void check_names(const RunConfig& run, const std::vector<StreamPlace>& places) {
  std::map<std::string, std::string> seen;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto [other, added] = seen.emplace(run.streams[i].name(), places[i].where);
    if (added) continue;
    throw Error({.exit_code = ExitCode::kConfig,
                 .code = "config.conflict",
                 .what = "two streams would write the same files",
                 .where = places[i].where,
                 .expected = "a name <split>_<stream> of its own for each stream",
                 .found = "'" + other->first + "', as at " + other->second,
                 .hint = "rename the split or the stream"});
  }
}

// <split>_combined is the name of the matrix that holds the streams of a split side by side.
void check_reserved_name(const std::vector<StreamPlace>& places) {
  for (const StreamPlace& place : places) {
    if (place.stream != "combined") continue;
    throw Error({.exit_code = ExitCode::kConfig,
                 .code = "config.conflict",
                 .what = "a stream has the name of the combined matrix",
                 .where = place.where,
                 .expected = "another name, as semantic.combine is on",
                 .found = "'combined'",
                 .hint = "rename the stream"});
  }
}

void check_format(const StreamConfig& stream, const StreamPlace& place) {
  if (input_format(stream.input).format != TextFormat::kAuto) return;
  throw Error(
      {.exit_code = place.exit_code,
       .code = "config.required",
       .what = "the input needs a format",
       .where = place.where,
       .expected =
           "a name that ends in .txt, .jsonl, .ndjson, .csv or .tsv, perhaps with .gz or .zst",
       .found = "'" + preview(stream.input.path) + "'",
       .hint = "give the format: lines, jsonl, csv or tsv"});
}

void check_field(const StreamConfig& stream, const StreamPlace& place) {
  const bool has_fields = input_format(stream.input).format != TextFormat::kLines;
  const std::string& field = stream.input.field;
  if (has_fields == !field.empty()) return;
  const std::string file = "'" + preview(stream.input.path) + "'";
  ErrorDetail detail = {.exit_code = place.exit_code,
                        .code = "config.required",
                        .what = "the input needs a field",
                        .where = place.where,
                        .expected = "the name of the field or column that holds the text",
                        .found = "no field for " + file,
                        .hint = "give the field"};
  if (!has_fields) {
    detail.code = "config.conflict";
    detail.what = "an input of lines has no fields";
    detail.expected = "no field, or the format jsonl, csv or tsv";
    detail.found = "field '" + preview(field) + "' for " + file;
    detail.hint = "leave the field out, or give the format that has it";
  }
  throw Error(std::move(detail));
}

void check_combine(const CombineConfig& combine, const std::vector<std::string>& streams,
                   const Origin& origin) {
  for (const std::string& name : combine.streams) {
    if (std::find(streams.begin(), streams.end(), name) != streams.end()) continue;
    const std::string near = nearest(name, streams.data(), streams.size());
    throw Error(
        {.exit_code = origin.exit_code,
         .code = "config.combine",
         .what = "a stream to combine is missing in split '" + combine.split + "'",
         .where = origin.where,
         .expected = "streams of the split: " + list(streams),
         .found = "'" + name + "'",
         .hint = near.empty()
                     ? "add the stream, change output.combine or set semantic.combine: false"
                     : "did you mean '" + near + "'?"});
  }
}

}  // namespace

void check_streams(const RunConfig& run, const std::vector<StreamPlace>& places,
                   const Origin& output, const Origin& combine) {
  check_names(run, places);
  if (!run.combine.empty()) check_reserved_name(places);
  if (!run.store.output.empty() && run.streams.size() != 1) {
    throw Error({.exit_code = output.exit_code,
                 .code = "config.conflict",
                 .what = "output.file is for a run with one stream",
                 .where = output.where,
                 .expected = "one stream",
                 .found = std::to_string(run.streams.size()) + " streams",
                 .hint = "leave it out: the matrices are written to semantic.cache_dir"});
  }
  std::map<std::string, std::vector<std::string>> streams_of;
  for (const StreamConfig& stream : run.streams) streams_of[stream.split].push_back(stream.stream);
  for (const CombineConfig& split : run.combine)
    check_combine(split, streams_of[split.split], combine);
  for (size_t i = 0; i < places.size(); ++i) {
    check_format(run.streams[i], places[i]);
    check_field(run.streams[i], places[i]);
  }
}

}  // namespace encode
