// The filters of the rows: one for each split.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/input_format.h"
#include "base/units.h"
#include "base/where_filter.h"
#include "config/resolve.h"

namespace encode {
namespace {

// Returns true if the two inputs have the same records and the same values in their fields.
bool same_records(const InputOptions& a, const InputOptions& b) {
  return a.path == b.path && a.more_paths == b.more_paths && a.format == b.format &&
         a.utf8 == b.utf8 && a.max_row_bytes == b.max_row_bytes;
}

// Returns the filter of another stream of the split of `source`.
InputFilter filter_from(const InputOptions& source, const InputOptions& input) {
  if (same_records(source, input)) return {.where = source.filter.where};
  InputFilter filter = {.where = source.filter.where,
                        .paths = {source.path},
                        .format = source.format,
                        .utf8 = source.utf8,
                        .max_row_bytes = source.max_row_bytes};
  filter.paths.insert(filter.paths.end(), source.more_paths.begin(), source.more_paths.end());
  return filter;
}

[[noreturn]] void refuse_second(const StreamConfig& first, const StreamConfig& second,
                                const Origin& origin) {
  throw error_at(
      origin,
      {.code = "config.conflict",
       .what = "a split has one filter, and two of its streams give one",
       .expected = "where at one stream of the split",
       .found = fmt::format("where at {} and at {}", first.name(), second.name()),
       .hint = "give it to the stream whose fields it names: the other streams of the split "
               "keep the same records"});
}

void add_source_row_column(RunConfig& run) {
  const bool filtered =
      std::any_of(run.streams.begin(), run.streams.end(),
                  [](const StreamConfig& stream) { return stream.input.filter.any(); });
  if (!filtered || run.store.final_format.file == MatrixFormat::kNpy) return;
  std::vector<TableColumn>& columns = run.store.final_format.columns;
  // Tables of passages have the column already.
  const auto place = std::find_if(columns.begin(), columns.end(), [](const TableColumn& column) {
    return column.name == kSourceRowColumn &&
           (column.source == kSourceRowColumn || is_place_column(column));
  });
  if (place == columns.end()) {
    columns.push_back({.name = kSourceRowColumn, .source = kSourceRowSource});
  } else {
    place->source = kSourceRowSource;
  }
}

}  // namespace

void check_filter(const InputOptions& input, const Origin& origin) {
  if (!input.filter.any()) return;
  const TextFormat format = input_format(input).format;
  if (format != TextFormat::kAuto && facts_of(format).field == FieldUse::kNone)
    throw error_at(origin, {.code = "config.conflict",
                            .what = "an input of lines has no fields for a filter",
                            .expected = "no filter, or a format that has fields",
                            .found = fmt::format("where '{}'", preview(input.filter.where)),
                            .hint = "leave the filter out, or filter the lines with grep"});
  try {
    WhereFilter checked(input.filter.where);
  } catch (const Error& error) {
    throw error_at(origin, error.detail());
  }
}

void settle_filters(RunConfig& run, const OriginFinder& origin_of) {
  std::map<std::string, const StreamConfig*> sources;  // split -> the stream that has its filter
  for (size_t i = 0; i < run.streams.size(); ++i) {
    const StreamConfig& stream = run.streams[i];
    if (!stream.input.filter.any()) continue;
    const Origin origin = origin_of("where", i);
    check_filter(stream.input, origin);
    const auto [other, added] = sources.emplace(stream.split, &stream);
    const bool same = stream.input.filter == other->second->input.filter &&
                      same_records(stream.input, other->second->input);
    if (!added && !same) refuse_second(*other->second, stream, origin);
  }
  for (StreamConfig& stream : run.streams) {
    const auto source = sources.find(stream.split);
    if (source == sources.end() || source->second == &stream) continue;
    stream.input.filter = filter_from(source->second->input, stream.input);
  }
  add_source_row_column(run);
}

}  // namespace encode
