#include "job/window_producer.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <utility>

#include "encode/error.h"
#include "encode/text.h"

#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "batching/pack.h"
#include "job/skip_list.h"
#include "text/file_identity.h"

namespace encode {
namespace {

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

std::vector<EmbeddingKey> keys_of(const Window& window, const TokenizedRows& rows,
                                  KeyMaker& maker) {
  std::vector<EmbeddingKey> keys(static_cast<size_t>(rows.size()));
  for (const PackedBatch& batch : window.batches) {
    for (const int64_t row : batch.rows) keys[static_cast<size_t>(row)] = maker.key(rows.row(row));
  }
  return keys;
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
          tokenize(text, part);
        }
        check_ids(text, part.row(part.size() - 1));
      }
    });
    if (parts.size() == 1) return std::move(parts.front());
    TokenizedRows rows;
    for (const TokenizedRows& part : parts) append(part, rows);
    return rows;
  }

 private:
  void tokenize(const Text& text, TokenizedRows& rows) const {
    try {
      plan_.tokenizer->encode(text.utf8, plan_.options, rows);
    } catch (const Error& error) {
      throw naming_row(error, text.place());
    }
  }

  // Checked here, because the error names the row, which the engine does not know.
  void check_ids(const Text& text, std::span<const int32_t> ids) const {
    if (plan_.vocab_size == 0) return;
    const auto bad = std::find_if(ids.begin(), ids.end(),
                                  [this](int32_t id) { return id < 0 || id >= plan_.vocab_size; });
    if (bad == ids.end()) return;
    throw Error(
        {.code = "batch.token_id",
         .what = text.tokenized ? "a row has a token id that the model does not have"
                                : "the tokenizer gives a token id that the model does not have",
         .where = text.place(),
         .expected = fmt::format("0 to {}", plan_.vocab_size - 1),
         .found = fmt::format("{} as entry {}", *bad, bad - ids.begin()),
         .hint = text.tokenized ? "make the ids with the tokenizer of this model, or drop the row"
                                : "use the tokenizer and the weights of the same model"});
  }

  const TokenizePlan& plan_;
  ThreadPool pool_;
};

// Returns the token type of each id, or nothing if all are 0.
std::vector<int32_t> type_ids_of(const TokenizePlan& plan, const TokenizedRows& rows) {
  if (plan.type_ids.all_zero()) return {};
  std::vector<int32_t> types(rows.ids.size());
  for (int64_t row = 0; row < rows.size(); ++row) {
    const auto begin = static_cast<size_t>(rows.offsets[static_cast<size_t>(row)]);
    const std::span<int32_t> own = std::span(types).subspan(begin, rows.row(row).size());
    if (!own.empty()) fill_type_ids(plan.type_ids, plan.options.add_special_tokens, own);
  }
  return types;
}

}  // namespace

// Reads and tokenizes the rows of the tasks, part by part.
class PartSource {
 public:
  PartSource(const JobUnit& unit, TaskQueue& tasks, const TokenizePlan& plan)
      : unit_(unit),
        tasks_(tasks),
        plan_(plan),
        reader_(open_scanned_texts(unit.input, unit.scan)),
        tokenizer_(plan) {
    skip_finished();
  }

  bool done() { return !tasks_.claim(); }
  // Returns true if the next rows belong to the same stretch and follow the last part without a
  // gap.
  bool goes_on() {
    return !done() && !tasks_.begins_stretch() && tasks_.front().rows.begin <= row_;
  }

  // Reads the next rows of the current chunk, at most a part of this size, and appends their ids to
  // `window`. Adds the time that this takes to `seconds`.
  WindowPart next(TokenizedRows& window, const WindowSize& size, StageSeconds& seconds) {
    Stopwatch watch;
    const ChunkTask task = tasks_.front();
    const int64_t begin = std::max(row_, task.rows.begin);
    if (begin != row_) reader_->seek(begin);
    std::vector<Text> texts = read_texts({begin, task.rows.end}, size);
    std::vector<SetAsideRow> set_aside =
        take_set_aside({begin, begin + static_cast<int64_t>(texts.size())}, texts);
    seconds.read += watch.lap();
    TokenizedRows rows = tokenizer_.run(texts);
    seconds.tokenize += watch.lap();
    row_ = begin + rows.size();
    WindowPart part = {
        .chunk = task,
        .rows = {begin, row_},
        .stats = statistics(rows),
        .truncated = truncated_rows(rows, begin),
        .set_aside = {},
        .row_tokens = unit_.identity.token_embeddings ? row_tokens(rows) : std::vector<int32_t>()};
    part.stats.zero_token_rows -= std::ssize(set_aside);
    part.stats.set_aside_rows = std::ssize(set_aside);
    part.set_aside = std::move(set_aside);
    if (window.size() == 0) {
      window = std::move(rows);
    } else {
      append(rows, window);
    }
    skip_finished();
    return part;
  }

 private:
  // Returns the quarantined rows of the range, and clears their texts, so that they get no token.
  std::vector<SetAsideRow> take_set_aside(RowRange range, std::vector<Text>& texts) const {
    const auto first =
        std::lower_bound(unit_.set_aside.begin(), unit_.set_aside.end(), range.begin,
                         [](const SetAsideRow& row, int64_t begin) { return row.row < begin; });
    std::vector<SetAsideRow> found;
    for (auto row = first; row != unit_.set_aside.end() && row->row < range.end; ++row) {
      Text& text = texts[static_cast<size_t>(row->row - range.begin)];
      text.utf8.clear();
      text.input_ids.clear();
      text.tokenized = true;
      found.push_back(*row);
    }
    return found;
  }

  void skip_finished() {
    while (!done() && row_ >= tasks_.front().rows.end) tasks_.pop();
  }

  std::vector<Text> read_texts(RowRange rows, const WindowSize& size) {
    Text text;
    std::vector<Text> texts;
    int64_t bytes = 0;
    const int64_t limit = std::min(size.rows, rows.size());
    while (static_cast<int64_t>(texts.size()) < limit && bytes < size.text_bytes) {
      if (!reader_->next(text)) {
        throw changed_in_run(unit_.input.path, "the input has fewer rows than when the run began",
                             format_count(unit_.identity.rows, "row", "rows"),
                             fmt::to_string(rows.begin + static_cast<int64_t>(texts.size())));
      }
      if (!plan_.prompt.empty()) text.utf8.insert(0, plan_.prompt);
      bytes += static_cast<int64_t>(text.utf8.size() + text.input_ids.size() * sizeof(int32_t));
      texts.push_back(text);
    }
    return texts;
  }

  const JobUnit& unit_;
  TaskQueue& tasks_;
  const TokenizePlan& plan_;
  std::unique_ptr<ScannedTexts> reader_;
  SliceTokenizer tokenizer_;
  int64_t row_ = 0;  // the row that the reader returns next
};

WindowProducer::WindowProducer(const JobUnit& unit, TaskQueue tasks, const TokenizePlan& plan)
    : unit_(unit), tasks_(std::move(tasks)), plan_(plan), thread_([this] { produce(); }) {}

WindowProducer::~WindowProducer() {
  queue_.abandon();
  thread_.join();
}

void WindowProducer::produce() {
  try {
    PartSource source(unit_, tasks_, plan_);
    while (!source.done()) {
      await_memory();
      if (!queue_.push(make_window(source))) return;
    }
    queue_.finish();
  } catch (...) {
    queue_.finish(std::current_exception());
  }
}

// While the host is short of memory, waits until the consumer has taken all windows.
void WindowProducer::await_memory() {
  constexpr auto kLookAgain = std::chrono::milliseconds(100);
  if (plan_.guard == nullptr) return;
  while (plan_.guard->pressed() && !queue_.await_empty(kLookAgain)) {
  }
}

Window WindowProducer::make_window(PartSource& source) const {
  const WindowSize size = plan_.next_window();
  Window window;
  TokenizedRows rows;
  const auto takes_another_chunk = [&] {
    const WindowPart& last = window.parts.back();
    return last.closes_chunk() && rows.size() < size.rows &&
           std::ssize(window.parts) < kWindowChunks &&
           static_cast<int64_t>(rows.ids.size()) < size.tokens;
  };
  do {
    window.parts.push_back(source.next(rows, size, window.seconds));
  } while (source.goes_on() && takes_another_chunk());
  window.last = source.done();
  Stopwatch watch;
  window.skipped = skipped_tokens(rows, plan_.skip_list);
  window.duplicates = find_duplicates(rows);
  window.batches = pack(rows, plan_.batch_tokens, plan_.prompt_tokens, window.duplicates);
  set_type_ids(window.batches, rows, type_ids_of(plan_, rows));
  if (plan_.keys != nullptr) window.keys = keys_of(window, rows, *plan_.keys);
  window.seconds.pack = watch.lap();
  return window;
}

}  // namespace encode
