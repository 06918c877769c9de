#include "plan/prices.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/units.h"
#include "run_plan/memory/chunk_rows.h"

namespace encode {
namespace {

Price priced(std::string choice, const MemoryRequest& request, const PlannedStream& stream,
             const MemoryRoom& room) {
  Price price;
  price.choice = std::move(choice);
  price.memory_bytes = corrected_estimate(request, room).total_bytes();
  price.time = encoding_time(request, stream.rate);
  if (price.memory_bytes > room.free_bytes) {
    price.note = "does not fit";
  } else if (price.memory_bytes > room.usable_bytes()) {
    price.note = "above the safety margin";
  }
  return price;
}

std::string times(int64_t value, const char* key, const char* word) {
  return fmt::format("{} {} ({})", key, format_count(value), word);
}

// Calls visit(number, word) for half of a value and for twice the value, if these numbers are at
// least 1.
template <typename Visit>
void for_half_and_twice(int64_t value, const Visit& visit) {
  for (const auto& [number, word] : {std::pair{value / 2, "half"}, std::pair{value * 2, "twice"}}) {
    if (number >= 1) visit(number, word);
  }
}

void add_batches(const PlannedStream& stream, const MemoryRoom& room, std::vector<Price>& prices) {
  const int64_t launch = std::max<int64_t>(1, stream.request.batches.launch_tokens);
  for_half_and_twice(stream.planned.batches.budget_tokens, [&](int64_t tokens, const char* word) {
    const int64_t whole = tokens / launch * launch;
    if (whole < launch) return;
    MemoryRequest other = stream.request;
    other.batches.budget_tokens = whole;
    prices.push_back(priced(times(whole, "batch_tokens", word), other, stream, room));
    const LargestWindow window = largest_window(other);
    if (prices.back().note.empty() && stream.request.texts.tokens > 0 && whole > window.tokens)
      prices.back().note = "these texts do not fill it";
  });
}

void add_threads(const PlannedStream& stream, const MemoryRoom& room, std::vector<Price>& prices) {
  for_half_and_twice(stream.planned.threads, [&](int64_t count, const char* word) {
    MemoryRequest other = stream.request;
    other.batches.batches_at_once = count;
    Price price = priced(times(count, "threads", word), other, stream, room);
    const double speed =
        std::min(1.0, static_cast<double>(count) / static_cast<double>(room.threads));
    price.time.divide(speed);
    if (price.note.empty() && count > room.threads)
      price.note = "no gain: " + format_count(room.threads, "processor", "processors");
    prices.push_back(std::move(price));
  });
}

void add_chunks(const PlannedStream& stream, const MemoryRoom& room, std::vector<Price>& prices) {
  const double row_seconds =
      stream.time.seconds / static_cast<double>(std::max<int64_t>(1, stream.request.texts.rows));
  for_half_and_twice(stream.chunk_rows, [&](int64_t rows, const char* word) {
    MemoryRequest other = stream.request;
    other.chunk_rows = rows;
    prices.push_back(priced(times(rows, "chunk_size", word), other, stream, room));
    if (row_seconds > 0) {
      const auto lost = static_cast<double>(most_lost_rows(other));
      prices.back().note =
          fmt::format("a kill costs up to {}", format_duration(row_seconds * lost));
    }
  });
}

void add_type(const PlannedStream& stream, const MemoryRoom& room, std::vector<Price>& prices) {
  MemoryRequest other = stream.request;
  const bool wide = other.effective.dtype == ComputeType::kFloat32;
  other.effective.dtype = wide ? ComputeType::kBFloat16 : ComputeType::kFloat32;
  Price price =
      priced(fmt::format("dtype {}", to_string(other.effective.dtype)), other, stream, room);
  price.time = {};
  if (price.note.empty()) price.note = "other numbers";
  prices.push_back(std::move(price));
}

}  // namespace

std::vector<Price> prices_of(const PlannedStream& stream, const MemoryRoom& room) {
  std::vector<Price> prices;
  if (room.kind == DeviceKind::kCuda) {
    add_batches(stream, room, prices);
  } else {
    add_threads(stream, room, prices);
  }
  if (stream.chunks_known) add_chunks(stream, room, prices);
  add_type(stream, room, prices);
  return prices;
}

}  // namespace encode
