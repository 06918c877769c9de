#include "search/search_target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "base/path_kind.h"
#include "base/shell_quote.h"
#include "base/units.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_of_output.h"
#include "run_record/texts_of_output.h"
#include "search/run_match.h"
#include "store/attempt_folders.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/parts_list.h"
#include "store/run_files.h"

namespace encode {
namespace {

const StreamConfig& stream_of(const RunConfig& config, const std::string& name) {
  for (const CombineConfig& combine : config.combine) {
    if (combined_name(combine) == name)
      throw combined_error(final_path(config.store.cache_dir, name), combine.streams);
  }
  std::vector<const StreamConfig*> found;
  std::vector<std::string> names;
  for (const StreamConfig& stream : config.streams) {
    names.push_back(stream.name());
    if (name.empty() || name == stream.name() || name == stream.stream) found.push_back(&stream);
  }
  if (found.size() == 1) return *found.front();
  throw Error({.code = "search.stream",
               .what = found.empty() ? "the config has no stream of this name"
                                     : "the config has several streams",
               .where = "--stream",
               .expected = fmt::format("one of: {}", fmt::join(names, ", ")),
               .found = name.empty() ? "no name" : fmt::format("'{}'", preview(name)),
               .hint = "name one stream"});
}

// Makes the Error for a stream whose shards are not merged.
Error unmerged(const RunConfig& config, const StreamConfig& stream, const std::string& list) {
  return Error(
      {.code = "search.unfinished",
       .what = fmt::format("the shards of the stream {} are not merged", stream.name()),
       .where = list,
       .expected = "the list of the parts, which a merge writes",
       .found = "no list",
       .hint = fmt::format("`{}` says how far the shards are; then merge them: {}",
                           shell_command({"encode", "status", config.store.cache_dir}),
                           shell_command({"encode", "merge", "--config", config.config_path}))});
}

// Makes the Error for a stream that has no final matrix yet. It says how far the stream is.
Error unfinished(const RunConfig& config, const StreamConfig& stream, const std::string& path) {
  if (path_exists(ShardFiles(config.store.cache_dir).plan(), "npy.open"))
    return unmerged(config, stream, parts_list_path(path));
  std::string found = "no encoded rows";
  const std::string folder = chunks_dir(current_run_dir(config.store.cache_dir), stream.name());
  if (path_exists(join_path(folder, kStreamFile), "store.stream")) {
    const ChunkProgress progress = read_chunk_progress(folder);
    found = fmt::format("{} of {} encoded", format_count(progress.rows),
                        format_count(progress.identity.rows, "row is", "rows are"));
  }
  return Error(
      {.code = "search.unfinished",
       .what = fmt::format("the stream {} is not finished", stream.name()),
       .where = path,
       .expected = "the finished matrix of the stream",
       .found = std::move(found),
       .hint = "a search needs the finished matrix, and not its chunks: `encode run` with the same "
               "config continues and makes it"});
}

constexpr size_t kShownBytesOfPath = 400;

// Returns what is wrong with the model of a record; "" if nothing is.
std::string problem_of_model(const std::string& model) {
  if (model.empty()) return "neither a record of the run nor a manifest that names the model";
  if (path_kind(model, "model.not_found") == PathKind::kDirectory) return "";
  return fmt::format("no directory '{}', which is recorded as the model of the run",
                     preview(model, kShownBytesOfPath));
}

// Returns what is wrong with the texts that a manifest names; "" if nothing is.
std::string problem_of_texts(const TextsOfOutput& texts) {
  if (texts.missing.empty()) return "";
  const std::string places = list_in_words(texts.searched, "or");
  return fmt::format("no file '{}'{}, which the manifest names as the texts",
                     preview(texts.missing, kShownBytesOfPath),
                     places.empty() ? "" : " in " + places);
}

}  // namespace

SearchTarget find_stream(const RunConfig& config, const std::string& name) {
  const StreamConfig& stream = stream_of(config, name);
  SearchTarget target;
  target.matrix_path = final_path_of(config, stream.name());
  const std::string list = parts_list_path(target.matrix_path);
  if (!path_exists(target.matrix_path, "npy.open") && path_exists(list, "npy.open"))
    target.matrix_path = list;
  if (!path_exists(target.matrix_path, "npy.open"))
    throw unfinished(config, stream, target.matrix_path);
  target.model = stream.result.model;
  target.revision = stream.result.revision;
  target.hardware = config.hardware;
  target.threads = stream.speed.threads;
  target.hash_cache = RunFiles(config.store.cache_dir).model_hashes();
  if (stream.input.is_standard_input()) return target;  // the manifest has the path of the copy
  target.texts = {stream.input.path};
  target.texts.insert(target.texts.end(), stream.input.more_paths.begin(),
                      stream.input.more_paths.end());
  return target;
}

void require_finished(const std::string& matrix_path) {
  if (path_exists(matrix_path, "npy.open") || own_run_dir(matrix_path).empty()) return;
  throw Error({.code = "search.unfinished",
               .what = "the run has not finished this matrix",
               .where = matrix_path,
               .expected = "a finished matrix",
               .found = "the cache directory of its run",
               .hint = fmt::format("`encode status {}` says how far the run is; the same `encode "
                                   "run` goes on and makes the matrix",
                                   matrix_path)});
}

void find_sources(const Matrix& matrix, SearchTarget& target) {
  std::vector<std::string> missing;
  std::vector<std::string> found;
  std::vector<std::string> hints;
  const auto add = [&](const std::string& problem, const char* name, const char* hint) {
    if (problem.empty()) return;
    missing.emplace_back(name);
    found.push_back(problem);
    hints.emplace_back(hint);
  };
  const RunOfOutput run = run_of_output(matrix.path());
  if (target.model.empty()) {
    target.model = run.model;
    add(problem_of_model(target.model), "the model", "the model with --model DIR");
  }
  if (target.texts.empty()) {
    TextsOfOutput texts = texts_of_output(run, matrix.manifest().identity);
    add(problem_of_texts(texts), "the texts", "the texts with --texts FILE");
    target.texts = std::move(texts.paths);
  }
  if (missing.empty()) return;
  throw Error({.code = "search.sources",
               .what = fmt::format("{} of the matrix cannot be found", fmt::join(missing, " and ")),
               .where = matrix.path(),
               .expected = "the model and the texts that the run has used",
               .found = fmt::format("{}", fmt::join(found, "; ")),
               .hint = fmt::format("name {}", fmt::join(hints, ", and "))});
}

}  // namespace encode
