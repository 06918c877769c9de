#include "plan/text_survey.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "encode/error.h"
#include "encode/text.h"

#include "tokenizer/document_tokens.h"

namespace encode {
namespace {

constexpr size_t kMostSurveyedRows = 16'384;
constexpr int64_t kMostBytes = 32 << 20;

int64_t bytes_of(const Text& text) {
  return static_cast<int64_t>(text.utf8.size() + text.input_ids.size() * sizeof(int32_t));
}

// A sample of rows, spread evenly over an input whose number of rows is not known in advance.
class Sample {
 public:
  explicit Sample(const SurveyOptions& options) : options_(options) {
    if (!options.passages || options.tokenizer == nullptr) return;
    cutter_.emplace(PassageSettings{.tokenizer = *options.tokenizer,
                                    .rule = *options.passages,
                                    .prompt = options.prompt,
                                    .frame = options.frame,
                                    .add_special_tokens = options.tokenize.add_special_tokens,
                                    .window_tokens = options.tokenize.max_length},
                    options.model_path);
  }

  bool wants(int64_t row) const { return row % stride_ == 0; }

  void add(Text& text) {
    Row row = {.tokens = {}, .cut = false, .bytes = bytes_of(text)};
    const int64_t limit = options_.tokenize.max_length;
    if (text.tokenized) {
      const auto all = static_cast<int64_t>(text.input_ids.size());
      row.tokens = {static_cast<int32_t>(std::min(all, limit))};
      row.cut = all > limit;
    } else {
      tokenize(text, row);
    }
    bytes_ += row.bytes;
    taken_.push_back(std::move(row));
    while (taken_.size() > kMostSurveyedRows || (bytes_ > kMostBytes && taken_.size() > 1))
      thin_out();
  }

  TextSurvey finish(int64_t rows, int64_t text_bytes) const {
    TextSurvey survey;
    survey.stride = stride_;
    int64_t tokens = 0;
    int64_t cut = 0;
    int64_t passages = 0;
    for (const Row& row : taken_) {
      cut += row.cut ? 1 : 0;
      passages += row.passages;
      for (const int32_t count : row.tokens) {
        survey.sample.push_back(count);
        tokens += count;
        survey.facts.longest_row_tokens = std::max<int64_t>(survey.facts.longest_row_tokens, count);
      }
    }
    survey.sampled_rows = std::ssize(taken_);
    const auto sampled = static_cast<double>(taken_.size());
    const auto of_all = [&](int64_t count) {
      return std::max<int64_t>(
          1, std::llround(static_cast<double>(count) / sampled * static_cast<double>(rows)));
    };
    survey.truncated_share = static_cast<double>(cut) / sampled;
    survey.facts.rows = rows;
    survey.facts.text_bytes = text_bytes;
    survey.facts.tokens = of_all(tokens);
    if (cutter_) survey.facts.passages = of_all(passages);
    if (cutter_ && cutter_->rule().late()) survey.facts.windows = of_all(std::ssize(survey.sample));
    // Takes the limit instead, because a row outside the sample may be longer than all rows in it.
    if (stride_ > 1) survey.facts.longest_row_tokens = options_.tokenize.max_length;
    return survey;
  }

 private:
  struct Row {
    std::vector<int32_t> tokens;  // of each of its sequences: the row, its passages or its windows
    bool cut;
    int64_t bytes;
    int64_t passages = 0;
  };

  void tokenize(Text& text, Row& row) {
    if (options_.tokenizer == nullptr) throw Error(texts_without_tokenizer(options_.model_path));
    rows_.clear();
    try {
      if (cutter_) {
        cut(text, row);
        return;
      }
      text.utf8.insert(0, options_.prompt);
      options_.tokenizer->encode(text.utf8, options_.tokenize, rows_);
    } catch (const Error& error) {
      if (refuses_row(error.detail().code)) return;  // the run sets such a row aside
      throw naming_row(error, text.place());
    }
    for (int64_t i = 0; i < rows_.size(); ++i) {
      row.tokens.push_back(static_cast<int32_t>(rows_.row(i).size()));
      row.cut = row.cut || rows_.lost_tokens[static_cast<size_t>(i)] > 0;
    }
  }

  void cut(const Text& text, Row& row) const {
    const CutText cut = cutter_->cut(text.framed());
    row.passages = std::ssize(cut.passages);
    for (int64_t i = 0; i < cut.sequences.size(); ++i)
      row.tokens.push_back(static_cast<int32_t>(cut.sequences.row(i).size()));
    row.cut = std::ranges::any_of(cut.lost_tokens, [](int32_t lost) { return lost > 0; });
  }

  // Drops every second row of the sample.
  void thin_out() {
    std::vector<Row> kept;
    bytes_ = 0;
    for (size_t i = 0; i < taken_.size(); i += 2) {
      kept.push_back(taken_[i]);
      bytes_ += taken_[i].bytes;
    }
    taken_ = std::move(kept);
    stride_ *= 2;
  }

  const SurveyOptions& options_;
  std::optional<PassageCutter> cutter_;
  TokenizedRows rows_;
  std::vector<Row> taken_;
  int64_t bytes_ = 0;
  int64_t stride_ = 1;
};

}  // namespace

TextSurvey survey_texts(const InputOptions& input, const SurveyOptions& options) {
  const std::unique_ptr<TextReader> reader = open_texts(input);
  Sample sample(options);
  int64_t rows = 0;
  int64_t bytes = 0;
  for (Text text; reader->next(text); ++rows) {
    bytes += bytes_of(text);
    if (sample.wants(text.row)) sample.add(text);
  }
  if (rows > 0) return sample.finish(rows, bytes);
  throw Error({.code = "plan.rows",
               .what = "the input has no rows to plan for",
               .where = input.path,
               .expected = "at least one row",
               .found = "no rows",
               .hint = "choose an input with rows"});
}

PaddingCost padding_cost(std::span<const int32_t> sample, int64_t batch_rows, int64_t max_length) {
  const auto real = std::accumulate(sample.begin(), sample.end(), int64_t{0});
  if (real == 0) return {};
  int64_t longest = 0;
  const auto size = static_cast<size_t>(std::max<int64_t>(1, batch_rows));
  for (size_t begin = 0; begin < sample.size(); begin += size) {
    const auto batch = sample.subspan(begin, std::min(size, sample.size() - begin));
    longest += *std::max_element(batch.begin(), batch.end()) * std::ssize(batch);
  }
  const auto ratio = [real](int64_t positions) {
    return static_cast<double>(positions) / static_cast<double>(real);
  };
  return {.longest = ratio(longest), .max_length = ratio(max_length * std::ssize(sample))};
}

}  // namespace encode
