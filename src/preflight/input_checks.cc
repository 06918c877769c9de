#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encode/text.h"

#include "base/empty_rows.h"
#include "base/file.h"
#include "base/input_format.h"
#include "base/named_path.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "base/vocabulary_limit.h"
#include "config/schema.h"
#include "model_dir/truncation.h"
#include "preflight/checks.h"
#include "text/encodings.h"
#include "tokenizer/document_tokens.h"
#include "tokenizer/passages.h"

namespace encode {
namespace {

// Inputs up to these sizes are read to their end, which takes less than half a second.
constexpr int64_t kWholeBytes = 32 << 20;
constexpr int64_t kWholeCompressedBytes = 8 << 20;
// The rows that are tokenized, from the beginning of the input.
constexpr int64_t kSampleRows = 2000;
constexpr double kSampleSeconds = 0.3;

struct Sample {
  int64_t rows = 0;
  int64_t records = 0;  // that were read to find these rows
  int64_t bytes = 0;    // of texts
  int64_t longest_bytes = 0;
  int64_t token_rows = 0;  // the rows that are token ids
  int64_t tokens = 0;      // the tokens of the tokenized rows, after the truncation
  int64_t passages = 0;    // of the tokenized rows; 0: they are not cut into passages
  int64_t longest_tokens = 0;
  int64_t truncated = 0;  // rows
  int64_t lost_tokens = 0;
  int64_t uncut_rows = 0;  // that cannot be cut into passages
  ErrorDetail uncut = {};  // why, of the last one
  EmptyRows empty_rows;
  bool ended = false;  // the input has no more rows
};

// Tokenizes the rows of a stream, and cuts them into passages as the run does.
class SampleTokenizer {
 public:
  explicit SampleTokenizer(const CheckedStream& stream) : stream_(stream) {
    const EffectiveResult& effective = stream.plan.effective;
    const Tokenizer* tokenizer = stream.model->tokenizer.get();
    const ModelDirectory& directory = stream.model->opened.directory;
    options_ = {.max_length = effective.max_length,
                .add_special_tokens = directory.add_special_tokens};
    if (tokenizer == nullptr || !effective.passages) return;
    cutter_.emplace(PassageSettings{.tokenizer = *tokenizer,
                                    .rule = *effective.passages,
                                    .prompt = effective.prompt,
                                    .frame = literal_frame(stream.plan.config.input),
                                    .add_special_tokens = directory.add_special_tokens,
                                    .window_tokens = effective.max_length},
                    directory.path);
  }

  void count(const Text& text, Sample& sample) {
    rows_.clear();
    lost_of_spans_ = 0;
    if (text.tokenized) {
      ++sample.token_rows;
      const int64_t limit = options_.max_length;
      const auto size = std::ssize(text.input_ids);
      rows_.ids.assign(text.input_ids.begin(), text.input_ids.begin() + std::min(size, limit));
      rows_.end_row(std::max<int64_t>(0, size - limit));
    } else if (stream_.model->tokenizer != nullptr) {
      tokenize(text, sample);
    } else {
      return;
    }
    const int64_t vocab_size = stream_.model->opened.directory.vocab_size;
    if (auto error = outside_vocabulary(rows_.ids, vocab_size,
                                        text.tokenized ? IdSource::kInput : IdSource::kTokenizer)) {
      error->where = text.place();
      throw Error(*std::move(error));
    }
    sample.tokens += std::ssize(rows_.ids);
    int64_t all_lost = lost_of_spans_;
    for (int64_t i = 0; i < rows_.size(); ++i) {
      const int64_t lost = rows_.lost_tokens[static_cast<size_t>(i)];
      sample.longest_tokens = std::max(sample.longest_tokens, std::ssize(rows_.row(i)) + lost);
      all_lost += lost;
    }
    sample.truncated += all_lost > 0 ? 1 : 0;
    sample.lost_tokens += all_lost;
  }

 private:
  void tokenize(const Text& text, Sample& sample) {
    try {
      if (cutter_) {
        CutText cut = cutter_->cut(text.framed());
        sample.passages += std::ssize(cut.passages);
        rows_ = std::move(cut.sequences);
        if (cutter_->rule().late())
          lost_of_spans_ = std::reduce(cut.lost_tokens.begin(), cut.lost_tokens.end(), int64_t{0});
      } else {
        stream_.model->tokenizer->encode(stream_.plan.effective.prompt + text.utf8, options_,
                                         rows_);
      }
    } catch (const Error& error) {
      if (!cutter_ || !refuses_row(error.detail().code)) throw naming_row(error, text.place());
      ++sample.uncut_rows;
      sample.uncut = naming_row(error, text.place()).detail();
    }
  }

  const CheckedStream& stream_;
  TokenizeOptions options_;
  std::optional<PassageCutter> cutter_;
  TokenizedRows rows_;
  int64_t lost_of_spans_ = 0;  // with PassageVectors::kLate, the tokens that passages have lost
};

Sample read_sample(const CheckedStream& stream) {
  const std::unique_ptr<TextReader> reader = open_texts(stream.plan.config.input);
  const Stopwatch watch;
  Sample sample;
  Text text;
  SampleTokenizer tokenizer(stream);
  while (sample.rows < kSampleRows && watch.seconds() < kSampleSeconds) {
    sample.ended = !reader->next(text);
    if (sample.ended) break;
    ++sample.rows;
    sample.records = text.record + 1;
    sample.empty_rows.empty += text.utf8.empty() && text.input_ids.empty() ? 1 : 0;
    sample.empty_rows.blank += is_white_space(text.utf8) ? 1 : 0;
    const int64_t bytes = text.tokenized ? std::ssize(text.input_ids) * int64_t{4}
                                         : static_cast<int64_t>(text.utf8.size());
    sample.bytes += bytes;
    sample.longest_bytes = std::max(sample.longest_bytes, bytes);
    tokenizer.count(text, sample);
  }
  return sample;
}

bool is_read_whole(const InputOptions& input, int64_t file_bytes) {
  const InputFormat format = input_format(input);
  const bool compressed = format.compression != Compression::kNone || is_columnar(format.format);
  return file_bytes <= (compressed ? kWholeCompressedBytes : kWholeBytes);
}

std::string describe(const CheckedStream& stream, const Sample& sample) {
  std::string text =
      fmt::format("{}{} in {}", stream.whole ? "" : "about ",
                  format_count(stream.rows, "row", "rows"), stream.plan.config.input.path);
  if (sample.rows == 0) return text;
  if (sample.tokens == 0) return text;
  text += fmt::format("; of the first {}: ", format_count(sample.rows));
  if (sample.passages > 0)
    text += fmt::format("{}, ", format_count(sample.passages, "passage", "passages"));
  text += fmt::format(
      "{} on average, none longer than {}",
      format_count(sample.tokens / std::max(sample.rows, sample.passages), "token", "tokens"),
      format_count(most_tokens(stream.plan.effective)));
  return text;
}

// Warns of rows without a text, in the whole input if it was read, or else in the sample.
void warn_of_empty_rows(const CheckedStream& stream, const Sample& sample, const std::string& check,
                        PreflightFindings& findings) {
  const InputScan& scan = stream.plan.scan;
  const EmptyRows rows =
      stream.whole ? EmptyRows{.empty = scan.empty, .blank = scan.blank} : sample.empty_rows;
  if (!rows.any()) return;
  const std::string where =
      stream.whole ? stream.plan.config.input.path
                   : fmt::format("the first {} of {}", format_count(sample.rows, "row", "rows"),
                                 stream.plan.config.input.path);
  findings.yellow(
      check, fmt::format("{}: {}, and would be encoded like other rows", where, describe(rows)),
      "to leave them out, " + empty_rows_advice(rows));
}

// Adds warnings about the input. Returns false if there are none.
bool warn(const CheckedStream& stream, const Sample& sample, const std::string& check,
          PreflightFindings& findings) {
  const size_t before = findings.all().size();
  const InputScan& scan = stream.plan.scan;
  const std::string& path = stream.plan.config.input.path;
  if (sample.rows == 0)
    findings.yellow(check, fmt::format("{} has no rows", path), "check the path and the format");
  if (sample.rows > 0 && stream.model->tokenizer == nullptr && sample.token_rows < sample.rows) {
    findings.at(RunStep::kTokenizer);
    findings.red(check, texts_without_tokenizer(stream.plan.model_path));
  }
  if (stream.whole && scan.rejected > 0) {
    findings.yellow(
        check,
        fmt::format("{} of {} in {} cannot be read and would be left out",
                    format_count(scan.rejected), format_count(scan.rows_in, "row", "rows"), path),
        "the summary of the run names the file that lists them");
  }
  if (stream.whole && scan.utf8_replaced > 0) {
    const ReplacedRows replaced = describe_replaced_rows(stream.plan.config.input, scan);
    findings.yellow(check, fmt::format("{}: {}", path, replaced.what), replaced.advice);
  }
  warn_of_empty_rows(stream, sample, check, findings);
  if (sample.uncut_rows > 0) {
    findings.yellow(
        check,
        fmt::format("{} of the first {} of {} would be set aside, the last one at {}: {}",
                    format_count(sample.uncut_rows), format_count(sample.rows, "row", "rows"), path,
                    sample.uncut.where, sample.uncut.what),
        sample.uncut.hint);
  }
  if (sample.truncated > 0) {
    const Truncation cut = {.rows = sample.rows,
                            .truncated_rows = sample.truncated,
                            .tokens = sample.tokens,
                            .lost_tokens = sample.lost_tokens,
                            .max_length = most_tokens(stream.plan.effective),
                            .position_limit = stream.plan.position_limit,
                            .of_passages = stream.plan.effective.passages.has_value()};
    findings.yellow(check,
                    describe(cut, fmt::format("the first {} of {}",
                                              format_count(sample.rows, "row", "rows"), path)),
                    truncation_advice(cut, setting_name(cut.key(), stream.by_flags)));
  }
  return findings.all().size() > before;
}

void check_input(CheckedStream& stream, const std::string& check, PreflightFindings& findings) {
  InputOptions& input = stream.plan.config.input;
  if (input.is_standard_input()) {
    findings.yellow(check, "standard input is read only by the run itself",
                    "write the rows to a file to have them checked");
    return;
  }
  for (const std::string& path : input_files(input))
    stream.file_bytes += file_size(open_named_file(path, "text.open"), path);
  stream.whole = is_read_whole(input, stream.file_bytes);
  if (stream.whole) {
    stream.plan.scan = scan_texts(input, {});
    stream.rows = stream.plan.scan.rows;
  }
  stream.readable = true;
}

// Tokenizes the first rows of an input that can be read.
void check_rows(CheckedStream& stream, const std::string& check, PreflightFindings& findings) {
  const InputOptions& input = stream.plan.config.input;
  const Sample sample = read_sample(stream);
  if (!stream.whole) {
    // The estimate assumes that the file consists of text alone, so it is somewhat high for JSON
    // and CSV, and too low for compressed files.
    stream.rows = sample.bytes > 0 ? stream.file_bytes * sample.rows / sample.bytes : sample.rows;
    if (input.filter.any() && sample.records > 0)
      stream.rows = stream.rows * sample.rows / sample.records;
    if (input.limit_rows > 0) stream.rows = std::min(stream.rows, input.limit_rows);
  }
  if (!warn(stream, sample, check, findings)) findings.green(check, describe(stream, sample));
}

}  // namespace

void check_inputs(CheckedExperiment& experiment, PreflightFindings& findings) {
  std::vector<CheckedStream> usable;
  for (CheckedStream& stream : experiment.streams) {
    const std::string check = "input " + stream.plan.config.name();
    findings.at(RunStep::kInputs);
    if (!findings.guard(check, [&] { check_input(stream, check, findings); })) continue;
    findings.at(RunStep::kRows);
    if (stream.readable) findings.guard(check, [&] { check_rows(stream, check, findings); });
    usable.push_back(std::move(stream));
  }
  experiment.streams = std::move(usable);
}

void check_other_inputs(const RunConfig& config, const CheckedExperiment& experiment,
                        PreflightFindings& findings) {
  findings.at(RunStep::kInputs);
  for (const StreamConfig& stream : config.streams) {
    const bool known = std::any_of(
        experiment.streams.begin(), experiment.streams.end(),
        [&](const CheckedStream& other) { return other.plan.config.name() == stream.name(); });
    if (known) continue;
    const std::string check = "input " + stream.name();
    CheckedStream alone;
    alone.plan.config = stream;
    findings.guard(check, [&] {
      check_input(alone, check, findings);
      if (!alone.readable) return;
      findings.green(check, alone.whole ? describe(alone, {})
                                        : fmt::format("{} can be read", stream.input.path));
    });
  }
}

}  // namespace encode
