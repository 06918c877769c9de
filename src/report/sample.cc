#include "report/sample.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <set>

#include "encode/error.h"
#include "encode/model_directory.h"
#include "encode/text.h"
#include "encode/tokenizer.h"

#include "base/file.h"
#include "base/npy.h"
#include "base/npy_reader.h"
#include "base/utf8.h"
#include "report/repeatable_random.h"
#include "store/layout.h"

namespace encode {
namespace {

constexpr size_t kShownBytes = 240;

// Turns the values of a final back into numbers.
class Dequantizer {
 public:
  explicit Dequantizer(const Matrix& matrix) : type_(matrix.type()) {
    if (!has_ranges(type_)) return;
    NpyReader reader(ranges_path(matrix.path()));
    const std::span<const float> values = reader.next(2);
    const auto dim = static_cast<size_t>(matrix.dim());
    if (values.size() != 2 * dim) {
      throw Error({.exit_code = ExitCode::kData,
                   .code = "report.ranges",
                   .what = "the ranges file does not fit its matrix",
                   .where = reader.path(),
                   .expected = fmt::format("2 x {} values", dim),
                   .found = fmt::format("{} values", values.size()),
                   .hint = "encode verify checks a matrix; encode run makes it again"});
    }
    lowest_.assign(values.begin(), values.begin() + matrix.dim());
    highest_.assign(values.begin() + matrix.dim(), values.end());
  }

  float operator()(float stored, size_t column) const {
    constexpr float kHalf = 0.5F;
    constexpr float kSteps = 255;
    if (type_ == OutputType::kBinary || type_ == OutputType::kUbinary) return 2 * stored - 1;
    if (!has_ranges(type_)) return stored;
    const float bucket = type_ == OutputType::kInt8 ? stored + 128 : stored;
    return lowest_[column] + (bucket + kHalf) * (highest_[column] - lowest_[column]) / kSteps;
  }

 private:
  OutputType type_;
  std::vector<float> lowest_;
  std::vector<float> highest_;
};

// The beginning of a text of the input on one line. (Texts of an input are valid UTF-8.)
std::string shown(const std::string& text) {
  std::string beginning(utf8_prefix(text, kShownBytes));
  std::replace(beginning.begin(), beginning.end(), '\n', ' ');
  return printable(beginning) + (text.size() > kShownBytes ? "..." : "");
}

// Counts the tokens of texts with the tokenizer of a stream.
class TokenCounter {
 public:
  // Without a model, problem() says why, and every count is -1.
  explicit TokenCounter(const ResultOptions& options) {
    try {
      const ModelDirectory directory =
          open_model_directory(resolve_model(options.model, options.revision));
      const EffectiveResult effective = effective_result(directory, options);
      max_length_ = effective.max_length;
      prompt_ = effective.prompt;
      options_ = {.max_length = 0,
                  .add_special_tokens = directory.add_special_tokens,
                  .count_lost_tokens = false};
      TokenizerSource source = read_tokenizer_source(directory);
      if (!source.path.empty()) tokenizer_ = load_tokenizer_from(std::move(source));
    } catch (const Error& error) {
      problem_ = fmt::format("{} ({})", error.detail().what, error.detail().where);
    }
  }

  int64_t count(const Text& text) {
    if (text.tokenized) return std::ssize(text.input_ids);
    if (!tokenizer_) return -1;
    rows_.clear();
    try {
      tokenizer_->encode(prompt_ + text.utf8, options_, rows_);
    } catch (const Error&) {
      return -1;
    }
    return std::ssize(rows_.ids);
  }

  int64_t max_length() const { return max_length_; }
  const std::string& problem() const { return problem_; }

 private:
  int64_t max_length_ = 0;
  std::string prompt_;
  TokenizeOptions options_;
  std::unique_ptr<Tokenizer> tokenizer_;
  TokenizedRows rows_;
  std::string problem_;
};

}  // namespace

std::vector<int64_t> sample_rows(int64_t rows, int64_t count) {
  std::set<int64_t> chosen;
  if (rows <= count) {
    for (int64_t row = 0; row < rows; ++row) chosen.insert(chosen.end(), row);
  } else {
    std::mt19937_64 random = repeatable_random();
    while (std::ssize(chosen) < count)
      chosen.insert(static_cast<int64_t>(random() % static_cast<uint64_t>(rows)));
  }
  return {chosen.begin(), chosen.end()};
}

SampleMatrix read_vectors(const Matrix& matrix, const std::vector<int64_t>& rows) {
  const Dequantizer dequantize(matrix);
  SampleMatrix sample(std::ssize(rows), matrix.dim());
  MatrixBuffer buffer;
  for (Eigen::Index i = 0; i < sample.rows(); ++i) {
    const int64_t row = rows[static_cast<size_t>(i)];
    const std::span<const float> values = matrix.floats({row, row + 1}, buffer);
    for (size_t column = 0; column < values.size(); ++column)
      sample(i, static_cast<Eigen::Index>(column)) = dequantize(values[column], column);
  }
  return sample;
}

std::optional<SampleMatrix> read_chunk_vectors(const std::string& cache_dir,
                                               const std::string& stream,
                                               const std::vector<int64_t>& rows) {
  const std::string folder = chunks_dir(cache_dir, stream);
  const std::string first = join_path(folder, chunk_file_name(0));
  if (rows.empty() || !entry_exists(first, "npy.open")) return std::nullopt;
  // Every chunk but the last has the rows of the first.
  const NpyHeader head = read_npy_header(first);
  SampleMatrix sample(std::ssize(rows), head.cols);
  int64_t open_chunk = -1;
  UniqueFd fd;
  std::string path;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t chunk = rows[i] / std::max<int64_t>(1, head.rows);
    if (chunk != open_chunk) {
      path = join_path(folder, chunk_file_name(chunk));
      fd = open_for_reading(path, "npy.open");
      open_chunk = chunk;
    }
    const int64_t bytes = head.cols * head.item_bytes();
    pread_all(fd,
              {reinterpret_cast<char*>(sample.row(static_cast<Eigen::Index>(i)).data()),
               static_cast<size_t>(bytes)},
              head.data_offset + (rows[i] - chunk * head.rows) * bytes, path);
  }
  return sample;
}

SampleTexts read_texts(const StreamConfig& stream, const std::vector<int64_t>& rows) {
  SampleTexts texts;
  if (stream.input.path == "-") {
    throw Error({.exit_code = ExitCode::kUsage,
                 .code = "report.stdin",
                 .what = "standard input cannot be read a second time",
                 .where = stream.name(),
                 .expected = "an input that is a file",
                 .found = "-",
                 .hint = "give the texts as a file if the report should show them"});
  }
  TokenCounter counter(stream.result);
  texts.max_length = counter.max_length();
  texts.problem = counter.problem();
  const std::unique_ptr<TextReader> reader = open_texts(stream.input);
  auto wanted = rows.begin();
  for (Text text; wanted != rows.end() && reader->next(text);) {
    if (text.row != *wanted) continue;
    ++wanted;
    texts.rows.push_back({.text = text.tokenized
                                      ? fmt::format("{} token ids", text.input_ids.size())
                                      : shown(text.utf8),
                          .tokens = counter.count(text)});
  }
  return texts;
}

}  // namespace encode
