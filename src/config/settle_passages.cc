#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/names.h"
#include "config/resolve.h"

namespace encode {
namespace {

constexpr const char* kOverlap = "semantic.passages.overlap";
constexpr const char* kRowVector = "semantic.passages.row_vector";
constexpr const char* kPassagesHint = "see docs/howto/passages.md";

Error conflict(const Origin& origin, std::string what, std::string expected, std::string found) {
  return Error({.code = "config.conflict",
                .exit_code = origin.exit_code,
                .what = std::move(what),
                .where = origin.where,
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = kPassagesHint});
}

void check_without_passages(const PassageOptions& passages, const OriginFinder& origin_of) {
  constexpr const char* kWhat = "the texts are not cut into passages";
  constexpr const char* kExpected =
      "semantic.passages.max_tokens (--passage-tokens) or semantic.passages.by (--passages-by)";
  if (passages.overlap > 0)
    throw conflict(origin_of(kOverlap), kWhat, kExpected,
                   fmt::format("only an overlap of {}", passages.overlap));
  if (passages.row_vector != RowVector::kNone)
    throw conflict(origin_of(kRowVector), kWhat, kExpected,
                   fmt::format("only row_vector: {}", name_of(kRowVectors, passages.row_vector)));
}

void check_rule(const ResultOptions& result, const OriginFinder& origin_of) {
  const PassageOptions& passages = result.passages;
  if (passages.max_tokens && passages.overlap >= *passages.max_tokens) {
    throw conflict(
        origin_of(kOverlap), "a passage would repeat all tokens of the one before it",
        fmt::format("an overlap below {}, the most tokens of a passage", *passages.max_tokens),
        fmt::to_string(passages.overlap));
  }
  if (result.pooling == PoolingMode::kNone)
    throw conflict(origin_of("semantic.pooling"),
                   "passages and a vector for each token exclude each other",
                   "a pooling, or no passages", "pooling: none and passages");
}

}  // namespace

void settle_passages(RunConfig& run, const OriginFinder& origin_of) {
  // The passages are the same for all streams.
  const ResultOptions& result = run.streams.front().result;
  if (!result.passages.cuts()) return check_without_passages(result.passages, origin_of);
  check_rule(result, origin_of);
  if (result.passages.row_vector != RowVector::kNone) return;
  FinalFormat& format = run.store.final_format;
  if (format.file != MatrixFormat::kNpy) {
    const std::vector<TableColumn> places = place_columns();
    format.columns.insert(format.columns.begin(), places.begin(), places.end());
  }
  if (!run.combine.empty()) {
    const Origin list = origin_of("output.combine");
    throw conflict(list.where == "default" ? origin_of("semantic.combine") : list,
                   "rows with several vectors cannot be combined",
                   "row_vector: mean, or no combined matrix", "a vector for each passage");
  }
}

}  // namespace encode
