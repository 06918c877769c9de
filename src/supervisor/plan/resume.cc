#include "supervisor/plan/resume.h"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>

#include "encode/error.h"

#include "base/file.h"
#include "base/units.h"

namespace encode {
namespace {

constexpr const char* kFreshHint =
    "use --fresh to delete the old result and start over, or choose another cache directory";

std::string shape(const StreamIdentity& identity) {
  return fmt::format("({}, {})", identity.rows, identity.dim);
}

void remove_durably(const std::string& path) {
  std::error_code failure;
  if (std::filesystem::remove(path, failure)) sync_directory(parent_directory(path));
  if (failure) throw system_error("run.fresh", "remove", path, failure.value());
}

// Removes the manifest first, because a matrix without a manifest counts as unfinished.
void remove_final(const std::string& path) {
  remove_durably(manifest_path(path));
  remove_durably(path);
  remove_durably(ranges_path(path));
  remove_durably(ledger_path(path));
  remove_durably(offsets_path(path));
}

}  // namespace

int64_t StreamFinisher::chunk_rows() const {
  return options_.chunk_size > 0 ? options_.chunk_size : kDefaultChunkRows;
}

std::string StreamFinisher::standard_path(const StreamPlan& stream) const {
  return is_float32() ? stream.final_path : stream.final_path + ".float32.npy";
}

bool StreamFinisher::has_final(const StreamPlan& stream) const {
  if (final_state(stream.final_path, stream.identity, /*check_hash=*/false) != FinalState::kValid)
    return false;
  return has_format(*read_manifest(stream.final_path), options_.final_format);
}

// Converts a valid final of another format. Only a float32 final can be converted; for any other
// final it returns false.
bool StreamFinisher::reformat(const StreamPlan& stream) const {
  const std::optional<Manifest> manifest = read_manifest(stream.final_path);
  const std::string wanted(to_string(options_.final_format.type));
  if (manifest->type == OutputType::kFloat32) {
    reformat_final(stream.final_path, stream.final_path, options_.final_format);
    log_.info("final_reformatted",
              fmt::format("{}: converted the float32 matrix in {} to {}", stream.config.name(),
                          stream.final_path, wanted),
              {{"stream", stream.config.name()}, {"output_dtype", wanted}});
    return true;
  }
  log_.info("final_other_type",
            fmt::format("{} is {}, but {} is wanted; it is made again, from the chunks if they "
                        "were kept",
                        stream.final_path, to_string(manifest->type), wanted),
            {{"path", stream.final_path}, {"output_dtype", wanted}});
  return false;
}

bool StreamFinisher::keep_final(const StreamPlan& stream) const {
  if (options_.fresh) {
    remove_final(stream.final_path);
    if (!is_float32()) remove_final(standard_path(stream));
    return false;
  }
  switch (final_state(stream.final_path, stream.identity, /*check_hash=*/true)) {
    case FinalState::kAbsent:
      return false;
    case FinalState::kValid:
      if (!has_final(stream)) return reformat(stream);
      log_.info("stream_skipped",
                fmt::format("{}: already done, {} in {}", stream.config.name(),
                            shape(stream.identity), stream.final_path),
                {{"stream", stream.config.name()}, {"path", stream.final_path}});
      return true;
    case FinalState::kDamaged:
      log_.warning("final_damaged",
                   fmt::format("{} is damaged or unfinished; it is made again", stream.final_path),
                   {{"path", stream.final_path}});
      return false;
    case FinalState::kForeign:
      break;
  }
  throw Error({.exit_code = ExitCode::kConfig,
               .code = "run.foreign_final",
               .what = "the existing result belongs to another run",
               .where = stream.final_path,
               .expected = "the same inputs, model and options",
               .found = explain_foreign(stream.final_path, stream.identity),
               .hint = kFreshHint});
}

StreamState StreamFinisher::resume(const StreamPlan& stream) const {
  create_directories_durably(parent_directory(stream.final_path));
  if (keep_final(stream)) {
    return {.finished = true, .rows_done = stream.identity.rows, .chunk_rows = 0, .chunks = 0};
  }
  if (!chunk_files()) return finish_standard(stream);
  const auto mode = options_.fresh ? ChunkStore::Open::kFresh : ChunkStore::Open::kResume;
  const std::string cache_dir = options_.cache_dir;
  const std::unique_ptr<ChunkStore> store =
      ChunkStore::open(cache_dir, stream.identity, chunk_rows(), mode);
  const auto committed = static_cast<int64_t>(store->committed().size());
  const std::string rows = format_count(store->chunk_rows());
  std::string text =
      committed == 0
          ? fmt::format("starting from scratch, {} chunks of {} rows", store->chunk_count(), rows)
          : fmt::format("{} of {} chunks are committed, continuing with the rest", committed,
                        store->chunk_count());
  if (store->chunk_rows() != chunk_rows())
    text += fmt::format(" (chunks keep their earlier size of {} rows)", rows);
  log_.info("stream_resumed", fmt::format("{}: {}", stream.config.name(), text),
            {{"stream", stream.config.name()},
             {"chunks_done", committed},
             {"chunks", store->chunk_count()},
             {"chunk_rows", store->chunk_rows()}});
  return from_chunks(stream, *store);
}

StreamState StreamFinisher::finish(const StreamPlan& stream) const {
  if (!chunk_files()) return finish_standard(stream);
  const std::unique_ptr<ChunkStore> store = ChunkStore::open(
      options_.cache_dir, stream.identity, chunk_rows(), ChunkStore::Open::kResume);
  return from_chunks(stream, *store);
}

StreamState StreamFinisher::finish_standard(const StreamPlan& stream) const {
  StreamState state{.finished = false, .rows_done = 0, .chunk_rows = chunk_rows(), .chunks = 1};
  const std::string path = standard_path(stream);
  const bool encoded =
      final_state(path, stream.identity, /*check_hash=*/false) == FinalState::kValid &&
      read_manifest(path)->type == OutputType::kFloat32;
  if (!encoded && stream.identity.rows > 0) return state;
  if (!encoded) begin_final(path, stream.identity)->publish({}, {.device = "none"});
  if (path != stream.final_path) {
    reformat_final(path, stream.final_path, options_.final_format);
    remove_final(path);
  }
  state.finished = true;
  state.rows_done = stream.identity.rows;
  log_.info("stream_done",
            fmt::format("{}: saved to {}, {}, embedding dimension {}", stream.config.name(),
                        stream.final_path, shape(stream.identity), stream.identity.dim),
            {{"stream", stream.config.name()}, {"path", stream.final_path}});
  return state;
}

StreamState StreamFinisher::from_chunks(const StreamPlan& stream, ChunkStore& store) const {
  StreamState state{.finished = false,
                    .rows_done = 0,
                    .chunk_rows = store.chunk_rows(),
                    .chunks = store.chunk_count()};
  for (const std::string& sentence : store.dropped()) log_.warning("chunk_dropped", sentence);
  for (const ChunkRecord& record : store.committed()) state.rows_done += record.rows.size();
  if (!store.pending().empty()) return state;

  store.assemble(stream.final_path, options_.final_format, [this](int64_t /*chunk*/) {
    if (stop_.number() != 0) throw Stopped();
  });
  state.finished = true;
  if (!options_.keep_chunk_cache) store.remove();
  log_.info(
      "stream_done",
      fmt::format("{}: saved to {}, {}, embedding dimension {}, from {} chunks{}",
                  stream.config.name(), stream.final_path, shape(stream.identity),
                  stream.identity.dim, state.chunks, options_.keep_chunk_cache ? " (kept)" : ""),
      {{"stream", stream.config.name()},
       {"path", stream.final_path},
       {"rows", stream.identity.rows},
       {"dim", stream.identity.dim}});
  return state;
}

}  // namespace encode
