#include "search/run_sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

#include "encode/error.h"

#include "base/path_kind.h"
#include "base/units.h"
#include "store/audit.h"
#include "run_record/run_of_output.h"

namespace encode {
namespace {

constexpr size_t kShownBytesOfPath = 400;

// Returns what is wrong with the model of a record; "" if nothing is.
std::string problem_of_model(const std::string& model) {
  if (model.empty()) return "no record of the run that names the model";
  if (path_kind(model, "model.not_found") == PathKind::kDirectory) return "";
  return fmt::format("no directory '{}', which the record of the run names as the model",
                     preview(model, kShownBytesOfPath));
}

// Returns what is wrong with the texts that a manifest names; "" if nothing is.
std::string problem_of_texts(const Manifest& manifest) {
  for (const InputPart& part : manifest.identity.inputs) {
    if (path_exists(part.path, "text.open")) continue;
    const bool relative = !part.path.starts_with('/');
    return fmt::format("no file '{}'{}, which the manifest names as the texts",
                       preview(part.path, kShownBytesOfPath),
                       relative ? " in the current directory" : "");
  }
  return "";
}

}  // namespace

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
  if (target.model.empty()) {
    target.model = run_of_output(matrix.path()).model;
    add(problem_of_model(target.model), "the model", "the model with --model DIR");
  }
  if (target.texts.empty())
    add(problem_of_texts(matrix.manifest()), "the texts", "the texts with --texts FILE");
  if (missing.empty()) return;
  throw Error({.code = "search.sources",
               .what = fmt::format("{} of the matrix cannot be found", fmt::join(missing, " and ")),
               .where = matrix.path(),
               .expected = "the model and the texts that the run has used",
               .found = fmt::format("{}", fmt::join(found, "; ")),
               .hint = fmt::format("name {}", fmt::join(hints, ", and "))});
}

}  // namespace encode
