#include <fmt/format.h>
#include <optional>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/names.h"
#include "base/units.h"
#include "report/report.h"
#include "store/fingerprint/recorded_options.h"

namespace encode {
namespace {

constexpr size_t kShownBytesOfPath = 400;

Manifest finished_manifest(const std::string& matrix) {
  std::optional<Manifest> manifest = read_manifest(matrix);
  if (!manifest) {
    throw Error({.code = "report.unfinished",
                 .what = "the run has not finished this matrix",
                 .where = matrix,
                 .expected = "a matrix with its manifest",
                 .found = "no manifest",
                 .hint = "encode status says how far the run is"});
  }
  if (manifest->parts.empty()) return *std::move(manifest);
  throw Error({.code = "report.combined",
               .what = "a combined matrix has no texts and no run of its own",
               .where = matrix,
               .expected = "the matrix of one stream",
               .found = fmt::format("the columns of {} matrices", manifest->parts.size()),
               .hint = "report one of its parts, or give the config with --config"});
}

}  // namespace

LoadedConfig config_of_output(const RunOfOutput& run, const std::string& model) {
  const Manifest manifest = finished_manifest(run.output);
  RecordedOptions recorded = recorded_options(manifest.identity.fingerprint);
  LoadedConfig config;
  config.run.store.cache_dir = run.cache_dir;
  config.run.store.output = run.output;
  StreamConfig& stream = config.run.streams.emplace_back();
  stream.stream = manifest.identity.name;
  stream.input = std::move(recorded.input);
  for (const InputPart& part : manifest.identity.inputs) {
    if (stream.input.path.empty()) {
      stream.input.path = part.path;
    } else {
      stream.input.more_paths.push_back(part.path);
    }
  }
  stream.result = std::move(recorded.result);
  stream.result.model = model.empty() ? run.model : model;
  const auto add = [&](std::string key, std::string value) {
    config.settings.push_back(
        {.key = std::move(key), .value = std::move(value), .origin = manifest_path(run.output)});
  };
  add("input.file", preview(stream.input.path, kShownBytesOfPath));
  add("semantic.model", preview(stream.result.model, kShownBytesOfPath));
  add("semantic.dtype", std::string(to_string(stream.result.dtype)));
  add("semantic.max_length", fmt::to_string(stream.result.max_length.value_or(0)));
  return config;
}

}  // namespace encode
