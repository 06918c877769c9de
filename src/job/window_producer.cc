#include "job/window_producer.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <utility>

#include "encode/error.h"
#include "encode/text.h"

#include "base/stopwatch.h"
#include "base/units.h"
#include "batching/pack.h"
#include "batching/passage_counts.h"
#include "batching/sequences.h"
#include "job/skip_list.h"
#include "job/slice_tokenizer.h"
#include "job/window_part.h"
#include "text/file_identity.h"

namespace encode {
namespace {

std::vector<int32_t> row_tokens(const TokenizedRows& rows) {
  std::vector<int32_t> counts;
  for (int64_t row = 0; row < rows.size(); ++row)
    counts.push_back(static_cast<int32_t>(rows.row(row).size()));
  return counts;
}

std::vector<EmbeddingKey> keys_of(const Window& window, const Sequences& sequences,
                                  KeyMaker& maker) {
  std::vector<EmbeddingKey> keys(static_cast<size_t>(sequences.ids.size()));
  for (const PackedBatch& batch : window.batches) {
    for (const int64_t number : batch.sequence_numbers) {
      keys[static_cast<size_t>(number)] =
          maker.key(sequences.ids.row(number), sequences.vectors.spans_of(number));
    }
  }
  return keys;
}

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

  // Reads the next rows of the current chunk, at most a part of this size, and appends their
  // sequences to `window`. Adds the time that this takes to `seconds`.
  WindowPart next(Sequences& window, const WindowSize& size, StageSeconds& seconds) {
    Stopwatch watch;
    const ChunkTask task = tasks_.front();
    const int64_t begin = std::max(row_, task.rows.begin);
    if (begin != row_) reader_->seek(begin);
    std::vector<Text> texts = read_texts({begin, task.rows.end}, size);
    std::vector<SetAsideRow> set_aside =
        take_set_aside({begin, begin + static_cast<int64_t>(texts.size())}, texts);
    seconds.read += watch.lap();
    TokenizedTexts tokenized = tokenizer_.run(texts);
    seconds.tokenize += watch.lap();
    row_ = begin + std::ssize(texts);
    const RowRange rows = {begin, row_};
    WindowPart part = unit_.effective.passages
                          ? part_of_passages(rows, tokenized, unit_.effective.row_vector)
                          : part_of_rows(rows, tokenized.sequences, std::ssize(set_aside));
    part.chunk = task;
    if (unit_.identity.token_embeddings) part.row_vectors = row_tokens(tokenized.sequences);
    part.set_aside = std::move(set_aside);
    part.refused = std::move(tokenized.refused);
    add_refused(part);
    part.stats.set_aside_rows = std::ssize(part.set_aside);
    if (window.ids.size() == 0) {
      window.ids = std::move(tokenized.sequences);
      window.vectors = std::move(tokenized.vectors);
    } else {
      append(tokenized, window);
    }
    skip_finished();
    return part;
  }

 private:
  // Returns the bytes that a text counts in WindowSize::text_bytes.
  int64_t bytes_of(const Text& text) const {
    const auto bytes =
        static_cast<int64_t>(text.utf8.size() + text.input_ids.size() * sizeof(int32_t));
    const int64_t frame = text.bytes_before + text.bytes_after;
    // With PassageVectors::kLate the frame is around the whole text, and not around each passage.
    if (frame == 0 || !plan_.cutter || plan_.cutter->rule().late()) return bytes;
    return framed_bytes(plan_.cutter->rule(), bytes, frame);
  }

  // Returns the rows of the range that were set aside, and clears their texts, so that they get no
  // token.
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

  // Numbers the refused rows in the input, and sets them aside.
  static void add_refused(WindowPart& part) {
    if (part.refused.empty()) return;
    for (SetAsideRow& row : part.refused) row.row += part.rows.begin;
    part.set_aside.insert(part.set_aside.end(), part.refused.begin(), part.refused.end());
    std::ranges::sort(part.set_aside, {}, &SetAsideRow::row);
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
      if (!plan_.prompt.empty() && !plan_.cutter) text.utf8.insert(0, plan_.prompt);
      bytes += bytes_of(text);
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
  Sequences sequences;
  sequences.prompt_tokens = plan_.prompt_tokens;
  const TokenizedRows& rows = sequences.ids;
  const auto takes_another_chunk = [&] {
    const WindowPart& last = window.parts.back();
    return last.closes_chunk() && rows.size() < size.rows &&
           std::ssize(window.parts) < kWindowChunks &&
           static_cast<int64_t>(rows.ids.size()) < size.tokens;
  };
  do {
    window.parts.push_back(source.next(sequences, size, window.seconds));
  } while (source.goes_on() && takes_another_chunk());
  window.last = source.done();
  Stopwatch watch;
  if (unit_.identity.token_embeddings) sequences.vectors.offsets = rows.offsets;
  sequences.type_ids = type_ids_of(plan_, rows);
  window.skipped = skipped_tokens(rows, plan_.skip_list);
  window.duplicates = find_duplicates(sequences);
  window.batches = pack(sequences, plan_.batch_tokens, window.duplicates);
  if (plan_.keys != nullptr) window.keys = keys_of(window, sequences, *plan_.keys);
  window.sequences = rows.size();
  window.vector_offsets = std::move(sequences.vectors.offsets);
  window.seconds.pack = watch.lap();
  return window;
}

}  // namespace encode
