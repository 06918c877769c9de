// Tests the comparison of two encoders on fixed texts, which decides if a quantized type is
// accepted.
#include "job/self_test.h"

#include <limits>
#include <span>

#include <gtest/gtest.h>

#include "encoder_stand_in.h"

namespace encode::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Gives each row the vector (first, second).
class FixedVectors : public StandInEncoder {
 public:
  FixedVectors(float first, float second) {
    after = [first, second](std::span<float> vector) {
      vector[0] = first;
      vector[1] = second;
    };
  }
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
