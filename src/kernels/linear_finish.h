// What the kernels of linear.h share: panels of rows, and what happens to sums. Included by the
// per-instruction-set sources alone.
#pragma once

#include "kernels/activations.h"
#include "kernels/linear.h"
#include "kernels/vec.h"

namespace encode::kernels::ENCODE_ISA {

inline constexpr int64_t blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }

// Columns of W that all rows of a panel are multiplied with before the next ones: they stay in the
// second cache.
inline constexpr int64_t kGroupBytes = int64_t{512} << 10;

inline constexpr int64_t kMostPanelRows = 512;

// Rows of x that are laid out at a time, each of so many bytes there. W comes from the third cache
// once for all of them, and they stay in the second one beside it unless they are few.
inline int64_t panel_rows(int64_t row_bytes) {
  constexpr int64_t kFew = 128;
  constexpr int64_t kPanelBytes = int64_t{768} << 10;
  int64_t rows = kMostPanelRows;
  while (rows > kFew && rows * row_bytes > kPanelBytes) rows /= 2;
  return rows;
}

// Up to sixteen elements, zero beyond them.
template <typename T>
inline Vec load_lanes(const T* from, int64_t lanes) {
  return lanes >= kLanes ? load(from) : lanes > 0 ? load_part(from, lanes) : Vec{};
}

// `exact`: not rounded to bfloat16, nor made of int8 products.
template <Epilogue epilogue, bool exact>
inline Vec apply(Vec x) {
  if constexpr (epilogue == Epilogue::kGelu) return exact ? gelu(x) : short_gelu(x);
  if constexpr (epilogue == Epilogue::kGeluTanh) return gelu_tanh(x);
  if constexpr (epilogue == Epilogue::kRelu) return relu(x);
  if constexpr (epilogue == Epilogue::kSilu) return silu(x);
  return x;
}

// Sixteen sums of a row, or `lanes` of them, their bias added, to their place in the result.
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

// Makes `body` a constant expression's template argument: body.template operator()<epilogue>().
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
