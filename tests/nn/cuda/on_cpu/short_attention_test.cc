// Runs the plugin's attention kernel for short sequences on the CPU in three schedules and compares
// it with host_short_attention().
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "attention_call.h"
#include "emulator.h"
#include "host_kernels.h"
#include "schedules.h"

namespace encode {
namespace {

using testing::AttentionCall;
using testing::AttentionCase;
using testing::AttentionParameters;

constexpr AttentionCase kCases[] = {
    {.name = "minilm", .heads = 3, .key_heads = 3, .head_dim = 32},
    {.name = "bert", .heads = 2, .key_heads = 2, .head_dim = 64},
    {.name = "qwen2", .heads = 4, .key_heads = 2, .head_dim = 128, .right = 0},
    {.name = "window", .heads = 1, .key_heads = 1, .head_dim = 64, .left = 5, .right = 9},
};

// The lengths are below, at and above a tile of 16 tokens and the most tokens of a short sequence.
constexpr int32_t kEnds[] = {0, 1, 17, 34, 34, 99, 163, 210};

// Returns true if the kernel leaves out the sequence.
bool is_long(const AttentionCase& shape, int64_t sequence) {
  return kEnds[sequence + 1] - kEnds[sequence] > encode_cuda_short_tokens(shape.head_dim);
}

// The random input of one call, and the buffer for its result.
class Call {
 public:
  Call(const AttentionCase& shape, EncodeCudaType type, uint64_t seed)
      : random_(seed), call_(shape, type, kEnds, random_), type_(type) {}

  EncodeCudaAttention arguments() const {
    EncodeCudaAttention arguments = call_.arguments();
    arguments.max_seqlen = encode_cuda_short_tokens(call_.shape().head_dim);
    return arguments;
  }

  // The numbers of y for the tokens of a sequence.
  std::vector<float> result(int64_t sequence) const {
    const int64_t width = call_.shape().width();
    std::vector<float> found;
    for (int64_t i = kEnds[sequence] * width; i < kEnds[sequence + 1] * width; ++i)
      found.push_back(call_.y().get(type_, static_cast<size_t>(i)));
    return found;
  }
  // Writes NaN over queries, keys and values of a sequence.
  void poison(int64_t sequence) {
    const int64_t row = call_.shape().row();
    for (int64_t i = kEnds[sequence] * row; i < kEnds[sequence + 1] * row; ++i)
      call_.qkv().as<uint16_t>()[i] = 0x7fff;
  }
  bool intact() const { return call_.y().intact(); }

 private:
  std::mt19937_64 random_;
  AttentionCall call_;
  EncodeCudaType type_;
};

int run(const EncodeCudaAttention& arguments) {
  return encode_cuda_kernels()->short_attention(&arguments);
}

class ShortAttention : public ::testing::TestWithParam<AttentionParameters> {
 protected:
  void SetUp() override { emulator::set_schedule(std::get<2>(GetParam())); }
  Call call() const { return {std::get<0>(GetParam()), std::get<1>(GetParam()), 3}; }
};

TEST_P(ShortAttention, GivesTheResultOfTheDefinition) {
  const Call found = call();
  ASSERT_EQ(run(found.arguments()), 0);
  const Call expected = call();
  const EncodeCudaAttention reference = expected.arguments();
  testing::host_short_attention(&reference);
  for (int64_t sequence = 0; sequence + 1 < std::ssize(kEnds); ++sequence) {
    const std::vector<float> numbers = found.result(sequence);
    const std::vector<float> wanted = expected.result(sequence);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (is_long(std::get<0>(GetParam()), sequence)) {
        ASSERT_TRUE(std::isnan(numbers[i])) << "a number of a longer sequence was written";
      } else {
        ASSERT_NEAR(numbers[i], wanted[i], 0x1p-6) << "sequence " << sequence << ", number " << i;
      }
    }
  }
  EXPECT_TRUE(found.intact());
}

// The kernel that is compiled for longer sequences and the place in the batch do not matter.
TEST_P(ShortAttention, ASequenceHasTheSameBitsAlone) {
  const Call together = call();
  ASSERT_EQ(run(together.arguments()), 0);
  for (int64_t sequence = 0; sequence + 1 < std::ssize(kEnds); ++sequence) {
    if (is_long(std::get<0>(GetParam()), sequence)) continue;
    const Call alone = call();
    EncodeCudaAttention arguments = alone.arguments();
    arguments.cu_seqlens = kEnds + sequence;
    arguments.sequences = 1;
    arguments.max_seqlen = kEnds[sequence + 1] - kEnds[sequence];
    ASSERT_EQ(run(arguments), 0);
    EXPECT_EQ(alone.result(sequence), together.result(sequence)) << "sequence " << sequence;
  }
}

TEST_P(ShortAttention, ANaNOfTheNextSequenceIsNotSeen) {
  const Call clean = call();
  ASSERT_EQ(run(clean.arguments()), 0);
  Call poisoned = call();
  poisoned.poison(2);
  ASSERT_EQ(run(poisoned.arguments()), 0);
  EXPECT_EQ(poisoned.result(1), clean.result(1));
  EXPECT_TRUE(std::isnan(poisoned.result(2).front()));
}

INSTANTIATE_TEST_SUITE_P(Kernels, ShortAttention,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values(kEncodeCudaFloat16,
                                                              kEncodeCudaBFloat16),
                                            ::testing::ValuesIn(testing::kSchedules)),
                         testing::attention_test_name);

TEST(ShortAttentionKernel, RefusesWhatItHasNoCodeFor) {
  const Call call(kCases[0], kEncodeCudaBFloat16, 3);
  const EncodeCudaAttention good = call.arguments();
  const auto refuses = [&](auto change) {
    EncodeCudaAttention arguments = good;
    change(arguments);
    return run(arguments) == kEncodeCudaUnsupported;
  };
  const int64_t column = 0;
  EXPECT_FALSE(refuses([](EncodeCudaAttention&) {}));
  EXPECT_TRUE(refuses([](EncodeCudaAttention& a) { a.type = kEncodeCudaFloat32; }));
  EXPECT_TRUE(refuses([](EncodeCudaAttention& a) { a.head_dim = 96; }));
  EXPECT_TRUE(refuses([](EncodeCudaAttention& a) { a.softcap = 1; }));
  EXPECT_TRUE(refuses([](EncodeCudaAttention& a) { a.scale = -1; }));
  EXPECT_TRUE(refuses([](EncodeCudaAttention& a) { a.key_stride = 12; }));
  EXPECT_TRUE(refuses([&](EncodeCudaAttention& a) { a.column = &column; }));
}

}  // namespace
}  // namespace encode
