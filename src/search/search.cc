#include "search/search.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "base/host.h"
#include "base/thread_pool.h"
#include "search/nearest_rows.h"
#include "search/run_match.h"
#include "store/fingerprint/fingerprint.h"
#include "store/matrix/matrix.h"

namespace encode {
namespace {

// The most rows that are found before their texts are read and reported. With the limit of
// HitTexts, the texts take at most 256 MiB.
constexpr int64_t kRowsAtOnce = 16384;
constexpr int64_t kQueriesAtOnce = 32;

struct Batch {
  std::span<const std::string> queries;
  std::vector<std::vector<ScoredRow>> rows;  // the rows of each query
};

void report(const Batch& batch, const HitTexts& texts, const SearchCallbacks& callbacks) {
  std::vector<int64_t> wanted;
  for (const std::vector<ScoredRow>& rows : batch.rows) {
    for (const ScoredRow& row : rows) wanted.push_back(row.row);
  }
  const std::map<int64_t, RowText> found = texts.read(std::move(wanted));
  for (size_t i = 0; i < batch.queries.size(); ++i) {
    SearchResult result = {.query = batch.queries[i], .hits = {}};
    for (const ScoredRow& row : batch.rows[i]) {
      result.hits.push_back({.row = row.row, .score = row.score, .text = found.at(row.row)});
    }
    callbacks.on_result(result);
  }
}

std::vector<int64_t> left_out_rows(const Matrix& matrix, const HitTexts& texts) {
  const std::vector<int64_t> zeros = zero_rows(matrix);
  const std::vector<int64_t> empty = texts.rows_without_text();
  std::vector<int64_t> rows;
  std::set_union(zeros.begin(), zeros.end(), empty.begin(), empty.end(), std::back_inserter(rows));
  return rows;
}

}  // namespace

int run_search(const SearchRequest& request, const RunEnvironment& environment,
               const SearchCallbacks& callbacks) {
  SearchTarget target = request.target;
  require_finished(target.matrix_path);
  const std::unique_ptr<Matrix> matrix = open_matrix(target.matrix_path);
  require_searchable(*matrix);
  find_sources(*matrix, target);
  const std::vector<std::string> queries = read_queries(request.queries);
  const OpenedModel model =
      open_hashed_model(resolve_model(target.model, target.revision), target.hash_cache,
                        says_custom_code_ignored(matrix->manifest().identity.fingerprint));
  const ResultOptions of_run = options_of_run(*matrix, model);
  QueryJob job = {.texts = queries,
                  .result = of_run,
                  .hardware = target.hardware,
                  .threads = target.threads,
                  .model_files = model.files};
  job.result.passages = {};  // a query is one text
  job.result.model = model.directory.path;
  job.result.prompt = prompt_text(request.prompt, model.directory, of_run.prompt.value_or(""));
  const QueryVectors vectors = encode_queries(job, environment);
  if (vectors.stopped_by != 0) return vectors.stopped_by;
  const ScannedTextsOfRun input = texts_of_run(*matrix, model, of_run, target.texts);
  const HitTexts texts(*matrix, input.options, input.scan);
  const std::vector<int64_t> left_out = left_out_rows(*matrix, texts);

  const Similarity similarity = similarity_of(model.directory.similarity);
  callbacks.on_start({.matrix_path = matrix->path(),
                      .type = matrix->type(),
                      .rows = matrix->rows(),
                      .dim = matrix->dim(),
                      .similarity = similarity_in(matrix->type(), similarity),
                      .prompt = *job.result.prompt,
                      .queries = std::ssize(queries),
                      .truncated_queries = vectors.truncated_rows,
                      .left_out_rows = std::ssize(left_out),
                      .columns = texts.columns()});
  ThreadPool pool(threads_or_quota(target.threads), [] {});
  const auto step =
      static_cast<size_t>(std::clamp<int64_t>(kRowsAtOnce / request.count, 1, kQueriesAtOnce));
  const auto dim = static_cast<size_t>(matrix->dim());
  for (size_t first = 0; first < queries.size(); first += step) {
    const size_t count = std::min(step, queries.size() - first);
    const RowScorer scorer(*matrix, similarity,
                           std::span(vectors.values).subspan(first * dim, count * dim));
    report({.queries = std::span(queries).subspan(first, count),
            .rows =
                nearest_rows(*matrix, scorer, {.count = request.count, .but_not = left_out}, pool)},
           texts, callbacks);
  }
  return 0;
}

}  // namespace encode
