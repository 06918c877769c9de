// Gives rows of a window the vectors of equal rows: from the embedding cache, or of the same
// window.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "encode/encoder.h"

#include "job/cache_session.h"
#include "job/window_producer.h"

namespace encode {

// In all functions `values` are the vectors of the window, and rows are numbered as in PackedBatch.
// Not thread-safe.
class RowReuse {
 public:
  // Both references must outlive the object.
  RowReuse(CacheSession& cache, const Encoder& encoder) : cache_(cache), encoder_(encoder) {}

  // Copies the vectors that the cache has, and takes their rows out of Window::batches, which get
  // at most `budget_tokens` then. Counts the rows in Window::reused and as redone. Returns their
  // number.
  int64_t take_cached(Window& window, std::span<float> values, int64_t budget_tokens);

  using Has = std::function<bool(int64_t row)>;
  // Adds the vectors of the window's batches to the cache, without the rows that `set_aside` has.
  void put(const Window& window, std::span<const float> values, const Has& set_aside,
           const Has& redone);

  // Copies vectors to Window::duplicates, except from rows that `set_aside` has, and counts the
  // rows in Window::reused. Call it last.
  void copy_duplicates(Window& window, std::span<float> values, const Has& set_aside) const;

 private:
  CacheSession& cache_;
  const Encoder& encoder_;
};

}  // namespace encode
