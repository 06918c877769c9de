// The keys of the run itself: batches, chunks and the cache directory.
#include <fmt/format.h>

#include "base/names.h"
#include "base/units.h"
#include "config/key_tables.h"
#include "config/key_values.h"

namespace encode {

std::vector<KeySpec> run_keys() {
  return {
      {.sections = {"semantic"},
       .name = "batch_size",
       .value = integer_or_auto_of(0, kMaxBatchRows),
       .default_text = default_of(kDefaultBatchSize),
       .flags = {{.group = FlagGroup::kSpeed,
                  .place = 30,
                  .name = "--batch-size",
                  .help = "Most rows in a batch of the longest rows (--max-length); a batch of "
                          "shorter rows has more; 0: no such limit"}},
       .help = "The most rows in a batch of rows of max_length tokens; 0: no such limit; auto: the "
               "run chooses it. A batch of shorter rows has more rows. It changes the speed and "
               "the memory, never the embeddings."},
      {.sections = {"semantic"},
       .name = "batch_tokens",
       .value = integer_or_auto_of(0, kMaxBatchTokens),
       .default_text = default_of(SpeedOptions().batch_tokens),
       .flags = {{.group = FlagGroup::kSpeed,
                  .place = 40,
                  .name = "--batch-tokens",
                  .help = "Most tokens in a batch; 0: 16,384 on a GPU and 512 on a CPU"}},
       .help = "The most tokens in a batch; 0: 16,384 on a GPU and 512 on a CPU; auto: the run "
               "chooses it. The smaller of this limit and the limit of batch_size applies. On a "
               "GPU it is rounded down to a multiple of what the GPU computes at once: 2,048 to "
               "16,384 tokens, by the width of the model. On a CPU it is at most 512."},
      {.sections = {"semantic"},
       .name = "padding",
       .value = choice_of(names_of(kPaddingPolicies)),
       .default_text = default_of(kPaddingPolicies, RunConfig().padding),
       .no_flag = "it changes nothing",
       .help = "How the rows of a batch get one length. encode never pads: the rows of a batch are "
               "packed one after the other. longest and max_length are accepted, for configs of "
               "other programs, and change nothing but a note in the log.",
       .set_run = [](RunConfig& r,
                     const Value& v) { r.padding = value_of(kPaddingPolicies, text(v)); }},
      {.sections = {"semantic"},
       .name = "use_chunked_encoding",
       .value = boolean_value(),
       .default_text = default_of(StoreOptions().use_chunked_encoding),
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 150,
                  .name = "--standard",
                  .fixed = "false",
                  .help = "Encode in one pass, without chunk files: a run that is interrupted "
                          "starts over"}},
       .help = "Encode in chunks that survive an interruption; false: the standard mode, which is "
               "one pass without chunk files.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.use_chunked_encoding = boolean(v); }},
      {.sections = {"semantic"},
       .name = "chunk_size",
       .value = integer_or_auto_of(0, 1'000'000'000),
       .default_text = default_of(StoreOptions().chunk_size),
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 140,
                  .name = "--chunk-size",
                  .help = fmt::format("Rows in a chunk; 0: 1/{} of the rows, but {} to {}",
                                      kDefaultChunks, kLeastDefaultChunkRows,
                                      format_count(kMostDefaultChunkRows))}},
       .help =
           fmt::format("The number of rows in a chunk; 0: 1/{} of the rows of the stream, but "
                       "at least {} and at most {}; auto: a number for each stream, so that a "
                       "kill costs about a minute of work at most.",
                       kDefaultChunks, kLeastDefaultChunkRows, format_count(kMostDefaultChunkRows)),
       .set_run = [](RunConfig& r,
                     const Value& v) { r.store.chunk_size = integer_or_auto(v, kAutoChunkRows); }},
      {.sections = {"semantic"},
       .name = "save_chunks",
       .value = boolean_value(),
       .default_text = default_of(StoreOptions().save_chunks),
       .no_flag = "`--standard` does the same",
       .help = "Save every chunk when it is complete, so that a run can be resumed; false: the "
               "standard mode.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.save_chunks = boolean(v); }},
      {.sections = {"semantic"},
       .name = "keep_chunk_cache",
       .value = boolean_value(),
       .default_text = default_of(StoreOptions().keep_chunk_cache),
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 170,
                  .name = "--keep-chunks",
                  .fixed = "true",
                  .help = "Keep the chunk files when the output is complete"}},
       .help = "Keep the chunk files of a finished stream, and the cache directory of a run with "
               "`output.file`.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.keep_chunk_cache = boolean(v); }},
      {.sections = {"semantic"},
       .name = "quarantine",
       .value = choice_of(names_of(kQuarantinePolicies)),
       .default_text = default_of(kQuarantinePolicies, StoreOptions().quarantine),
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 160,
                  .name = "--quarantine",
                  .help = "What the output has for a row that the model cannot encode: there is "
                          "no output (error), zeros, or no row (drop)"}},
       .help =
           "What the output has in place of a row that the model cannot encode. error: there is "
           "no output, all other rows are encoded and kept, and the run ends with exit code 65; "
           "zeros: a vector of zeros; drop: nothing, and the row is missing from the other "
           "streams of the split, too. A file beside the output lists the rows. A run that "
           "only changes this key encodes nothing again.",
       .set_run =
           [](RunConfig& r, const Value& v) {
             r.store.quarantine = value_of(kQuarantinePolicies, text(v));
           }},
      {.sections = {"semantic"},
       .name = "cache_dir",
       .alias = "cache_directory",
       .value = text_of(1),
       .default_note = "with `output.file` x.npy: `.x.npy.cache` beside it, which a finished run "
                       "removes; else `cache/embeddings`",
       .flags = {{.group = FlagGroup::kTexts,
                  .place = 120,
                  .name = "--cache-dir",
                  .placeholder = "DIR",
                  .help = "Directory of the chunks, the log and, without --output, the output"}},
       .help = "The directory of the chunks, the log and, without `output.file`, the matrices.",
       .set_run = [](RunConfig& r, const Value& v) { r.store.cache_dir = text(v); }},
      {.sections = {"semantic"},
       .name = "combine",
       .value = boolean_value(),
       .default_note = "`true` if `output.combine` is given, else `false`",
       .no_flag = "only a config has several streams",
       .help = "Also write one matrix for each split that holds its streams side by side."},
  };
}

}  // namespace encode
