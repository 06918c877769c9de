#include "job/window_producer.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "encode/error.h"
#include "encode/text.h"

#include "batching/pack.h"
#include "engine/thread_pool.h"

namespace encode {
namespace {

// Rows sorted and packed together: enough to fill batches to the brim, little enough to hold.
constexpr int64_t kWindowRows = 4096;

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

}  // namespace

// Ids that the input holds: as they are, except that no sequence is longer than the limit.
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

// Tokenizes the texts of a window on several threads, each a contiguous slice.
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

WindowProducer::WindowProducer(const JobUnit& unit, std::vector<ChunkTask> tasks,
                               const TokenizePlan& plan)
    : unit_(unit), tasks_(std::move(tasks)), plan_(plan), thread_([this] { produce(); }) {}

WindowProducer::~WindowProducer() {
  queue_.abandon();
  thread_.join();
}

void WindowProducer::produce() {
  try {
    const std::unique_ptr<TextReader> reader = open_texts(unit_.config.input);
    SliceTokenizer tokenizer(plan_);
    int64_t at = 0;
    for (const ChunkTask& task : tasks_) {
      if (task.rows.begin != at) reader->seek(task.rows.begin, unit_.scan);
      produce_chunk(*reader, task, tokenizer);
      if (abandoned_) return;
      at = task.rows.end;
    }
    queue_.finish();
  } catch (...) {
    queue_.finish(std::current_exception());
  }
}

std::vector<Text> WindowProducer::read_texts(TextReader& reader, RowRange rows) const {
  Text text;
  std::vector<Text> texts;
  int64_t bytes = 0;
  const int64_t limit = std::min(kWindowRows, rows.size());
  while (static_cast<int64_t>(texts.size()) < limit && bytes < plan_.window_text_bytes) {
    if (!reader.next(text)) {
      throw Error({.exit_code = ExitCode::kData,
                   .code = "text.changed",
                   .what = "the input has fewer rows than when the run began",
                   .where = unit_.config.input.path,
                   .expected = std::to_string(unit_.identity.rows) + " rows",
                   .found = std::to_string(rows.begin + static_cast<int64_t>(texts.size())),
                   .hint = "do not change an input during a run; start again with --fresh"});
    }
    if (!plan_.prompt.empty()) text.utf8.insert(0, plan_.prompt);
    bytes += static_cast<int64_t>(text.utf8.size() + text.input_ids.size() * sizeof(int32_t));
    texts.push_back(text);
  }
  return texts;
}

void WindowProducer::produce_chunk(TextReader& reader, const ChunkTask& task,
                                   SliceTokenizer& tokenizer) {
  for (int64_t begin = task.rows.begin; begin < task.rows.end;) {
    Stopwatch watch;
    StageSeconds seconds;
    const std::vector<Text> texts = read_texts(reader, {begin, task.rows.end});
    seconds.read = watch.lap();
    const TokenizedRows rows = tokenizer.run(texts);
    seconds.tokenize = watch.lap();
    Window window = {
        .chunk = task,
        .rows = {begin, begin + rows.size()},
        .batches = pack(rows, plan_.batch_tokens, plan_.prompt_tokens),
        .stats = statistics(rows),
        .truncated = truncated_rows(rows, begin),
        .row_tokens = unit_.identity.token_embeddings ? row_tokens(rows) : std::vector<int32_t>(),
        .seconds = seconds};
    window.seconds.pack = watch.lap();
    begin = window.rows.end;
    if (!queue_.push(std::move(window))) {
      abandoned_ = true;
      return;
    }
  }
}

}  // namespace encode
