#include "random_calls.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <initializer_list>
#include <ostream>
#include <vector>

#include "base/pooling_modes.h"
#include "guarded_buffer.h"
#include "host_kernels.h"

namespace encode::testing {
namespace {

using Launcher = KernelUnderTest::Launcher;

constexpr const char* kLaunchers[] = {"layer_norm", "rms_norm",  "rotary", "activation",
                                      "gated",      "embedding", "pool",   "quantize_rows"};
constexpr const char* kTypes[] = {"float32", "float16", "bfloat16"};
constexpr float kEps = 1e-6F;

double tolerance_of(EncodeCudaType type) {
  if (type == kEncodeCudaFloat16) return 0x1p-9;
  return type == kEncodeCudaBFloat16 ? 0x1p-6 : 2e-5;
}

// Receives quantized rows.
struct Fp8Buffers {
  GuardedBuffer values;
  GuardedBuffer scale;
  int64_t width;

  Fp8Buffers(int64_t rows, int64_t row_width)
      : values(static_cast<size_t>(rows * row_width), 1),
        scale(static_cast<size_t>(rows), sizeof(float)),
        width(row_width) {}

  EncodeCudaFp8Rows pointers() const { return {values.data(), scale.as<float>()}; }
  double value(size_t i) const {
    return e4m3_value(values.as<uint8_t>()[i]) * scale.as<float>()[i / static_cast<size_t>(width)];
  }
};

// Calls one kernel with random arguments and keeps the first difference from host_kernels().
class Call {
 public:
  Call(const EncodeCudaKernels& table, const KernelUnderTest& kernel, std::mt19937_64& random)
      : table_(table), kernel_(kernel), random_(random) {}

  std::string difference();

 private:
  int64_t pick(std::initializer_list<int64_t> choices) {
    return *(choices.begin() + random_() % choices.size());
  }
  bool coin() { return random_() % 2 == 0; }
  // Picks any mode except kNone, which pools nothing.
  PoolingMode pick_pooling() {
    PoolingMode mode = PoolingMode::kNone;
    while (mode == PoolingMode::kNone)
      mode = kPoolingModes[random_() % kPoolingModes.size()].second;
    return mode;
  }
  int64_t lane() const { return static_cast<int64_t>(16 / bytes_of(kernel_.type)); }
  GuardedBuffer filled(int64_t count) { return filled(count, kernel_.type); }
  GuardedBuffer filled(int64_t count, EncodeCudaType type) {
    return GuardedBuffer::random(count, type, random_);
  }
  void pick_shape();

  void call_norm();
  void call_rotary();
  void call_elementwise();
  void call_embedding();
  void call_pool();
  void call_quantize();

  // Calls the kernel under test with the arguments `found`, and the kernel of host_kernels() with
  // the arguments `expected`.
  template <auto kLauncher, typename Arguments>
  void launch(const Arguments& found, const Arguments& expected);

  void compare(const char* what, const GuardedBuffer& found, const GuardedBuffer& expected,
               EncodeCudaType type);
  void compare(const Fp8Buffers& found, const Fp8Buffers& expected, bool exactly);
  void expect_intact(std::initializer_list<const GuardedBuffer*> buffers);
  void note(const std::string& finding) {
    if (finding_.empty()) finding_ = finding;
  }

  const EncodeCudaKernels& table_;
  KernelUnderTest kernel_;
  std::mt19937_64& random_;
  int64_t rows_ = 0;
  int64_t width_ = 0;
  std::string finding_;
};

void Call::pick_shape() {
  // Some of these widths are limits at which the launch gets another shape.
  int64_t vectors =
      pick({1, 2, 3, 31, 32, 33, 48, 64, 65, 96, 127, 128, 129, 511, 512, 513, 1120, 2048});
  if (kernel_.to_fp8 && vectors % 2 != 0) ++vectors;
  width_ = vectors * lane();
  rows_ = vectors > 200 ? pick({1, 2, 3}) : pick({0, 1, 2, 3, 4, 5, 7, 9, 13});
}

template <auto kLauncher, typename Arguments>
void Call::launch(const Arguments& found, const Arguments& expected) {
  const int status = (table_.*kLauncher)(&found);
  if (status != 0) note(fmt::format("the launcher returned {}", status));
  (host_kernels().*kLauncher)(&expected);
}

void Call::compare(const char* what, const GuardedBuffer& found, const GuardedBuffer& expected,
                   EncodeCudaType type) {
  for (size_t i = 0; i < expected.bytes() / bytes_of(type); ++i) {
    const double a = found.get(type, i);
    const double b = expected.get(type, i);
    if (std::isnan(a) && std::isnan(b)) continue;  // Neither kernel has written it.
    if (!(std::abs(a - b) <= tolerance_of(type) * std::max(1.0, std::abs(b))))
      return note(fmt::format("{}[{}] is {} instead of {}", what, i, a, b));
  }
  expect_intact({&found});
}

void Call::compare(const Fp8Buffers& found, const Fp8Buffers& expected, bool exactly) {
  const auto width = static_cast<size_t>(expected.width);
  for (size_t i = 0; i < expected.values.bytes(); ++i) {
    const double scale = expected.scale.as<float>()[i / width];
    const double found_scale = found.scale.as<float>()[i / width];
    const double a = found.value(i);
    const double b = expected.value(i);
    // The values may be neighbouring e4m3 numbers, because the rows may differ by a rounding before
    // the quantization.
    const double step = 0x1p-3 * std::max(std::abs(a), std::abs(b)) + 0x1p-8 * scale;
    const bool same =
        found_scale == scale && found.values.as<uint8_t>()[i] == expected.values.as<uint8_t>()[i];
    const bool near = std::abs(found_scale / scale - 1) <= 0x1p-6 && std::abs(a - b) <= step;
    if (exactly ? !same : !near)
      return note(fmt::format("fp8[{}] is {} (scale {}) instead of {} (scale {})", i, a,
                              found_scale, b, scale));
  }
  expect_intact({&found.values, &found.scale});
}

void Call::expect_intact(std::initializer_list<const GuardedBuffer*> buffers) {
  for (const GuardedBuffer* buffer : buffers)
    if (!buffer->intact()) note("a write outside of a buffer");
}

void Call::call_norm() {
  const bool centered = kernel_.launcher == Launcher::kLayerNorm;
  const int64_t heads = kernel_.to_fp8 ? 1 : pick({1, 1, 2, 3});
  const int64_t gap = kernel_.to_fp8 ? 0 : lane() * pick({0, 1, 4});
  const int64_t stride = heads * width_ + gap;
  const EncodeCudaType weight_type = coin() ? kernel_.type : kEncodeCudaFloat32;
  const GuardedBuffer residual = filled(rows_ * stride);
  const GuardedBuffer weight = filled(width_, weight_type);
  const GuardedBuffer bias = filled(width_, weight_type);
  const GuardedBuffer x = filled(rows_ * stride);
  const GuardedBuffer expected_x = x;
  const GuardedBuffer y = filled(rows_ * stride);
  const GuardedBuffer expected_y = y;
  const Fp8Buffers fp8(rows_, width_);
  const Fp8Buffers expected_fp8(rows_, width_);
  const bool adds = coin();
  const bool keeps_sum = adds && coin();
  const bool in_place = !keeps_sum && coin();
  const bool drops_y = kernel_.to_fp8 && coin();
  const bool biased = centered && coin();
  const auto arguments = [&](const GuardedBuffer& in, const GuardedBuffer& out,
                             const Fp8Buffers& quantized) {
    void* const kept_y = in_place ? in.data() : out.data();
    return EncodeCudaNorm{.x = in.data(),
                          .residual = adds ? residual.data() : nullptr,
                          .sum = keeps_sum ? in.data() : nullptr,
                          .weight = weight.data(),
                          .bias = biased ? bias.data() : nullptr,
                          .y = drops_y ? nullptr : kept_y,
                          .fp8 = kernel_.to_fp8 ? quantized.pointers() : EncodeCudaFp8Rows{},
                          .rows = rows_ * heads,
                          .width = width_,
                          .inner_rows = heads,
                          .outer_stride = stride,
                          .inner_stride = heads > 1 ? width_ : 0,
                          .eps = kEps,
                          .type = kernel_.type,
                          .weight_type = weight_type,
                          .stream = nullptr};
  };
  const EncodeCudaNorm found = arguments(x, y, fp8);
  const EncodeCudaNorm expected = arguments(expected_x, expected_y, expected_fp8);
  if (centered) {
    launch<&EncodeCudaKernels::layer_norm>(found, expected);
  } else {
    launch<&EncodeCudaKernels::rms_norm>(found, expected);
  }
  compare("y", y, expected_y, kernel_.type);
  compare("x", x, expected_x, kernel_.type);
  if (kernel_.to_fp8) compare(fp8, expected_fp8, /*exactly=*/false);
}

void Call::call_rotary() {
  const int64_t head_dim = 2 * lane() * pick({1, 2, 4, 8, 16});
  const int64_t all_heads = pick({1, 3, 7});
  const int64_t heads = 1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(all_heads));
  const GuardedBuffer cos = filled(rows_ * head_dim / 2, kEncodeCudaFloat32);
  const GuardedBuffer sin = filled(rows_ * head_dim / 2, kEncodeCudaFloat32);
  const GuardedBuffer qkv = filled(rows_ * all_heads * head_dim);
  const GuardedBuffer expected_qkv = qkv;
  const EncodeCudaRotary found = {.qkv = qkv.data(),
                                  .cos = cos.as<float>(),
                                  .sin = sin.as<float>(),
                                  .tokens = rows_,
                                  .heads = heads,
                                  .head_dim = head_dim,
                                  .token_stride = all_heads * head_dim,
                                  .type = kernel_.type,
                                  .stream = nullptr};
  EncodeCudaRotary expected = found;
  expected.qkv = expected_qkv.data();
  launch<&EncodeCudaKernels::rotary>(found, expected);
  compare("qkv", qkv, expected_qkv, kernel_.type);
}

void Call::call_elementwise() {
  const bool gated = kernel_.launcher == Launcher::kGated;
  GuardedBuffer x = filled(rows_ * width_ * (gated ? 2 : 1));
  // Puts large numbers into x, with which exp() overflows.
  const float large = kernel_.type == kEncodeCudaFloat16 ? 200.0F : 1e4F;
  if (!kernel_.to_fp8) {
    for (size_t i = 0; i < x.bytes() / bytes_of(kernel_.type); i += 97)
      x.set(kernel_.type, i, i % 2 == 0 ? large : -large);
  }
  const GuardedBuffer y(static_cast<size_t>(rows_ * width_), bytes_of(kernel_.type));
  const GuardedBuffer expected_y = y;
  const Fp8Buffers fp8(rows_, width_);
  const Fp8Buffers expected_fp8(rows_, width_);
  EncodeCudaElementwise found = {.x = x.data(),
                                 .y = y.data(),
                                 .fp8 = {},
                                 .rows = rows_,
                                 .width = width_,
                                 .activation = static_cast<EncodeCudaActivation>(random_() % 4),
                                 .type = kernel_.type,
                                 .stream = nullptr};
  EncodeCudaElementwise expected = found;
  expected.y = expected_y.data();
  if (kernel_.to_fp8) {
    found.fp8 = fp8.pointers();
    expected.fp8 = expected_fp8.pointers();
  }
  if (gated) {
    launch<&EncodeCudaKernels::gated>(found, expected);
  } else {
    launch<&EncodeCudaKernels::activation>(found, expected);
  }
  compare("y", y, expected_y, kernel_.type);
  if (kernel_.to_fp8) compare(fp8, expected_fp8, /*exactly=*/false);
}

void Call::call_embedding() {
  constexpr int64_t kVocabulary = 11;
  constexpr int64_t kPositions = 7;
  const GuardedBuffer words = filled(kVocabulary * width_);
  const GuardedBuffer positions = filled(kPositions * width_);
  const GuardedBuffer segment = filled(width_);
  const GuardedBuffer weight = filled(width_);
  const GuardedBuffer bias = filled(width_);
  std::vector<int64_t> ids;
  std::vector<int64_t> position_ids;
  for (int64_t i = 0; i < rows_; ++i) {
    ids.push_back(static_cast<int64_t>(random_() % kVocabulary));
    position_ids.push_back(static_cast<int64_t>(random_() % kPositions));
  }
  const GuardedBuffer y(static_cast<size_t>(rows_ * width_), bytes_of(kernel_.type));
  const GuardedBuffer expected_y = y;
  const bool normalizes = coin();
  const EncodeCudaEmbedding found = {.words = words.data(),
                                     .segment = coin() ? segment.data() : nullptr,
                                     .positions = coin() ? positions.data() : nullptr,
                                     .weight = normalizes ? weight.data() : nullptr,
                                     .bias = normalizes && coin() ? bias.data() : nullptr,
                                     .ids = ids.data(),
                                     .position_ids = position_ids.data(),
                                     .y = y.data(),
                                     .tokens = rows_,
                                     .width = width_,
                                     .eps = kEps,
                                     .type = kernel_.type,
                                     .stream = nullptr};
  EncodeCudaEmbedding expected = found;
  expected.y = expected_y.data();
  launch<&EncodeCudaKernels::embedding>(found, expected);
  compare("y", y, expected_y, kernel_.type);
}

void Call::call_pool() {
  std::vector<int32_t> cu_seqlens = {0};
  const int64_t sequences = pick({0, 1, 2, 5});
  for (int64_t i = 0; i < sequences; ++i)
    cu_seqlens.push_back(cu_seqlens.back() + static_cast<int32_t>(pick({1, 2, 7, 8, 9, 31})));
  const int64_t stride = width_ + 4;
  const GuardedBuffer hidden = filled(cu_seqlens.back() * width_);
  const GuardedBuffer y = filled(sequences * stride, kEncodeCudaFloat32);
  const GuardedBuffer expected_y = y;
  const EncodeCudaPool found = {.hidden = hidden.data(),
                                .cu_seqlens = cu_seqlens.data(),
                                .y = y.as<float>(),
                                .sequences = sequences,
                                .width = width_,
                                .y_stride = stride,
                                .prompt_tokens = pick({0, 0, 1, 8, 100}),
                                .mode = pick_pooling(),
                                .type = kernel_.type,
                                .stream = nullptr};
  EncodeCudaPool expected = found;
  expected.y = expected_y.as<float>();
  launch<&EncodeCudaKernels::pool>(found, expected);
  compare("y", y, expected_y, kEncodeCudaFloat32);
}

void Call::call_quantize() {
  // The last width needs nearly all shared memory.
  const int64_t widest = kernel_.type == kEncodeCudaFloat32 ? 752 : 1504;
  width_ = 16 * pick({1, 2, 3, 16, 31, 100, 500, widest});
  const GuardedBuffer x = filled(rows_ * width_);
  const Fp8Buffers found(rows_, width_);
  const Fp8Buffers expected(rows_, width_);
  const auto arguments = [&](const Fp8Buffers& y) {
    return EncodeCudaQuantize{.x = x.data(),
                              .y = y.pointers(),
                              .rows = rows_,
                              .width = width_,
                              .type = kernel_.type,
                              .stream = nullptr};
  };
  launch<&EncodeCudaKernels::quantize_rows>(arguments(found), arguments(expected));
  compare(found, expected, /*exactly=*/true);
}

std::string Call::difference() {
  pick_shape();
  switch (kernel_.launcher) {
    case Launcher::kLayerNorm:
    case Launcher::kRmsNorm:
      call_norm();
      break;
    case Launcher::kRotary:
      call_rotary();
      break;
    case Launcher::kActivation:
    case Launcher::kGated:
      call_elementwise();
      break;
    case Launcher::kEmbedding:
      call_embedding();
      break;
    case Launcher::kPool:
      call_pool();
      break;
    case Launcher::kQuantizeRows:
      call_quantize();
      break;
  }
  if (finding_.empty()) return "";
  return fmt::format("{} with {} rows of width {}: {}", name_of(kernel_), rows_, width_, finding_);
}

}  // namespace

std::string name_of(const KernelUnderTest& kernel) {
  return fmt::format("{}_{}{}", kLaunchers[static_cast<size_t>(kernel.launcher)],
                     kTypes[static_cast<size_t>(kernel.type)], kernel.to_fp8 ? "_to_fp8" : "");
}

void PrintTo(const KernelUnderTest& kernel, std::ostream* out) { *out << name_of(kernel); }

std::vector<KernelUnderTest> kernels_under_test() {
  std::vector<KernelUnderTest> kernels;
  for (size_t launcher = 0; launcher < std::size(kLaunchers); ++launcher) {
    for (size_t type = 0; type < std::size(kTypes); ++type)
      kernels.push_back({static_cast<Launcher>(launcher), static_cast<EncodeCudaType>(type)});
  }
  for (const Launcher launcher :
       {Launcher::kLayerNorm, Launcher::kRmsNorm, Launcher::kActivation, Launcher::kGated})
    kernels.push_back({launcher, kEncodeCudaBFloat16, /*to_fp8=*/true});
  return kernels;
}

std::string difference_of_a_random_call(const EncodeCudaKernels& table,
                                        const KernelUnderTest& kernel, std::mt19937_64& random) {
  return Call(table, kernel, random).difference();
}

}  // namespace encode::testing
