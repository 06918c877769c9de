// Chooses the value of every key and checks the relations between values. A value can come from
// these sources. An earlier source in the list overrides a later one:
// - a flag,
// - the stream in its split (data.splits),
// - the stream in all splits (data.streams),
// - `semantic`,
// - the default.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/read.h"

namespace encode {

// Throws what load_config() throws.
LoadedConfig resolve(const ConfigFile& file, const std::vector<Override>& overrides,
                     const FieldLister& list_fields);

// The place at which a key was given, and the exit code of an error there.
struct Origin {
  std::string where;
  ExitCode exit_code = ExitCode::kConfig;

  bool on_command_line() const { return exit_code == ExitCode::kUsage; }
};

// Makes the Error of a value that was given at `origin`, which is its `where` and decides its exit
// code.
Error error_at(const Origin& origin, ErrorDetail detail);

// Returns the error "config.required" for a required setting that has no value: kUsage if there is
// only a command line, kConfig if there is a file.
Error missing_setting(const std::string& path, const std::string& where, bool on_command_line);

// `output` and `combine` are the origins of output.file and output.combine. Throws Error unless
// - the names of the streams differ,
// - only a run with one stream has an output file,
// - all streams to combine exist,
// - every input has a format.
void check_streams(const RunConfig& run, const std::vector<StreamPlace>& places,
                   const Origin& output, const Origin& combine);

// Makes the Error for a combined matrix of one stream. `origin` is the origin of semantic.combine.
Error combine_of_one(const CombineConfig& combine, const Origin& origin);

// Returns the place at which a key was given: KeySpec::in_stream() of a stream, or a key such as
// "semantic.pooling" of kEveryStream.
inline constexpr size_t kEveryStream = SIZE_MAX;
using OriginFinder = std::function<Origin(const std::string& path, size_t stream)>;

// Throws Error unless every input has the field that its format needs, and no other. May be called
// after check_streams().
void check_fields(const RunConfig& run, const std::vector<StreamPlace>& places,
                  const OriginFinder& origin_of, const FieldLister& list_fields);

// Settles the passages of each stream: without any, none of their options is set. Adds
// place_columns() to tables of passages. Throws Error "config.conflict" if
// - an option of passages is given and the texts are not cut,
// - passages repeat as many tokens as they have, or every token has a vector,
// - the field that is cut is not once in the template,
// - streams are combined whose rows have several vectors,
// - only some of the tables of a run have a row for each passage.
void settle_passages(RunConfig& run, const OriginFinder& origin_of);

// Reads the filters of the streams and gives each stream the filter of its split. Adds the column
// kSourceRowColumn to tables if a stream has one. Throws Error:
//   "config.filter"    a filter cannot be read
//   "config.conflict"  an input of lines has a filter, or two streams of a split have one
void settle_filters(RunConfig& run, const OriginFinder& origin_of);

// Throws the Error of settle_filters() for the filter of one input. `origin` is that of the filter.
void check_filter(const InputOptions& input, const Origin& origin);

// `file` and `columns` are the origins of output.file and output.columns. Throws Error unless
// - only a table has columns, and none is named `embedding`,
// - an input of lines has no other columns than row and text,
// - the suffix of the output file does not state another format than output.format.
void check_output(const RunConfig& run, const std::vector<StreamPlace>& places, const Origin& file,
                  const Origin& columns);

}  // namespace encode
