#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/names.h"
#include "base/text_template.h"
#include "base/units.h"
#include "config/load.h"
#include "config/resolve.h"

namespace encode {
namespace {

constexpr const char* kOverlap = "passages.overlap";
constexpr const char* kRowVector = "passages.row_vector";
constexpr const char* kField = "passages.field";
constexpr const char* kVectors = "passages.vectors";
constexpr const char* kPassagesHint = "see docs/howto/passages.md";

Error conflict(const Origin& origin, std::string what, std::string expected, std::string found) {
  return error_at(origin, {.code = "config.conflict",
                           .what = std::move(what),
                           .expected = std::move(expected),
                           .found = std::move(found),
                           .hint = kPassagesHint});
}

std::string describe_text(const InputOptions& input) {
  if (!input.text_template.empty()) return fmt::format("'{}'", preview(input.text_template));
  return input.field.empty() ? "no field" : fmt::format("field: {}", preview(input.field));
}

// Refuses a field that is not once in the template. The field of a text without a template is its
// whole text.
void settle_passage_field(InputOptions& input, const Origin& origin) {
  if (input.passage_field.empty()) return;
  if (input.text_template.empty()) {
    if (input.passage_field != input.field)
      throw conflict(origin, "the text of a row does not have the field that is cut into passages",
                     "a template (text, --text) with this field", describe_text(input));
    input.passage_field.clear();
    return;
  }
  const int64_t count = TextTemplate(input.text_template).occurrences(input.passage_field);
  if (count == 1) return;
  throw conflict(origin,
                 count == 0
                     ? "the template does not have the field that is cut into passages"
                     : "the field that is cut into passages is in the template several times",
                 fmt::format("{{{}}} once in the template", preview(input.passage_field)),
                 describe_text(input));
}

// The passages of one stream.
class StreamPassages {
 public:
  StreamPassages(StreamConfig& stream, size_t number, const OriginFinder& origin_of)
      : stream_(stream), number_(number), origin_of_(origin_of) {}

  void settle() const {
    PassageOptions& passages = stream_.result.passages;
    if (!passages.cuts()) {
      if (!passages.none) check_without_passages();
      passages = {};
      stream_.input.passage_field.clear();
      return;
    }
    check_rule();
    settle_passage_field(stream_.input, origin_of_(kField, number_));
  }

 private:
  [[noreturn]] void refuse(const char* key, std::string what, std::string expected,
                           std::string found) const {
    throw conflict(origin_of_(key, number_), std::move(what), std::move(expected),
                   std::move(found));
  }

  void check_without_passages() const {
    constexpr const char* kWhat = "the texts are not cut into passages";
    constexpr const char* kExpected =
        "semantic.passages.max_tokens (--passage-tokens) or semantic.passages.by (--passages-by)";
    const PassageOptions& passages = stream_.result.passages;
    if (passages.overlap > 0)
      refuse(kOverlap, kWhat, kExpected, fmt::format("only an overlap of {}", passages.overlap));
    if (passages.vectors != PassageVectors::kAlone)
      refuse(kVectors, kWhat, kExpected,
             fmt::format("only vectors: {}", name_of(kPassageVectors, passages.vectors)));
    if (passages.row_vector != RowVector::kNone)
      refuse(kRowVector, kWhat, kExpected,
             fmt::format("only row_vector: {}", name_of(kRowVectors, passages.row_vector)));
    if (!stream_.input.passage_field.empty())
      refuse(kField, kWhat, kExpected,
             fmt::format("only the field '{}'", preview(stream_.input.passage_field)));
  }

  void check_rule() const {
    const PassageOptions& passages = stream_.result.passages;
    if (passages.max_tokens && passages.overlap >= *passages.max_tokens)
      refuse(kOverlap, "a passage would repeat all tokens of the one before it",
             fmt::format("an overlap below {}, the most tokens of a passage", *passages.max_tokens),
             fmt::to_string(passages.overlap));
    if (stream_.result.pooling == PoolingMode::kNone)
      throw conflict(origin_of_("semantic.pooling", kEveryStream),
                     "passages and a vector for each token exclude each other",
                     "a pooling, or no passages", "pooling: none and passages");
  }

  StreamConfig& stream_;
  size_t number_;
  const OriginFinder& origin_of_;
};

bool has_passage_vectors(const StreamConfig& stream) {
  const PassageOptions& passages = stream.result.passages;
  return passages.cuts() && passages.row_vector == RowVector::kNone;
}

void check_combined(const RunConfig& run, const OriginFinder& origin_of) {
  for (const CombineConfig& combine : run.combine) {
    for (const StreamConfig& stream : run.streams) {
      if (stream.split != combine.split || !has_passage_vectors(stream)) continue;
      if (std::ranges::find(combine.streams, stream.stream) == combine.streams.end()) continue;
      const Origin list = origin_of("output.combine", kEveryStream);
      throw conflict(list.where == "default" ? origin_of("semantic.combine", kEveryStream) : list,
                     "rows with several vectors cannot be combined",
                     "row_vector: mean, or no combined matrix",
                     fmt::format("a vector for each passage of {}", stream.name()));
    }
  }
}

void add_place_columns(RunConfig& run, const OriginFinder& origin_of) {
  FinalFormat& format = run.store.final_format;
  const auto of_passages = std::ranges::count_if(run.streams, has_passage_vectors);
  if (format.file == MatrixFormat::kNpy || of_passages == 0) return;
  if (of_passages < std::ssize(run.streams)) {
    const auto other = std::ranges::find_if_not(run.streams, has_passage_vectors);
    throw conflict(origin_of("output.format", kEveryStream),
                   "all tables of a run have the same columns, and those of passages have more",
                   "a vector for each passage in every stream or in none, or .npy files",
                   fmt::format("no vector for each passage of {}", other->name()));
  }
  const std::vector<TableColumn> places = place_columns();
  format.columns.insert(format.columns.begin(), places.begin(), places.end());
}

}  // namespace

void check_passage_field(InputOptions& input, const std::string& flag) {
  settle_passage_field(input, {.where = flag, .exit_code = ExitCode::kUsage});
}

void settle_passages(RunConfig& run, const OriginFinder& origin_of) {
  for (size_t i = 0; i < run.streams.size(); ++i)
    StreamPassages(run.streams[i], i, origin_of).settle();
  check_combined(run, origin_of);
  add_place_columns(run, origin_of);
}

}  // namespace encode
