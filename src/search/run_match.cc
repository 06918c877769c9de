#include "search/run_match.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>

#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

// Returns the identity that a run with these options gives a matrix of the scanned rows.
StreamIdentity identity_of(const OpenedModel& model, StreamConfig stream, const InputScan& scan) {
  stream.stream = "rows";  // any name will do: it is not in the fingerprint
  StreamPlan planned = begin_stream_plan(RunConfig(), stream, model);
  planned.scan = scan;
  finish_stream_plan(planned, model);
  return planned.identity;
}

StreamIdentity apart_from_input(StreamIdentity identity) {
  identity.fingerprint = without_input(identity.fingerprint);
  return identity;
}

Error model_error(const Matrix& matrix, const OpenedModel& model, std::string found) {
  return Error({.code = "search.model",
                .what = "the model is not the one that the matrix was made with",
                .where = model.directory.path,
                .expected = fmt::format("the model of {}", matrix.path()),
                .found = std::move(found),
                .hint = "give the model of the run with --model, or encode the texts again"});
}

Error kind_error(std::string what, const std::string& path, std::string found, std::string hint) {
  return Error({.code = "search.kind",
                .what = std::move(what),
                .where = path,
                .expected = "the matrix of one stream, with a vector for each row",
                .found = std::move(found),
                .hint = std::move(hint)});
}

}  // namespace

Error combined_error(const std::string& path, const std::vector<std::string>& parts) {
  return kind_error("a combined matrix cannot be searched", path,
                    fmt::format("the columns of {}", fmt::join(parts, ", ")),
                    "search one of its parts");
}

void require_searchable(const Matrix& matrix) {
  const Manifest& manifest = matrix.manifest();
  if (!manifest.parts.empty()) throw combined_error(matrix.path(), manifest.parts);
  if (manifest.identity.token_embeddings) {
    throw kind_error("a matrix of token embeddings cannot be searched", matrix.path(),
                     "a vector for each token",
                     "score it by MaxSim in Python (docs/howto/late-interaction.md), or encode the "
                     "texts with a pooling");
  }
  if (matrix.rows() > 0) return;
  throw Error({.code = "search.empty",
               .what = "the matrix has no rows",
               .where = matrix.path(),
               .expected = "at least one row",
               .found = "no rows",
               .hint = "look at the input of the run that made the matrix: it had no rows"});
}

ResultOptions options_of_run(const Matrix& matrix, const OpenedModel& model) {
  const StreamIdentity wanted = apart_from_input(matrix.manifest().identity);
  if (version_of(wanted.fingerprint) != Fingerprint::kVersion) {
    StreamIdentity ours = wanted;
    ours.fingerprint = fmt::format(R"({{"format":{}}})", Fingerprint::kVersion);
    throw model_error(matrix, model, describe_differences(wanted, ours));
  }
  // The fingerprint does not say whether the options or the directory gave the pooling and the
  // normalization. So the possible options are tried until one gives the same fingerprint.
  const ResultOptions recorded = recorded_options(matrix.manifest().identity.fingerprint).result;
  std::string differences;
  for (const std::optional<bool> normalize : {std::optional<bool>(), {true}, {false}}) {
    for (const bool own_pooling : {false, true}) {
      StreamConfig stream;
      stream.result = recorded;
      stream.result.normalize = normalize;
      if (!own_pooling) stream.result.pooling.reset();
      try {
        StreamIdentity found = apart_from_input(identity_of(model, stream, {}));
        if (found.fingerprint == wanted.fingerprint) return stream.result;
        found.rows = wanted.rows;
        if (differences.empty()) differences = describe_differences(wanted, found);
      } catch (const Error& error) {
        if (!error.detail().code.in_group("model")) throw;
        // The model does not support these options.
        if (differences.empty()) differences = error.detail().what;
      }
    }
  }
  throw model_error(matrix, model, std::move(differences));
}

ScannedTextsOfRun texts_of_run(const Matrix& matrix, const OpenedModel& model,
                               const ResultOptions& result, const std::vector<std::string>& paths) {
  const StreamIdentity& wanted = matrix.manifest().identity;
  std::vector<std::string> files = paths;
  if (files.empty()) {
    for (const InputPart& part : wanted.inputs) files.push_back(part.path);
  }
  const auto refuse = [&](const std::string& where, std::string what, std::string found) {
    return Error({.code = "search.texts",
                  .what = std::move(what),
                  .where = where,
                  .expected = fmt::format("the texts of {}", matrix.path()),
                  .found = std::move(found),
                  .hint = "name the files that were encoded with --texts, or encode again"});
  };
  if (files.empty())
    throw refuse(manifest_path(matrix.path()), "the manifest does not name the texts", "no file");
  if (says_filtered_elsewhere(wanted.fingerprint))
    throw refuse(matrix.path(),
                 "the filter of the texts read the input of another stream, which is not recorded",
                 "the matrix of a stream without the fields of its filter");
  ScannedTextsOfRun texts;
  texts.options = recorded_options(wanted.fingerprint).input;
  texts.options.path = files.front();
  texts.options.more_paths.assign(files.begin() + 1, files.end());
  texts.scan = scan_texts(texts.options, {});
  StreamConfig stream;
  stream.input = texts.options;
  stream.result = result;
  const StreamIdentity found = identity_of(model, stream, texts.scan);
  if (found.fingerprint == wanted.fingerprint && found.rows == wanted.rows) return texts;
  throw refuse(files.front(), "the texts are not those that were encoded",
               describe_differences(wanted, found));
}

}  // namespace encode
