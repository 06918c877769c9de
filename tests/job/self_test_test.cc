// Tests the comparison of two encoders on fixed texts, which decides if a quantized type is
// accepted.
#include "job/self_test.h"

#include <limits>

#include <gtest/gtest.h>

namespace encode::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Gives each row the vector (first, second).
class FixedVectors : public Encoder {
 public:
  FixedVectors(float first, float second) : first_(first), second_(second) {}

  bool encode(std::span<const PackedBatch> /*batches*/, std::span<float> out,
              const OnBatch& /*done*/) override {
    for (size_t i = 0; i < out.size(); i += 2) {
      out[i] = first_;
      out[i + 1] = second_;
    }
    return true;
  }
  int64_t dim() const override { return 2; }
  bool token_embeddings() const override { return false; }
  int64_t vocab_size() const override { return 100; }
  int64_t max_length() const override { return 100; }
  int64_t token_slots(int64_t tokens) const override { return tokens; }
  const DeviceFacts& device() const override { return device_; }
  void release_cached_memory() noexcept override {}
  DeviceMemory memory() const override { return {}; }

 private:
  float first_;
  float second_;
  DeviceFacts device_;
};

double cosine(FixedVectors a, FixedVectors b) {
  return least_cosine_of_fixed_texts(a, b, /*tokenizer=*/nullptr);
}

TEST(FixedTexts, CosinesAreThoseOfTheVectors) {
  EXPECT_DOUBLE_EQ(cosine({1, 0}, {2, 0}), 1);
  EXPECT_DOUBLE_EQ(cosine({1, 0}, {0, 1}), 0);
  EXPECT_DOUBLE_EQ(cosine({1, 0}, {-3, 0}), -1);
}

// A model of static embeddings gives a text without known tokens the vector zero.
TEST(FixedTexts, TwoZeroVectorsAreEqual) { EXPECT_EQ(cosine({0, 0}, {0, 0}), 1); }

TEST(FixedTexts, AVectorThatIsNotFiniteAndASingleZeroAreNeverClose) {
  for (const FixedVectors& broken : {FixedVectors(0, 0), FixedVectors(kNan, 1),
                                     FixedVectors(kInfinity, 1), FixedVectors(kNan, kNan)}) {
    EXPECT_EQ(cosine({1, 0}, broken), -1);
    EXPECT_EQ(cosine(broken, {1, 0}), -1);
  }
  EXPECT_EQ(cosine({kNan, 1}, {kNan, 1}), -1);
}

}  // namespace
}  // namespace encode::testing
