#include "kernels/amx.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/activations.h"
#include "kernels/vec.h"

namespace encode::kernels::amx {
namespace {

using namespace ENCODE_ISA;

constexpr int64_t kTileRows = 16;  // rows of a tile
constexpr int64_t kInner = 32;     // bfloat16 numbers in a row of it
constexpr int64_t kTileElements = kTileRows * kInner;
// Rows and columns of one block of results: 2 x 2 tiles.
constexpr int64_t kBlock = PackedWeight::kBlockColumns;
constexpr int64_t kPanelRows = 128;  // rows that are laid out in tiles at a time

constexpr int64_t blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }

// ---- Operands ----------------------------------------------------------------------------------

// x as bfloat16 parts, each the rounding of what the ones before it leave.
template <int64_t parts>
struct Split {
  ShortVec part[parts];

  explicit Split(Vec x) {
    for (int64_t i = 0; i < parts; ++i) {
      part[i] = reinterpret_cast<ShortVec>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x)));
      if (i + 1 < parts) x -= from_bits(__builtin_convertvector(part[i], UintVec) << 16);
    }
  }
};

// Thirty-two consecutive elements of a row, zero beyond its end; part p goes to `to` + p x stride.
template <int64_t parts, typename T>
inline void store_step(const T* row, int64_t in_features, int64_t step, BFloat16* to,
                       int64_t stride) {
  for (int64_t half = 0; half < kInner; half += kLanes) {
    const int64_t at = step * kInner + half;
    const int64_t left = in_features - at;
    const Vec x = left >= kLanes ? load(row + at) : left > 0 ? load_part(row + at, left) : Vec{};
    const Split<parts> split(x);
    for (int64_t p = 0; p < parts; ++p) store_raw(split.part[p], to + p * stride + half);
  }
}

// Rows of x in tile order, one part after the other within a step of the inner dimension:
// [row tile][inner step][part][16][32].
template <int64_t parts, typename T>
void lay_out_rows(const T* x, int64_t rows, int64_t in_features, BFloat16* to) {
  const int64_t steps = blocks(in_features, kInner);
  const int64_t padded = blocks(rows, kBlock) * kBlock;
  for (int64_t r = 0; r < padded; ++r) {
    // A row beyond the last repeats it: its results are thrown away.
    const T* row = x + (r < rows ? r : rows - 1) * in_features;
    BFloat16* out = to + r / kTileRows * steps * parts * kTileElements + r % kTileRows * kInner;
    for (int64_t step = 0; step < steps; ++step, out += parts * kTileElements)
      store_step<parts>(row, in_features, step, out, kTileElements);
  }
}

// Sixteen outputs with 32 inputs each -> pairs of consecutive inputs of one output side by side:
// [16 columns][16 pairs] to [16 pairs][16 columns], a pair being 32 bits. Transposed within lanes
// of 128 bits first, then lane by lane.
void store_pairs(const BFloat16* columns, BFloat16* to) {
  UintVec in[kTileRows];
  UintVec out[kTileRows];
  for (int64_t i = 0; i < kTileRows; ++i) in[i] = load_raw<UintVec>(columns + i * kInner);
  for (int64_t i = 0; i < kTileRows; i += 2) {
    const UintVec a = in[i];
    const UintVec b = in[i + 1];
    out[i] =
        __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    out[i + 1] =
        __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  }
  const auto low = [](const UintVec& a, const UintVec& b) {
    return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
  };
  const auto high = [](const UintVec& a, const UintVec& b) {
    return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30,
                                   31);
  };
  for (int64_t i = 0; i < kTileRows; i += 4) {
    in[i] = low(out[i], out[i + 2]);
    in[i + 1] = high(out[i], out[i + 2]);
    in[i + 2] = low(out[i + 1], out[i + 3]);
    in[i + 3] = high(out[i + 1], out[i + 3]);
  }
  const auto even = [](const UintVec& a, const UintVec& b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  };
  const auto odd = [](const UintVec& a, const UintVec& b) {
    return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30,
                                   31);
  };
  for (int64_t i = 0; i < 4; ++i) {
    out[i] = even(even(in[i], in[4 + i]), even(in[8 + i], in[12 + i]));
    out[4 + i] = even(odd(in[i], in[4 + i]), odd(in[8 + i], in[12 + i]));
    out[8 + i] = odd(even(in[i], in[4 + i]), even(in[8 + i], in[12 + i]));
    out[12 + i] = odd(odd(in[i], in[4 + i]), odd(in[8 + i], in[12 + i]));
  }
  for (int64_t i = 0; i < kTileRows; ++i) store_raw(out[i], to + i * kInner);
}

// [column block][inner step][part][2 column tiles][tile].
template <int64_t parts, typename T>
void pack_weight(const T* weight, const PackedWeight& shape, BlockRange range, BFloat16* to) {
  const int64_t steps = blocks(shape.in_features, kInner);
  alignas(64) BFloat16 values[parts * kTileElements];
  for (int64_t block = range.begin; block < range.end; ++block) {
    BFloat16* out = to + block * steps * parts * 2 * kTileElements;
    for (int64_t step = 0; step < steps; ++step, out += parts * 2 * kTileElements) {
      for (int64_t tile = 0; tile < 2; ++tile) {
        for (int64_t i = 0; i < kTileRows; ++i) {
          const int64_t n = block * kBlock + tile * kTileRows + i;
          const bool inside = n < shape.out_features;
          store_step<parts>(weight + (inside ? n : 0) * shape.in_features,
                            inside ? shape.in_features : 0, step, values + i * kInner,
                            kTileElements);
        }
        for (int64_t p = 0; p < parts; ++p)
          store_pairs(values + p * kTileElements, out + (p * 2 + tile) * kTileElements);
      }
    }
  }
}

// ---- Tiles -------------------------------------------------------------------------------------

struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

class TileScope {
 public:
  TileScope() {
    static constexpr TileConfig kConfig;
    _tile_loadconfig(&kConfig);
  }
  ~TileScope() { _tile_release(); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

// Tiles 0 to 3 hold the sums, 4 and 5 two row tiles of x, 6 and 7 two column tiles of W.
inline void load_x(const BFloat16* top, const BFloat16* bottom) {
  _tile_loadd(4, top, 64);
  _tile_loadd(5, bottom, 64);
}
inline void load_w(const BFloat16* pair) {
  _tile_loadd(6, pair, 64);
  _tile_loadd(7, pair + kTileElements, 64);
}
inline void multiply() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

// One step of the inner dimension: every product of parts whose sum of places is below `parts`,
// reached by changing one operand at a time.
template <int64_t parts>
inline void multiply_step(const BFloat16* x, const BFloat16* bottom, const BFloat16* w) {
  const auto x_part = [x, bottom](int64_t p) {
    load_x(x + p * kTileElements, bottom + p * kTileElements);
  };
  const auto w_part = [w](int64_t p) { load_w(w + p * 2 * kTileElements); };
  if constexpr (parts == 3) {
    x_part(2), w_part(0), multiply();
    x_part(1), multiply();
    w_part(1), multiply();
    x_part(0), multiply();
    w_part(2), multiply();
    w_part(0), multiply();
  } else if constexpr (parts == 2) {
    x_part(1), w_part(0), multiply();
    x_part(0), multiply();
    w_part(1), multiply();
  } else {
    x_part(0), w_part(0), multiply();
  }
}

// sums [32, 32] = x block x W block.
template <int64_t parts>
inline void block_product(const BFloat16* x, const BFloat16* w, int64_t steps, float* sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const int64_t tile_row = steps * parts * kTileElements;
  for (int64_t step = 0; step < steps; ++step) {
    multiply_step<parts>(x, x + tile_row, w);
    x += parts * kTileElements;
    w += parts * 2 * kTileElements;
  }
  constexpr int kStride = kBlock * sizeof(float);
  _tile_stored(0, sums, kStride);
  _tile_stored(1, sums + kTileRows, kStride);
  _tile_stored(2, sums + kTileRows * kBlock, kStride);
  _tile_stored(3, sums + kTileRows * kBlock + kTileRows, kStride);
}

// ---- The product -------------------------------------------------------------------------------

template <Epilogue epilogue>
inline Vec apply(Vec x) {
  if constexpr (epilogue == Epilogue::kGelu) return gelu(x);
  if constexpr (epilogue == Epilogue::kGeluTanh) return gelu_tanh(x);
  if constexpr (epilogue == Epilogue::kRelu) return relu(x);
  if constexpr (epilogue == Epilogue::kSilu) return silu(x);
  return x;
}

template <Epilogue epilogue, typename T>
void finish_block(const float* sums, const PackedWeight& weight, const Linear<T>& call, int64_t row,
                  int64_t column) {
  const int64_t rows = call.rows - row < kBlock ? call.rows - row : kBlock;
  for (int64_t half = 0; half < kBlock; half += kLanes) {
    const int64_t left = weight.out_features - column - half;
    if (left <= 0) break;
    const int64_t at = column + half;
    const bool whole = left >= kLanes;
    const Vec bias = !call.bias ? Vec{}
                     : whole    ? load(call.bias + at)
                                : load_part(call.bias + at, left);
    for (int64_t r = 0; r < rows; ++r) {
      Vec x = apply<epilogue>(load(sums + r * kBlock + half) + bias);
      const int64_t offset = (row + r) * weight.out_features + at;
      if (call.residual)
        x += whole ? load(call.residual + offset) : load_part(call.residual + offset, left);
      if (whole) {
        store(x, call.y + offset);
      } else {
        store_part(x, call.y + offset, left);
      }
    }
  }
}

template <typename T>
using Finish = void (*)(const float*, const PackedWeight&, const Linear<T>&, int64_t, int64_t);

template <typename T>
Finish<T> finish_for(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::kGelu:
      return finish_block<Epilogue::kGelu, T>;
    case Epilogue::kGeluTanh:
      return finish_block<Epilogue::kGeluTanh, T>;
    case Epilogue::kRelu:
      return finish_block<Epilogue::kRelu, T>;
    case Epilogue::kSilu:
      return finish_block<Epilogue::kSilu, T>;
    case Epilogue::kNone:
      break;
  }
  return finish_block<Epilogue::kNone, T>;
}

template <int64_t parts, typename T>
void multiply_rows(const PackedWeight& weight, const Linear<T>& call, BFloat16* scratch) {
  const TileScope tiles;
  const Finish<T> finish = finish_for<T>(call.epilogue);
  const int64_t steps = blocks(weight.in_features, kInner);
  const int64_t tile_row = steps * parts * kTileElements;
  alignas(64) float sums[kBlock * kBlock];
  for (int64_t panel = 0; panel < call.rows; panel += kPanelRows) {
    const int64_t rows = call.rows - panel < kPanelRows ? call.rows - panel : kPanelRows;
    lay_out_rows<parts>(call.x + panel * weight.in_features, rows, weight.in_features, scratch);
    for (int64_t n = 0; n < weight.out_features; n += kBlock) {
      const BFloat16* w = weight.data + n / kBlock * 2 * tile_row;
      for (int64_t m = 0; m < rows; m += kBlock) {
        block_product<parts>(scratch + m / kTileRows * tile_row, w, steps, sums);
        finish(sums, weight, call, panel + m, n);
      }
    }
  }
}

}  // namespace

bool available() {
  static const bool usable = [] {
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t c = 0;
    uint32_t d = 0;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
    constexpr uint32_t kAmxBFloat16 = 1U << 22;
    constexpr uint32_t kAmxTile = 1U << 24;
    return (d & kAmxBFloat16) != 0 && (d & kAmxTile) != 0 && __builtin_cpu_supports("avx512bf16") &&
           ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return usable;
}

int64_t PackedWeight::packed_size() const {
  return blocks(out_features, kBlock) * blocks(in_features, kInner) * 2 * kTileElements *
         static_cast<int64_t>(parts);
}

int64_t scratch_size(const PackedWeight& weight) {
  return kPanelRows / kTileRows * blocks(weight.in_features, kInner) * kTileElements *
         static_cast<int64_t>(weight.parts);
}

int64_t PackedWeight::column_blocks() const { return blocks(out_features, kBlock); }

void pack(const float* weight, const PackedWeight& shape, BlockRange range, BFloat16* to) {
  shape.parts == Parts::kTwo ? pack_weight<2>(weight, shape, range, to)
                             : pack_weight<3>(weight, shape, range, to);
}

void pack(const BFloat16* weight, const PackedWeight& shape, BlockRange range, BFloat16* to) {
  pack_weight<1>(weight, shape, range, to);
}

void linear(const PackedWeight& weight, const Linear<float>& call, BFloat16* scratch) {
  weight.parts == Parts::kTwo ? multiply_rows<2>(weight, call, scratch)
                              : multiply_rows<3>(weight, call, scratch);
}

void linear(const PackedWeight& weight, const Linear<BFloat16>& call, BFloat16* scratch) {
  multiply_rows<1>(weight, call, scratch);
}

}  // namespace encode::kernels::amx
