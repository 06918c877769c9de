// The parts that the kernels of packed_product.h share: the size of panels of rows, and the steps
// from sums to results. Only the sources that are compiled per instruction set include this header.
#pragma once

#include "kernels/lane_activations.h"
#include "kernels/packed_product.h"
#include "kernels/vec.h"

namespace encode::kernels::ENCODE_ISA {

// Returns the number of blocks of `size` that hold n elements.
inline constexpr int64_t blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }

// The size in bytes of a group of columns of W. All rows of a panel are multiplied with one group
// before the next group, so that the group stays in the second-level cache.
inline constexpr int64_t kGroupBytes = int64_t{512} << 10;

inline constexpr int64_t kMostPanelRows = 512;

// Returns the number of rows of x in a panel, if each row takes `row_bytes` bytes. A panel is laid
// out before it is multiplied. W is read from the third-level cache once for each panel, so a panel
// should have many rows. But a panel and a group of W should also fit into the second-level cache
// together. If the rows are very wide, a panel has kFew rows and does not fit.
inline int64_t panel_rows(int64_t row_bytes) {
  constexpr int64_t kFew = 128;
  constexpr int64_t kPanelBytes = int64_t{768} << 10;
  int64_t rows = kMostPanelRows;
  while (rows > kFew && rows * row_bytes > kPanelBytes) rows /= 2;
  return rows;
}

// Loads at most sixteen elements. The other lanes are zero. `lanes` may be negative.
template <typename T>
inline Vec load_lanes(const T* from, int64_t lanes) {
  return lanes >= kLanes ? load(from) : lanes > 0 ? load_part(from, lanes) : Vec{};
}

// Applies the epilogue. `exact` is false if the result is rounded to bfloat16 or comes from an int8
// matrix product; a shorter formula is then exact enough.
template <Epilogue epilogue, bool exact>
inline Vec apply(Vec x) {
  if constexpr (epilogue == Epilogue::kGelu) return exact ? gelu(x) : short_gelu(x);
  if constexpr (epilogue == Epilogue::kGeluTanh) return gelu_tanh(x);
  if constexpr (epilogue == Epilogue::kRelu) return relu(x);
  if constexpr (epilogue == Epilogue::kSilu) return silu(x);
  return x;
}

// Turns sixteen sums of a row into results, and stores the first `lanes` of them in y from `offset`
// on. The sums include the bias. The epilogue and the residual are computed in float32, and the
// result is rounded to T once.
template <Epilogue epilogue, bool exact, typename T>
inline void finish_lanes(Vec sums, const Linear<T>& call, int64_t offset, int64_t lanes) {
  Vec x = apply<epilogue, exact>(sums);
  if (call.residual) x += load_lanes(call.residual + offset, lanes);
  if (lanes >= kLanes) {
    store(x, call.y + offset);
  } else {
    store_part(x, call.y + offset, lanes);
  }
}

// Calls body with the epilogue as a template argument: body.template operator()<epilogue>().
template <typename Body>
auto with_epilogue(Epilogue epilogue, const Body& body) {
  switch (epilogue) {
    case Epilogue::kGelu:
      return body.template operator()<Epilogue::kGelu>();
    case Epilogue::kGeluTanh:
      return body.template operator()<Epilogue::kGeluTanh>();
    case Epilogue::kRelu:
      return body.template operator()<Epilogue::kRelu>();
    case Epilogue::kSilu:
      return body.template operator()<Epilogue::kSilu>();
    case Epilogue::kNone:
      break;
  }
  return body.template operator()<Epilogue::kNone>();
}

}  // namespace encode::kernels::ENCODE_ISA
