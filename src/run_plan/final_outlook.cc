#include "run_plan/final_outlook.h"

#include <fmt/format.h>
#include <optional>

#include "encode/error.h"

#include "base/names.h"
#include "run_record/finished_run.h"
#include "run_record/run_of_output.h"
#include "run_record/run_paths.h"
#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

// Looks for a float32 final matrix of another file format, which has another name. A matrix with
// rows that were set aside is not taken, because `encode retry-failed` may have asked for these
// rows.
std::string other_file(const StoreOptions& options, const StreamPlan& stream, bool check_hash) {
  if (!options.output.empty()) return "";
  for (const auto& [name, format] : kMatrixFormats) {
    if (format == options.final_format.file) continue;
    const std::string path = final_path(options.matrix_dir(), stream.config.name(), format);
    if (final_state(path, stream.identity, check_hash) != FinalState::kValid) continue;
    const std::optional<Manifest> manifest = read_manifest(path);
    if (manifest->type == OutputType::kFloat32 && manifest->quarantine == QuarantinePolicy::kError)
      return path;
  }
  return "";
}

[[noreturn]] void refuse_foreign_final(const StoreOptions& options, const StreamPlan& stream) {
  const std::optional<Manifest> manifest = read_manifest(stream.final_path);
  const std::string first = manifest ? what_differs(manifest->identity, options, stream) : "";
  throw Error({.code = "run.foreign_final",
               .what = fmt::format("{}{}the existing result belongs to another run", first,
                                   first.empty() ? "" : "; "),
               .where = stream.final_path,
               .expected = "the same inputs, model and options",
               .found = explain_foreign(stream.final_path, stream.identity),
               .hint = fresh_hint(options, stream.config)});
}

}  // namespace

std::string what_differs(const StreamIdentity& earlier, const StoreOptions& options,
                         const StreamPlan& stream) {
  SourceNames before;
  if (!earlier.inputs.empty()) before.input = earlier.inputs.front().path;
  if (earlier.input_list) before.input = earlier.input_list->first_path;
  before.model = earlier.model;
  if (const auto unit = recorded_unit(options.cache_dir, earlier.name)) {
    if (before.model.empty()) before.model = unit->model_path;
    if (before.input.empty()) before.input = unit->input.path;
  } else if (before.model.empty()) {
    try {
      const std::optional<FinishedRun> run = read_finished_run(stream.final_path);
      if (run) before.model = run->model;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the record only gives a name
    }
  }
  return first_difference(earlier, stream.identity, before,
                          {.model = stream.model_path, .input = stream.config.input.path});
}

std::string another_output(const StoreOptions& options, const StreamConfig& stream) {
  // If --output names the file, another cache directory does not change it.
  if (!options.output.empty()) return "another --output FILE";
  // Only a run with one input takes --output.
  return stream.split.empty() ? "another --output FILE or --cache-dir DIR"
                              : "another --cache-dir DIR";
}

std::string fresh_hint(const StoreOptions& options, const StreamConfig& stream) {
  return fmt::format("to keep the old result, give this run {}; --fresh deletes it and starts over",
                     another_output(options, stream));
}

FinalOutlook final_outlook(const StoreOptions& options, const StreamPlan& stream, bool check_hash) {
  FinalOutlook outlook;
  outlook.state = final_state(stream.final_path, stream.identity, check_hash);
  switch (outlook.state) {
    case FinalState::kAbsent:
    case FinalState::kDamaged:
      outlook.convert_from = other_file(options, stream, check_hash);
      return outlook;
    case FinalState::kValid: {
      const std::optional<Manifest> manifest = read_manifest(stream.final_path);
      outlook.fits_quarantine = manifest->fits(options.quarantine);
      outlook.has_format = has_format(*manifest, options.final_format);
      const bool convert =
          outlook.fits_quarantine && !outlook.has_format && manifest->type == OutputType::kFloat32;
      if (convert) outlook.convert_from = stream.final_path;
      return outlook;
    }
    case FinalState::kForeign:
      break;
  }
  refuse_foreign_final(options, stream);
}

bool has_standard_rows(const StoreOptions& options, const StreamPlan& stream) {
  const std::string path = standard_path_of(options, work_path_of(options, stream.final_path),
                                            stream.config.input.filter.any());
  return final_state(path, stream.identity, /*check_hash=*/false) == FinalState::kValid &&
         read_manifest(path)->type == OutputType::kFloat32;
}

}  // namespace encode
