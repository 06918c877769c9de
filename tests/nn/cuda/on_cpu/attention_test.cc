// Runs the plugin's attention kernel on the CPU in three schedules and compares it with
// host_attention().
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "attention_call.h"
#include "emulator.h"
#include "guarded_buffer.h"
#include "host_kernels.h"
#include "schedules.h"

namespace encode {
namespace {

using testing::AttentionCall;
using testing::AttentionCase;
using testing::GuardedBuffer;

constexpr AttentionCase kCases[] = {
    {.name = "plain", .heads = 2, .key_heads = 2, .head_dim = 64},
    {.name = "gemma2",
     .heads = 2,
     .key_heads = 1,
     .head_dim = 256,
     .left = 33,
     .right = 0,
     .softcap = 2},
    {.name = "window", .heads = 1, .key_heads = 1, .head_dim = 40, .left = 5, .right = 9},
    {.name = "deberta",
     .heads = 2,
     .key_heads = 2,
     .head_dim = 32,
     .of_query = true,
     .of_key = true},
    {.name = "bias", .heads = 3, .key_heads = 1, .head_dim = 72, .bias = true},
};

// The random input of one call of the kernel, with its terms.
class Call {
 public:
  Call(const AttentionCase& shape, EncodeCudaType type, std::mt19937_64& random)
      : call_(shape, type, kEnds, random),
        bias_(GuardedBuffer::random(shape.heads * kColumns, kEncodeCudaFloat32, random)),
        of_query_(GuardedBuffer::random(kTokens * shape.heads * kColumns, type, random)),
        of_key_(GuardedBuffer::random(kTokens * shape.heads * kColumns, type, random)) {
    for (int64_t distance = -kReach; distance <= kReach; ++distance)
      column_.push_back(kReach - distance);
  }

  EncodeCudaAttention arguments() const {
    const AttentionCase& shape = call_.shape();
    EncodeCudaAttention arguments = call_.arguments();
    arguments.max_seqlen = kLongest;
    if (shape.bias || shape.of_query || shape.of_key) arguments.column = column_.data();
    arguments.reach = kReach;
    arguments.columns = kColumns;
    if (shape.bias) arguments.bias = bias_.as<float>();
    if (shape.of_query) arguments.of_query = of_query_.data();
    if (shape.of_key) arguments.of_key = of_key_.data();
    return arguments;
  }

  const GuardedBuffer& y() const { return call_.y(); }

  static constexpr int32_t kEnds[] = {0, 1, 33, 33, 74};
  static constexpr int64_t kTokens = 74;
  static constexpr int64_t kLongest = 41;

 private:
  static constexpr int64_t kReach = 12;
  static constexpr int64_t kColumns = 2 * kReach + 1;

  AttentionCall call_;
  GuardedBuffer bias_;
  GuardedBuffer of_query_;
  GuardedBuffer of_key_;
  std::vector<int64_t> column_;
};

class AttentionKernel : public ::testing::TestWithParam<testing::AttentionParameters> {};

TEST_P(AttentionKernel, GivesTheResultOfTheDefinition) {
  const auto& [shape, type, schedule] = GetParam();
  emulator::set_schedule(schedule);
  std::mt19937_64 random(3);
  const Call found(shape, type, random);
  random.seed(3);
  const Call expected(shape, type, random);
  const EncodeCudaAttention arguments = found.arguments();
  ASSERT_EQ(encode_cuda_kernels()->attention(&arguments), 0);
  const EncodeCudaAttention reference = expected.arguments();
  testing::host_attention(&reference);
  const double tolerance = type == kEncodeCudaFloat32 ? 2e-5 : 0x1p-6;
  const auto count = static_cast<size_t>(Call::kTokens * shape.width());
  for (size_t i = 0; i < count; ++i) {
    ASSERT_NEAR(found.y().get(type, i), expected.y().get(type, i), tolerance)
        << "token " << i / static_cast<size_t>(shape.width());
  }
  EXPECT_TRUE(found.y().intact());
}

// A sequence gives the same bits alone and after another sequence in the batch.
TEST_P(AttentionKernel, ASequenceDoesNotDependOnItsNeighbours) {
  const auto& [shape, type, schedule] = GetParam();
  emulator::set_schedule(schedule);
  std::mt19937_64 random(4);
  const Call both(shape, type, random);
  random.seed(4);
  const Call alone(shape, type, random);
  EncodeCudaAttention arguments = both.arguments();
  ASSERT_EQ(encode_cuda_kernels()->attention(&arguments), 0);
  arguments = alone.arguments();
  arguments.cu_seqlens = Call::kEnds + std::size(Call::kEnds) - 2;
  arguments.sequences = 1;
  ASSERT_EQ(encode_cuda_kernels()->attention(&arguments), 0);
  const int64_t width = shape.width();
  for (int64_t i = (Call::kTokens - Call::kLongest) * width; i < Call::kTokens * width; ++i) {
    const auto element = static_cast<size_t>(i);
    ASSERT_EQ(both.y().get(type, element), alone.y().get(type, element)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, AttentionKernel,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values(kEncodeCudaFloat32,
                                                              kEncodeCudaFloat16,
                                                              kEncodeCudaBFloat16),
                                            ::testing::ValuesIn(testing::kSchedules)),
                         testing::attention_test_name);

}  // namespace
}  // namespace encode
