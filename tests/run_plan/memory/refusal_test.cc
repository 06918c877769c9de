// Tests that the absurd is refused with its arithmetic, and that everything that may fit is not.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "run_plan/memory/memory_refusal.h"
#include "run_plan/memory/shapes.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

MemoryLimit limit(DeviceKind kind, int64_t gigabytes) {
  return {.kind = kind,
          .name = "the card",
          .total_bytes = gigabytes * kGigabyte,
          .free_bytes = gigabytes * kGigabyte};
}

ErrorDetail refusal_of(const MemoryRequest& request, const MemoryLimit& in) {
  try {
    require_memory(request, in, "model");
  } catch (const Error& error) {
    return error.detail();
  }
  return {};
}

TEST(Refusal, NamesThePartsAndWhatWouldFit) {
  MemoryRequest request = request_for(kBertBase, ComputeType::kFloat32);
  request.shape.vocab_size = 10'000'000;
  request.shape.embedding_size = request.shape.hidden_size = 4096;
  const ErrorDetail refused = refusal_of(request, limit(DeviceKind::kCuda, 24));
  EXPECT_EQ(refused.code.name(), "limit.memory");
  EXPECT_THAT(refused.found, HasSubstr("vocab_size 10,000,000 x 4,096 x 4 bytes"));
  EXPECT_THAT(refused.found, HasSubstr("12 layers"));
  EXPECT_THAT(refused.hint, HasSubstr("a vocabulary of at most"));
}

TEST(Refusal, NamesTheTypeThatWouldFit) {
  MemoryRequest request = request_for(kQwen2, ComputeType::kFloat32);
  set_layers(request.shape, 112);
  EXPECT_THAT(refusal_of(request, limit(DeviceKind::kCpu, 14)).hint, HasSubstr("bfloat16"));
}

TEST(Refusal, WhatMayFitIsNeverRefused) {
  for (const char* model : {kBertBase, kMiniLm, kQwen2}) {
    for (const ComputeType type :
         {ComputeType::kFloat32, ComputeType::kBFloat16, ComputeType::kInt8, ComputeType::kFp8}) {
      const MemoryRequest request = request_for(model, type);
      const int64_t card = estimate_cuda(request).total_bytes() / kGigabyte + 1;
      EXPECT_EQ(refusal_of(request, limit(DeviceKind::kCuda, card)).code.name(), "") << model;
      const int64_t host = estimate_cpu(request).total_bytes() / kGigabyte + 1;
      EXPECT_EQ(refusal_of(request, limit(DeviceKind::kCpu, host)).code.name(), "") << model;
    }
  }
}

// A checkpoint that shares its layers needs less than config.json seems to say.
TEST(Refusal, AlbertsSharedLayersCountOnce) {
  const MemoryRequest request = request_for(
      R"({"model_type":"albert","hidden_size":4096,"embedding_size":128,"num_hidden_layers":12,
          "num_attention_heads":64,"intermediate_size":16384,"vocab_size":30000,
          "max_position_embeddings":512})",
      ComputeType::kFloat32);
  EXPECT_EQ(refusal_of(request, limit(DeviceKind::kCpu, 2)).code.name(), "");
}

TEST(Refusal, ABatchThatCannotFitSaysHowManyRowsWould) {
  MemoryRequest request = request_for(kBertBase);
  request.batches.budget_tokens = int64_t{40'000} * 512;
  try {
    require_batch(request, limit(DeviceKind::kCuda, 24));
    FAIL() << "the batch was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "limit.batch");
    EXPECT_THAT(error.detail().expected, HasSubstr("rows of 512"));
  }
  request.batches.budget_tokens = 16384;
  EXPECT_NO_THROW(require_batch(request, limit(DeviceKind::kCuda, 24)));
}

TEST(Refusal, WhatIsLikelyNotToFitIsAWarning) {
  MemoryLimit busy = limit(DeviceKind::kCuda, 24);
  busy.free_bytes = kGigabyte;
  EXPECT_TRUE(memory_warning(request_for(kQwen2), busy).has_value());
  EXPECT_FALSE(memory_warning(request_for(kQwen2), limit(DeviceKind::kCuda, 24)).has_value());
}

}  // namespace
}  // namespace encode::testing
