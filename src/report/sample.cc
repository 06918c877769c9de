#include "report/sample.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <set>

#include "encode/error.h"
#include "encode/model_directory.h"
#include "encode/text.h"
#include "encode/tokenizer.h"
#include "encode/vector_rows.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "report/repeatable_random.h"
#include "store/fingerprint/fingerprint.h"
#include "store/matrix/stored_values.h"
#include "tokenizer/document_tokens.h"

namespace encode {
namespace {

constexpr size_t kShownBytes = 240;
constexpr ErrorCode kTextsCode = "report.texts";

// Returns the beginning of a text of the input on one line. (Texts of an input are valid UTF-8.)
std::string shown(const std::string& text) {
  std::string beginning(utf8_prefix(text, kShownBytes));
  std::replace(beginning.begin(), beginning.end(), '\n', ' ');
  return printable(beginning) + (text.size() > kShownBytes ? "..." : "");
}

// Counts the tokens of texts with the tokenizer of a stream.
class TokenCounter {
 public:
  // If the model cannot be opened, problem() says why, and every count is -1.
  explicit TokenCounter(const ResultOptions& options) {
    try {
      const ModelDirectory directory =
          open_model_directory(resolve_model(options.model, options.revision),
                               custom_code_policy(options.ignore_custom_code));
      const EffectiveResult effective = effective_result(directory, options);
      max_length_ = effective.max_length;
      prompt_ = effective.prompt;
      options_ = {.max_length = 0, .add_special_tokens = directory.add_special_tokens};
      TokenizerSource source = read_tokenizer_source(directory, effective.tokenizer);
      if (!tokenizer_file_of(source).empty())
        tokenizer_ = load_document_tokenizer(std::move(source), directory);
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

// Proves that the vectors were made of these texts. Otherwise a changed text would be shown with
// the vector of the old text.
void require_input(const StreamConfig& stream, const StreamIdentity& encoded) {
  std::vector<InputScan::File> files;
  for (const std::string& path : input_files(stream.input)) {
    const UniqueFd fd = open_for_reading(path, kTextsCode);
    files.push_back({.path = path, .bytes = file_size(fd, path), .sha256 = sha256_of(fd, path)});
  }
  if (has_input(encoded.fingerprint, stream.input, files)) return;
  throw Error({.code = kTextsCode,
               .exit_code = ExitCode::kData,
               .what = "the input is not the one that was encoded",
               .where = stream.input.path,
               .expected = "the files and the options of the run that made the matrix",
               .found = "other content, other files or other options",
               .hint = "run encode again, or report with the texts that were encoded"});
}

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

std::vector<int64_t> rows_of(const Matrix& matrix, const std::vector<int64_t>& vectors) {
  const VectorRows rows = read_vector_rows(matrix.path(), matrix.manifest());
  std::vector<int64_t> numbers;
  for (const int64_t vector : vectors) numbers.push_back(rows.row_of(vector));
  return numbers;
}

SampleMatrix read_vectors(const Matrix& matrix, const std::vector<int64_t>& rows) {
  const StoredValues values(matrix.path(), matrix.manifest());
  SampleMatrix sample(std::ssize(rows), matrix.dim());
  MatrixBuffer buffer;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::span<const float> row =
        values.convert(matrix.stored({rows[i], rows[i] + 1}, buffer), buffer.floats);
    std::copy(row.begin(), row.end(), sample.row(static_cast<Eigen::Index>(i)).data());
  }
  return sample;
}

std::optional<SampleMatrix> read_chunk_vectors(const std::string& cache_dir,
                                               const StreamIdentity& identity,
                                               const std::vector<int64_t>& rows) {
  const std::optional<std::vector<float>> values = read_committed_rows(cache_dir, identity, rows);
  if (!values) return std::nullopt;
  return Eigen::Map<const SampleMatrix>(values->data(), std::ssize(rows), identity.dim);
}

SampleTexts read_texts(const StreamConfig& stream, const StreamIdentity& encoded,
                       const std::vector<int64_t>& rows) {
  SampleTexts texts;
  if (stream.input.is_standard_input()) {
    throw Error({.code = "report.stdin",
                 .exit_code = ExitCode::kUsage,
                 .what = "standard input cannot be read a second time",
                 .where = stream.name(),
                 .expected = "an input that is a file",
                 .found = "-",
                 .hint = "give the texts as a file if the report should show them"});
  }
  require_input(stream, encoded);
  TokenCounter counter(stream.result);
  texts.max_length = counter.max_length();
  texts.problem = counter.problem();
  const std::unique_ptr<TextReader> reader = open_texts(stream.input);
  auto wanted = rows.begin();
  for (Text text; wanted != rows.end() && reader->next(text);) {
    if (text.row != *wanted) continue;
    ++wanted;
    texts.empty_rows.empty += text.utf8.empty() && text.input_ids.empty() ? 1 : 0;
    texts.empty_rows.blank += is_white_space(text.utf8) ? 1 : 0;
    texts.rows.push_back({.text = text.tokenized
                                      ? fmt::format("{} token ids", text.input_ids.size())
                                      : shown(text.utf8),
                          .tokens = counter.count(text)});
  }
  return texts;
}

}  // namespace encode
