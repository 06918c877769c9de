// The identity of a stream whose input was read.
#include <fmt/format.h>
#include <optional>

#include "encode/error.h"

#include "base/units.h"
#include "run_plan/plan_steps.h"
#include "store/file_list.h"
#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

// Throws if the stream has a prompt and rows of token ids. Rows of token ids are encoded as they
// are, so a prompt cannot be put before them.
void check_prompt(const StreamPlan& stream) {
  if (stream.scan.tokenized == 0 || stream.effective.prompt.empty()) return;
  throw Error({.code = "text.prompt_and_ids",
               .what = "a prompt cannot be put before token ids",
               .where = stream.config.input.path,
               .expected = "texts, or no prompt",
               .found = fmt::format("{} of token ids, and the prompt '{}'",
                                    format_count(stream.scan.tokenized, "row", "rows"),
                                    preview(stream.effective.prompt)),
               .hint = "put the prompt's ids into the rows and set prompt: \"\""});
}

// Throws if rows of token ids are to be cut into passages.
void check_passages(const StreamPlan& stream) {
  if (stream.scan.tokenized == 0 || !stream.effective.passages) return;
  throw Error(
      {.code = "tokenize.input_ids",
       .what = "rows of token ids cannot be cut into passages",
       .where = stream.config.input.path,
       .expected = "texts, or no passages",
       .found = fmt::format("{} of token ids", format_count(stream.scan.tokenized, "row", "rows")),
       .hint = "give the rows as texts, or leave the passages (semantic.passages) out"});
}

std::optional<FileList> list_in(const InputScan& scan) {
  return scan.listed ? std::optional(scan.listed->list) : std::nullopt;
}

}  // namespace

void finish_stream_plan(StreamPlan& stream, const OpenedModel& model) {
  check_prompt(stream);
  check_passages(stream);
  InputScan& scan = stream.scan;
  if (!scan.listed && std::ssize(scan.files) > kMostUnlistedFiles)
    scan.listed = {.list = list_of(stream.config.input, scan.files),
                   .begin = 0,
                   .end = std::ssize(scan.files)};
  const ScannedFiles files = scan.listed ? ScannedFiles() : scan.files;
  const Fingerprint fingerprint = {.input = stream.config.input,
                                   .input_files = files,
                                   .input_list = list_in(scan),
                                   .kept_xxh3_128 = stream.scan.kept_xxh3_128,
                                   .model_files = model.files,
                                   .result = stream.effective};
  stream.identity = {.name = stream.config.name(),
                     .fingerprint = to_text(fingerprint),
                     .rows = stream.scan.rows,
                     .dim = stream.effective.dim,
                     .token_embeddings = stream.effective.token_embeddings(),
                     .passages = stream.effective.passage_vectors(),
                     .inputs = {},
                     .input_list = list_in(scan),
                     .model = stream.model_path,
                     .filtered = stream.scan.filtered};
  for (const ScannedFile& file : files)
    stream.identity.inputs.push_back({.path = file.path, .first_row = file.first_row});
}

}  // namespace encode
