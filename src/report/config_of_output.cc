#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "base/shell_quote.h"
#include "base/units.h"
#include "report/report.h"
#include "run_record/texts_of_output.h"
#include "store/fingerprint/fingerprint.h"
#include "store/parts_list.h"

namespace encode {
namespace {

constexpr size_t kShownBytesOfPath = 400;

// Makes the Error for a merged matrix, which was made by a run for each of its parts.
Error merged_error(const std::string& list_path) {
  const PartsList list = read_parts_list(list_path);
  std::string hint = "it has no rows";
  if (!list.parts.empty())
    hint =
        fmt::format("report one of its parts: {}",
                    shell_command({"encode", "report", part_path(list_path, list.parts.front())}));
  return Error(
      {.code = "report.combined",
       .what = "a merged matrix has no run of its own",
       .where = list_path,
       .expected = "the matrix of one run",
       .found = fmt::format("a list of {}", format_count(std::ssize(list.parts), "part", "parts")),
       .hint = std::move(hint)});
}

// Returns what the run encodes; nullopt if it has not begun to encode.
std::optional<StreamIdentity> identity_of(const RunOfOutput& run) {
  if (is_parts_list(run.output)) throw merged_error(run.output);
  const std::optional<Manifest> manifest = read_manifest(run.output);
  if (!manifest) {
    if (!run.unit) return std::nullopt;
    StreamIdentity identity = run.unit->identity;
    const InputOptions& input = run.unit->input;
    if (identity.input_list) return identity;
    identity.inputs = {{.path = input.path, .first_row = 0}};
    for (const std::string& path : input.more_paths)
      identity.inputs.push_back({.path = path, .first_row = 0});
    return identity;
  }
  if (manifest->parts.empty()) return manifest->identity;
  throw Error({.code = "report.combined",
               .what = "a combined matrix has no texts and no run of its own",
               .where = run.output,
               .expected = "the matrix of one stream",
               .found = fmt::format("the columns of {} matrices", manifest->parts.size()),
               .hint = "report one of its parts, or give the config with --config"});
}

}  // namespace

LoadedConfig config_of_output(const RunOfOutput& run, const std::string& model) {
  LoadedConfig config;
  config.run.store.cache_dir = run.cache_dir;
  config.run.store.output = run.output;
  const std::optional<StreamIdentity> identity = identity_of(run);
  if (!identity) return config;
  RecordedOptions recorded = recorded_options(identity->fingerprint);
  StreamConfig& stream = config.run.streams.emplace_back();
  stream.stream = identity->name;
  stream.input = std::move(recorded.input);
  std::vector<std::string> texts = texts_of_output(run, *identity).paths;
  if (texts.empty()) {
    for (const InputPart& part : identity->inputs) texts.push_back(part.path);
    if (identity->input_list) texts.push_back(identity->input_list->first_path);
  }
  if (!texts.empty()) {
    stream.input.path = texts.front();
    stream.input.more_paths.assign(texts.begin() + 1, texts.end());
  }
  stream.result = std::move(recorded.result);
  stream.result.model = model.empty() ? run.model : model;
  const auto add = [&](std::string key, std::string value) {
    config.settings.push_back(
        {.key = std::move(key), .value = std::move(value), .origin = "record of the run"});
  };
  add("input.file", preview(stream.input.path, kShownBytesOfPath));
  add("semantic.model", preview(stream.result.model, kShownBytesOfPath));
  add("semantic.dtype", std::string(to_string(stream.result.dtype)));
  add("semantic.max_length", fmt::to_string(stream.result.max_length.value_or(0)));
  return config;
}

}  // namespace encode
