#include "job/window_producer.h"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <utility>

#include "encode/error.h"
#include "encode/text.h"

#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "batching/pack.h"

namespace encode {
namespace {

// The maximum number of rows in a part of a window. A window with this many rows takes no other
// chunk. 4096 rows are enough to fill the batches, and few enough for the memory.
constexpr int64_t kWindowRows = 4096;
// The maximum number of chunks in a window. A stop waits until all chunks of a window are
// committed, one after another.
constexpr size_t kWindowChunks = 64;

void append(const TokenizedRows& part, TokenizedRows& whole) {
  const int64_t base = whole.offsets.back();
  whole.ids.insert(whole.ids.end(), part.ids.begin(), part.ids.end());
  for (size_t i = 1; i < part.offsets.size(); ++i) whole.offsets.push_back(base + part.offsets[i]);
  whole.lost_tokens.insert(whole.lost_tokens.end(), part.lost_tokens.begin(),
                           part.lost_tokens.end());
}

RowStats statistics(const TokenizedRows& rows) {
  RowStats stats;
  stats.tokens = static_cast<int64_t>(rows.ids.size());
  for (int64_t i = 0; i < rows.size(); ++i) {
    const int32_t lost = rows.lost_tokens[static_cast<size_t>(i)];
    stats.truncated_rows += lost > 0 ? 1 : 0;
    stats.lost_tokens += lost;
    stats.zero_token_rows += rows.row(i).empty() ? 1 : 0;
  }
  return stats;
}

std::vector<TruncatedRow> truncated_rows(const TokenizedRows& rows, int64_t first_row) {
  std::vector<TruncatedRow> truncated;
  for (int64_t i = 0; i < rows.size(); ++i) {
    const int32_t lost = rows.lost_tokens[static_cast<size_t>(i)];
    if (lost == 0) continue;
    truncated.push_back({.row = first_row + i,
                         .tokens = static_cast<int64_t>(rows.row(i).size()),
                         .lost_tokens = lost});
  }
  return truncated;
}

// Appends the token ids of one row, cut to `max_length` (0: no limit).
void append_ids(const std::vector<int32_t>& ids, int64_t max_length, TokenizedRows& rows) {
  const auto size = static_cast<int64_t>(ids.size());
  const int64_t kept = max_length > 0 ? std::min(size, max_length) : size;
  rows.ids.insert(rows.ids.end(), ids.begin(), ids.begin() + kept);
  rows.offsets.push_back(static_cast<int64_t>(rows.ids.size()));
  rows.lost_tokens.push_back(static_cast<int32_t>(size - kept));
}

std::vector<int32_t> row_tokens(const TokenizedRows& rows) {
  std::vector<int32_t> counts;
  for (int64_t row = 0; row < rows.size(); ++row)
    counts.push_back(static_cast<int32_t>(rows.row(row).size()));
  return counts;
}

// Tokenizes texts on several threads, in contiguous slices.
class SliceTokenizer {
 public:
  explicit SliceTokenizer(const TokenizePlan& plan) : plan_(plan), pool_(plan.threads, [] {}) {}

  TokenizedRows run(const std::vector<Text>& texts) {
    const int64_t count = static_cast<int64_t>(texts.size());
    const int64_t slices = std::min<int64_t>(count, plan_.threads == 1 ? 1 : plan_.threads * 4);
    std::vector<TokenizedRows> parts(static_cast<size_t>(slices));
    pool_.run(slices, [&](int64_t slice) {
      TokenizedRows& part = parts[static_cast<size_t>(slice)];
      for (int64_t i = count * slice / slices; i < count * (slice + 1) / slices; ++i) {
        const Text& text = texts[static_cast<size_t>(i)];
        if (text.tokenized) {
          append_ids(text.input_ids, plan_.options.max_length, part);
        } else {
          plan_.tokenizer->encode(text.utf8, plan_.options, part);
        }
      }
    });
    if (parts.size() == 1) return std::move(parts.front());
    TokenizedRows rows;
    for (const TokenizedRows& part : parts) append(part, rows);
    return rows;
  }

 private:
  const TokenizePlan& plan_;
  ThreadPool pool_;
};

}  // namespace

// Reads and tokenizes the rows of the tasks, part by part.
class PartSource {
 public:
  PartSource(const JobUnit& unit, const std::vector<ChunkTask>& tasks, const TokenizePlan& plan)
      : unit_(unit), tasks_(tasks), plan_(plan), reader_(open_texts(unit.input)), tokenizer_(plan) {
    skip_finished();
  }

  bool done() const { return task_ == tasks_.size(); }
  // Returns true if the next rows follow the last part directly, with no committed chunk between
  // them.
  bool goes_on() const { return !done() && tasks_[task_].rows.begin <= row_; }

  // Returns the next rows of the current chunk, at most kWindowRows, and appends their ids to
  // `window`. Adds the time that this takes to `seconds`.
  WindowPart next(TokenizedRows& window, StageSeconds& seconds) {
    Stopwatch watch;
    const ChunkTask& task = tasks_[task_];
    const int64_t begin = std::max(row_, task.rows.begin);
    if (begin != row_) reader_->seek(begin, unit_.scan);
    const std::vector<Text> texts = read_texts({begin, task.rows.end});
    seconds.read += watch.lap();
    TokenizedRows rows = tokenizer_.run(texts);
    seconds.tokenize += watch.lap();
    row_ = begin + rows.size();
    WindowPart part = {
        .chunk = task,
        .rows = {begin, row_},
        .stats = statistics(rows),
        .truncated = truncated_rows(rows, begin),
        .row_tokens = unit_.identity.token_embeddings ? row_tokens(rows) : std::vector<int32_t>()};
    if (window.size() == 0) {
      window = std::move(rows);
    } else {
      append(rows, window);
    }
    skip_finished();
    return part;
  }

 private:
  void skip_finished() {
    while (!done() && row_ >= tasks_[task_].rows.end) ++task_;
  }

  std::vector<Text> read_texts(RowRange rows) {
    Text text;
    std::vector<Text> texts;
    int64_t bytes = 0;
    const int64_t limit = std::min(kWindowRows, rows.size());
    while (static_cast<int64_t>(texts.size()) < limit && bytes < plan_.window_text_bytes) {
      if (!reader_->next(text)) {
        throw Error({.exit_code = ExitCode::kData,
                     .code = "text.changed",
                     .what = "the input has fewer rows than when the run began",
                     .where = unit_.input.path,
                     .expected = fmt::format("{} rows", unit_.identity.rows),
                     .found = fmt::to_string(rows.begin + static_cast<int64_t>(texts.size())),
                     .hint = "do not change an input during a run; start over with --fresh"});
      }
      if (!plan_.prompt.empty()) text.utf8.insert(0, plan_.prompt);
      bytes += static_cast<int64_t>(text.utf8.size() + text.input_ids.size() * sizeof(int32_t));
      texts.push_back(text);
    }
    return texts;
  }

  const JobUnit& unit_;
  const std::vector<ChunkTask>& tasks_;
  const TokenizePlan& plan_;
  std::unique_ptr<TextReader> reader_;
  SliceTokenizer tokenizer_;
  size_t task_ = 0;
  int64_t row_ = 0;  // the row that the reader returns next
};

WindowProducer::WindowProducer(const JobUnit& unit, std::vector<ChunkTask> tasks,
                               const TokenizePlan& plan)
    : unit_(unit), tasks_(std::move(tasks)), plan_(plan), thread_([this] { produce(); }) {}

WindowProducer::~WindowProducer() {
  queue_.abandon();
  thread_.join();
}

void WindowProducer::produce() {
  try {
    PartSource source(unit_, tasks_, plan_);
    while (!source.done()) {
      if (!queue_.push(make_window(source))) return;
    }
    queue_.finish();
  } catch (...) {
    queue_.finish(std::current_exception());
  }
}

Window WindowProducer::make_window(PartSource& source) const {
  Window window;
  TokenizedRows rows;
  const auto takes_another_chunk = [&] {
    const WindowPart& last = window.parts.back();
    return last.closes_chunk() && last.chunk.index >= unit_.alone_below &&
           rows.size() < kWindowRows && window.parts.size() < kWindowChunks &&
           static_cast<int64_t>(rows.ids.size()) < plan_.window_tokens;
  };
  do {
    window.parts.push_back(source.next(rows, window.seconds));
  } while (source.goes_on() && takes_another_chunk());
  Stopwatch watch;
  window.batches = pack(rows, plan_.batch_tokens, plan_.prompt_tokens);
  window.seconds.pack = watch.lap();
  return window;
}

}  // namespace encode
