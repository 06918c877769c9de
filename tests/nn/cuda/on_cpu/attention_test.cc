// Runs the plugin's attention kernel on the CPU in three schedules and compares it with
// host_attention().
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "emulator.h"
#include "guarded_buffer.h"
#include "host_kernels.h"
#include "schedules.h"

namespace encode {
namespace {

using testing::GuardedBuffer;

struct Case {
  const char* name;
  int64_t heads;
  int64_t key_heads;
  int64_t head_dim;
  int64_t left = -1;
  int64_t right = -1;
  float softcap = 0;
  bool bias = false;
  bool of_query = false;
  bool of_key = false;
};

constexpr Case kCases[] = {
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

using Parameters = std::tuple<Case, EncodeCudaType, emulator::Schedule>;

// The random input of one call of the kernel, and the buffer for its result.
class Call {
 public:
  Call(const Case& shape, EncodeCudaType type, std::mt19937_64& random)
      : qkv_(GuardedBuffer::random(kTokens * (shape.heads + 2 * shape.key_heads) * shape.head_dim,
                                   type, random)),
        bias_(GuardedBuffer::random(shape.heads * kColumns, kEncodeCudaFloat32, random)),
        of_query_(GuardedBuffer::random(kTokens * shape.heads * kColumns, type, random)),
        of_key_(GuardedBuffer::random(kTokens * shape.heads * kColumns, type, random)),
        y_(static_cast<size_t>(kTokens * shape.heads * shape.head_dim), testing::bytes_of(type)),
        shape_(shape),
        type_(type) {
    for (int64_t distance = -kReach; distance <= kReach; ++distance)
      column_.push_back(kReach - distance);
  }

  EncodeCudaAttention arguments() const {
    const auto stride = (shape_.heads + 2 * shape_.key_heads) * shape_.head_dim;
    char* const begin = qkv_.as<char>();
    const auto bytes = [&](int64_t heads) {
      return static_cast<size_t>(heads * shape_.head_dim) * testing::bytes_of(type_);
    };
    const bool terms = shape_.bias || shape_.of_query || shape_.of_key;
    return {.query = begin,
            .key = begin + bytes(shape_.heads),
            .value = begin + bytes(shape_.heads + shape_.key_heads),
            .query_stride = stride,
            .key_stride = stride,
            .value_stride = stride,
            .y = y_.data(),
            .cu_seqlens = kEnds,
            .sequences = std::size(kEnds) - 1,
            .max_seqlen = kLongest,
            .heads = shape_.heads,
            .key_heads = shape_.key_heads,
            .head_dim = shape_.head_dim,
            .left = shape_.left,
            .right = shape_.right,
            .column = terms ? column_.data() : nullptr,
            .reach = kReach,
            .columns = kColumns,
            .bias = shape_.bias ? bias_.as<float>() : nullptr,
            .of_query = shape_.of_query ? of_query_.data() : nullptr,
            .of_key = shape_.of_key ? of_key_.data() : nullptr,
            .scale = 1 / std::sqrt(static_cast<float>(shape_.head_dim)),
            .softcap = shape_.softcap,
            .type = type_,
            .stream = nullptr};
  }

  const GuardedBuffer& y() const { return y_; }

  static constexpr int32_t kEnds[] = {0, 1, 33, 33, 74};
  static constexpr int64_t kTokens = 74;
  static constexpr int64_t kLongest = 41;

 private:
  static constexpr int64_t kReach = 12;
  static constexpr int64_t kColumns = 2 * kReach + 1;

  GuardedBuffer qkv_;
  GuardedBuffer bias_;
  GuardedBuffer of_query_;
  GuardedBuffer of_key_;
  GuardedBuffer y_;
  std::vector<int64_t> column_;
  Case shape_;
  EncodeCudaType type_;
};

class AttentionKernel : public ::testing::TestWithParam<Parameters> {};

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
  const auto count = static_cast<size_t>(Call::kTokens * shape.heads * shape.head_dim);
  for (size_t i = 0; i < count; ++i) {
    ASSERT_NEAR(found.y().get(type, i), expected.y().get(type, i), tolerance)
        << "token " << i / static_cast<size_t>(shape.heads * shape.head_dim);
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
  const int64_t width = shape.heads * shape.head_dim;
  for (int64_t i = (Call::kTokens - Call::kLongest) * width; i < Call::kTokens * width; ++i) {
    const auto element = static_cast<size_t>(i);
    ASSERT_EQ(both.y().get(type, element), alone.y().get(type, element)) << i;
  }
}

std::string test_name(const ::testing::TestParamInfo<Parameters>& info) {
  static constexpr const char* kTypes[] = {"float32", "float16", "bfloat16"};
  const auto& [shape, type, schedule] = info.param;
  return std::string(shape.name) + "_" + kTypes[type] + "_" + emulator::name_of(schedule.order);
}

INSTANTIATE_TEST_SUITE_P(Kernels, AttentionKernel,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values(kEncodeCudaFloat32,
                                                              kEncodeCudaFloat16,
                                                              kEncodeCudaBFloat16),
                                            ::testing::ValuesIn(testing::kSchedules)),
                         test_name);

}  // namespace
}  // namespace encode
