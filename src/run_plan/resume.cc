#include "run_plan/resume.h"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "encode/error.h"
#include "encode/text.h"

#include "base/file.h"
#include "base/units.h"
#include "run_plan/attempt_chunks.h"
#include "run_plan/final_outlook.h"
#include "run_plan/final_table.h"
#include "run_plan/quarantine.h"
#include "run_record/run_paths.h"
#include "store/audit.h"

namespace encode {
namespace {

// Returns the shape of the matrix, or its rows if a row may have several vectors.
std::string shape(const StreamIdentity& identity) {
  if (identity.has_offsets()) return format_count(identity.rows, "row", "rows");
  return fmt::format("({}, {})", identity.rows, identity.dim);
}

// Opens the chunks of the stream. An error about chunks of another run names what differs.
std::unique_ptr<ChunkStore> open_chunks(const StoreOptions& options, const StreamPlan& stream,
                                        ChunkStore::Open mode) {
  try {
    return ChunkStore::open(options.cache_dir, stream.identity, stream.chunk_rows, mode);
  } catch (const Error& error) {
    if (error.detail().code != "store.foreign") throw;
    ErrorDetail detail = error.detail();
    const std::string folder = chunks_dir(options.cache_dir, stream.config.name());
    const StreamIdentity earlier = read_chunk_progress(folder).identity;
    detail.what = fmt::format("{}; the chunks in the cache belong to another run",
                              what_differs(earlier, options, stream));
    throw Error(std::move(detail));
  }
}

// Throws if a file of the input is another one than when it was scanned. A shard needs no such
// check: the plan has the hashes of all its blocks, and rows of other shards may change.
void require_input(const StreamPlan& stream) {
  if (!stream.sharded) require_unchanged(stream.scan);
}

// Says that the same command continues the run, or what must be done before.
std::string how_to_go_on(const std::vector<StreamPlan>& streams) {
  constexpr const char* kSameCommand = "the same command continues from there";
  for (const StreamPlan& stream : streams) {
    try {
      require_input(stream);
    } catch (const Error& error) {
      if (error.detail().code != "text.changed") continue;
      return fmt::format(
          "{} was changed after the run had begun: --fresh starts over with the new content, and "
          "when the old content is back, {}",
          preview(error.detail().where, 300), kSameCommand);
    }
  }
  return kSameCommand;
}

void remove_durably(const std::string& path) {
  std::error_code failure;
  if (std::filesystem::remove(path, failure)) sync_directory(parent_directory(path));
  if (failure) throw system_error("run.fresh", "remove", path, failure.value());
}

void remove_final(const std::string& path) {
  for (const std::string& file : final_files(path)) remove_durably(file);
}

}  // namespace

std::string StreamFinisher::standard_path(const StreamPlan& stream) const {
  return standard_path_of(options_, work_path_of(options_, stream.final_path),
                          stream.config.input.filter.any());
}

void StreamFinisher::look_at_finals(const RunPlan& plan) {
  for (const StreamPlan& stream : plan.streams) finals_.look_at(stream.final_path);
  for (const CombinePlan& combined : plan.combine) finals_.look_at(combined.path);
}

bool StreamFinisher::has_final(const StreamPlan& stream) const {
  if (final_state(stream.final_path, stream.identity, /*check_hash=*/false) != FinalState::kValid)
    return false;
  const std::optional<Manifest> manifest = read_manifest(stream.final_path);
  return manifest->fits(options_.quarantine) && has_format(*manifest, options_.final_format);
}

std::string StreamFinisher::what_is_kept(const std::vector<StreamPlan>& streams,
                                         int64_t given_up) const {
  if (!chunk_files()) return "the run has no chunks, so the same command starts again";
  int64_t rows = 0;
  int64_t kept = 0;
  try {
    for (const StreamPlan& stream : streams) {
      const int64_t all = stream.identity.rows;
      rows += all;
      kept += has_final(stream) && !finals_.replaces(stream.final_path)
                  ? all
                  : committed_rows(options_.cache_dir, stream.identity).value_or(0);
    }
  } catch (const Error&) {
    return "every committed chunk is kept; " + how_to_go_on(streams);
  }
  const std::string unsaved =
      given_up == 0 ? ""
                    : fmt::format("; {} computed but not saved, because {} not complete",
                                  format_count(given_up, "row was", "rows were"),
                                  given_up == 1 ? "its chunk is" : "their chunks are");
  return fmt::format("{} of {} are saved{}; {}", format_count(kept),
                     format_count(rows, "row", "rows"), unsaved, how_to_go_on(streams));
}

void StreamFinisher::convert(const std::string& float32_path, const StreamPlan& stream) const {
  const std::string wanted = describe(options_.final_format);
  reformat_final(float32_path, work_path_of(options_, stream.final_path), options_.final_format,
                 columns_of(options_, stream));
  publish_from_attempt(stream);
  log_.info("final_reformatted",
            fmt::format("{}: converted the float32 matrix in {} to {}", stream.config.name(),
                        float32_path, wanted),
            {{"stream", stream.config.name()}, {"output_dtype", wanted}});
}

StreamFinisher::Kept StreamFinisher::keep_final(const StreamPlan& stream) const {
  if (finals_.replaces(stream.final_path)) return Kept::kNot;
  if (options_.fresh) {
    remove_final(stream.final_path);
    if (standard_path(stream) != stream.final_path) remove_final(standard_path(stream));
    return Kept::kNot;
  }
  const FinalOutlook outlook = final_outlook(options_, stream, /*check_hash=*/true);
  if (outlook.state == FinalState::kDamaged) {
    log_.warning("final_damaged",
                 fmt::format("{} is damaged or unfinished; it is made again", stream.final_path),
                 {{"path", stream.final_path}});
  } else if (outlook.state == FinalState::kValid) {
    // A run that was killed at its end has left it. In an attempt another run may need it.
    if (!finals_.active()) remove_durably(publishing_path(stream.final_path));
    explain_outlook(outlook, stream);
  }
  if (!outlook.convert_from.empty()) {
    convert(outlook.convert_from, stream);
    return Kept::kConverted;
  }
  return outlook.complete() ? Kept::kUnchanged : Kept::kNot;
}

// Logs what the run does with a valid final matrix.
void StreamFinisher::explain_outlook(const FinalOutlook& outlook, const StreamPlan& stream) const {
  if (!outlook.fits_quarantine) {
    log_.info("final_other_quarantine",
              fmt::format("{} was not made with --quarantine {} (semantic.quarantine), as this run "
                          "asks for; it is made again from the chunks",
                          stream.final_path, to_string(options_.quarantine)),
              {{"path", stream.final_path}});
  } else if (outlook.has_format) {
    log_.info("stream_skipped",
              fmt::format("{}: already done, {} in {}", stream.config.name(),
                          shape(stream.identity), stream.final_path),
              {{"stream", stream.config.name()}, {"path", stream.final_path}});
  } else if (!outlook.complete()) {
    const std::string wanted = describe(options_.final_format);
    log_.info(
        "final_other_type",
        fmt::format("{} is {}, but {} is wanted; it is made again, from the chunks if they "
                    "were kept",
                    stream.final_path, to_string(read_manifest(stream.final_path)->type), wanted),
        {{"path", stream.final_path}, {"output_dtype", wanted}});
  }
}

int64_t StreamFinisher::take_back(const StreamPlan& stream) {
  adopt_earlier_chunks(options_, stream.config.name(), log_);
  const std::string folder = chunks_dir(options_.cache_dir, stream.config.name());
  std::error_code failure;
  const bool has_chunks = std::filesystem::exists(folder, failure);
  if (failure) throw system_error("run.retry", "look for", folder, failure.value());
  if (!has_chunks) return 0;
  const std::unique_ptr<ChunkStore> store = ChunkStore::open(
      options_.cache_dir, stream.identity, stream.chunk_rows, ChunkStore::Open::kResume);
  std::vector<int64_t> chunks;
  int64_t rows = 0;
  for (const ChunkRecord& record : store->committed()) {
    if (!record.set_aside) continue;
    chunks.push_back(record.index);
    rows += record.stats.set_aside_rows;
  }
  const std::optional<Manifest> manifest = read_manifest(stream.final_path);
  if (manifest && manifest->quarantine != QuarantinePolicy::kError) {
    finals_.replace(stream.final_path);
    if (!finals_.active()) remove_final(stream.final_path);
  }
  store->discard(chunks);
  if (rows == 0) return rows;
  log_.info("rows_taken_back",
            fmt::format("{}: {} tried again, with the other rows of {}", stream.config.name(),
                        format_count(rows, "row that failed is", "rows that failed are"),
                        format_count(std::ssize(chunks), "chunk", "chunks")),
            {{"stream", stream.config.name()}, {"rows", rows}, {"chunks", chunks.size()}});
  return rows;
}

StreamState StreamFinisher::resume(const StreamPlan& stream) const {
  create_directories_durably(parent_directory(work_path_of(options_, stream.final_path)));
  if (const Kept kept = keep_final(stream); kept != Kept::kNot) {
    return {.finished = true,
            .unchanged = kept == Kept::kUnchanged,
            .encoded = true,
            .rows_done = stream.identity.rows};
  }
  if (!chunk_files()) return finish_standard(stream);
  adopt_earlier_chunks(options_, stream.config.name(), log_);
  const auto mode = options_.fresh ? ChunkStore::Open::kFresh : ChunkStore::Open::kResume;
  const std::unique_ptr<ChunkStore> store = open_chunks(options_, stream, mode);
  const auto committed = static_cast<int64_t>(store->committed().size());
  const std::string rows = format_count(store->chunk_rows(), "row", "rows");
  std::string text =
      committed == 0 ? fmt::format("starting from scratch, {} of {}",
                                   format_count(store->chunk_count(), "chunk", "chunks"), rows)
                     : fmt::format("{} of {} committed, continuing with the rest", committed,
                                   format_count(store->chunk_count(), "chunk is", "chunks are"));
  if (store->chunk_rows() == stream.chunk_rows && !stream.chunk_reason.empty())
    text += fmt::format(" ({})", stream.chunk_reason);
  if (store->chunk_rows() != stream.chunk_rows)
    text += fmt::format(" (chunks keep their earlier size of {})", rows);
  log_.info("stream_resumed", fmt::format("{}: {}", stream.config.name(), text),
            {{"stream", stream.config.name()},
             {"chunks_done", committed},
             {"chunks", store->chunk_count()},
             {"chunk_rows", store->chunk_rows()}});
  return from_chunks(stream, *store);
}

StreamState StreamFinisher::finish(const StreamPlan& stream, bool alone) const {
  using Open = ChunkStore::Open;
  if (!chunk_files()) return finish_standard(stream);
  const auto open = [&](Open mode) {
    return ChunkStore::open(options_.cache_dir, stream.identity, stream.chunk_rows, mode);
  };
  try {
    // Opens without checks, because assembling checks every chunk.
    if (const auto store = open(Open::kJoin)) return from_chunks(stream, *store);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kData && error.exit_code() != ExitCode::kNoInput) throw;
  }
  // A chunk is damaged or missing, or somebody has removed all chunks.
  if (!alone) return {};
  return from_chunks(stream, *open(Open::kResume));
}

StreamState StreamFinisher::finish_standard(const StreamPlan& stream) const {
  StreamState state{.chunk_rows = stream.chunk_rows, .chunks = 1};
  const std::string path = standard_path(stream);
  const bool encoded = has_standard_rows(options_, stream);
  if (!encoded && stream.identity.rows > 0) return state;
  const std::string work = work_path_of(options_, stream.final_path);
  const bool publishes = !encoded || path != stream.final_path;
  if (publishes) require_input(stream);
  if (!encoded) begin_final(path, stream.identity)->publish({}, {.device = "none"});
  if (path != work) {
    reformat_final(path, work, options_.final_format, columns_of(options_, stream));
    remove_final(path);
  }
  publish_from_attempt(stream);
  state.finished = state.encoded = true;
  state.rows_done = stream.identity.rows;
  log_.info("stream_done",
            fmt::format("{}: saved to {}, {}, embedding dimension {}", stream.config.name(),
                        stream.final_path, shape(stream.identity), stream.identity.dim),
            {{"stream", stream.config.name()}, {"path", stream.final_path}});
  return state;
}

StreamState StreamFinisher::from_chunks(const StreamPlan& stream, ChunkStore& store) const {
  StreamState state{.chunk_rows = store.chunk_rows(),
                    .chunks = store.chunk_count(),
                    .set_aside = store.set_aside()};
  for (const std::string& sentence : store.dropped()) log_.warning("chunk_dropped", sentence);
  for (const ChunkRecord& record : store.committed()) state.rows_done += record.rows.size();
  state.encoded = store.pending().empty();
  if (!state.encoded || options_.quarantine == QuarantinePolicy::kDrop) return state;
  if (options_.quarantine == QuarantinePolicy::kError && !state.set_aside.empty()) return state;
  publish(stream, store, state.set_aside);
  state.finished = true;
  return state;
}

void StreamFinisher::publish_from_attempt(const StreamPlan& stream) const {
  finals_.publish(stream.final_path, [this, &stream] {
    return final_outlook(options_, stream, /*check_hash=*/true).complete();
  });
}

bool StreamFinisher::combine(const CombinePlan& plan, const std::vector<std::string>& parts,
                             const StreamIdentity& identity) const {
  const auto is_there = [&] {
    return final_state(plan.path, identity, /*check_hash=*/true) == FinalState::kValid;
  };
  if (is_there()) return false;
  combine_finals(parts, work_path_of(options_, plan.path), plan.name);
  finals_.publish(plan.path, is_there);
  return true;
}

void StreamFinisher::publish(const StreamPlan& stream, ChunkStore& store,
                             const std::vector<SetAsideRow>& rows) const {
  const FinalContent content = {.format = options_.final_format,
                                .quarantine = options_.quarantine,
                                .set_aside = rows,
                                .columns = columns_of(options_, stream)};
  require_input(stream);
  lock_.require();
  store.assemble(work_path_of(options_, stream.final_path), content, [this](int64_t /*chunk*/) {
    if (stop_.number() != 0) throw Stopped();
  });
  // Chunks with rows that were set aside are kept: another policy, or another try, needs them.
  const bool keep = options_.keep_chunk_cache || !rows.empty();
  const int64_t chunks = store.chunk_count();
  lock_.require();  // another run may need these chunks
  publish_from_attempt(stream);
  if (!keep) store.remove();
  const bool drops = options_.quarantine == QuarantinePolicy::kDrop;
  StreamIdentity identity = stream.identity;
  if (drops) identity.rows -= std::ssize(rows);
  log_.info("stream_done",
            fmt::format("{}: saved to {}, {}, embedding dimension {}, from {}{}",
                        stream.config.name(), stream.final_path, shape(identity), identity.dim,
                        format_count(chunks, "chunk", "chunks"), keep ? " (kept)" : ""),
            {{"stream", stream.config.name()},
             {"path", stream.final_path},
             {"rows", identity.rows},
             {"dim", identity.dim}});
  if (rows.empty()) return;
  log_.warning(
      "rows_missing",
      fmt::format("{}: {} not be encoded; the matrix has {}; {} lists them", stream.config.name(),
                  format_count(std::ssize(rows), "row could", "rows could"),
                  drops                           ? "no row for them"
                  : stream.identity.has_offsets() ? "no vector for them"
                                                  : "zeros in their place",
                  set_aside_path(stream.final_path)),
      {{"stream", stream.config.name()},
       {"rows", rows.size()},
       {"quarantine", to_string(options_.quarantine)}});
}

void StreamFinisher::publish_split(const std::vector<const StreamPlan*>& streams,
                                   const std::vector<StreamState*>& states) const {
  std::vector<std::string> names;
  std::vector<std::vector<SetAsideRow>> own;
  for (size_t i = 0; i < streams.size(); ++i) {
    const std::string& path = streams[i]->final_path;
    names.push_back(streams[i]->config.name());
    own.push_back(states[i]->finished ? set_aside_rows(path, *read_manifest(path))
                                      : states[i]->set_aside);
  }
  const std::vector<SetAsideRow> rows = rows_of_split(names, own);
  for (size_t i = 0; i < streams.size(); ++i) {
    const bool same = own[i].size() == rows.size();
    if (states[i]->finished && same) continue;
    adopt_earlier_chunks(options_, names[i], log_);
    const std::unique_ptr<ChunkStore> store =
        ChunkStore::open(options_.cache_dir, streams[i]->identity, streams[i]->chunk_rows,
                         ChunkStore::Open::kResume);
    if (!store->pending().empty()) {
      throw Error(
          {.code = "run.dropped_rows",
           .what = "rows of another stream of the split failed after this matrix was complete",
           .where = streams[i]->final_path,
           .expected = fmt::format("a matrix without {}, or its chunks",
                                   format_count(std::ssize(rows), "row", "rows")),
           .found = fmt::format("a matrix without {}, and no chunks",
                                format_count(std::ssize(own[i]), "row", "rows")),
           .hint = fresh_hint(options_, streams[i]->config)});
    }
    publish(*streams[i], *store, rows);
    states[i]->finished = true;
  }
}

}  // namespace encode
