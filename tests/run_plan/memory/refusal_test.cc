// Tests that what cannot fit is refused with the arithmetic, and that what may fit is not refused.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/units.h"
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

// A machine with much memory, of which the run may take `bytes`.
MemoryLimit run_limit(int64_t bytes, int64_t workers = 1, DeviceKind kind = DeviceKind::kCpu) {
  MemoryLimit large = limit(kind, 1000);
  large.run = {.bytes = bytes, .workers = workers};
  return large;
}

constexpr int64_t kMegabyte = kGigabyte / 1000;

TEST(RunLimit, CountsTheProgramsAndTheModel) {
  const MemoryRequest request = cpu_request_for(kMiniLm);
  const ErrorDetail refused = refusal_of(request, run_limit(100 * kMegabyte));
  EXPECT_EQ(refused.code.name(), "limit.memory");
  EXPECT_THAT(refused.expected, HasSubstr("100.0 MB (--memory-limit, hardware.memory_limit)"));
  for (const char* part : {"program and LibTorch 146.8 MB", "weights", "tables"})
    EXPECT_THAT(refused.found, HasSubstr(part));
  EXPECT_EQ(refusal_of(request, run_limit(0)).code.name(), "") << "no limit is given";
}

// The limit that the hint names must be one that is accepted, but not a far larger one.
TEST(RunLimit, AsTheHintNamesItIsEnough) {
  for (const char* model : {kMiniLm, kBertBase, kQwen2}) {
    for (const int64_t workers : {1, 3}) {
      const MemoryRequest request = cpu_request_for(model);
      const std::string hint = refusal_of(request, run_limit(16 * kMegabyte, workers)).hint;
      const std::string begin = "raise the limit to ";
      ASSERT_TRUE(hint.starts_with(begin)) << hint;
      const auto named =
          parse_bytes(hint.substr(begin.size(), hint.find(" or more") - begin.size()));
      ASSERT_TRUE(named) << hint;
      EXPECT_EQ(refusal_of(request, run_limit(*named, workers)).code.name(), "") << hint;
      EXPECT_EQ(refusal_of(request, run_limit(*named * 8 / 10, workers)).code.name(),
                "limit.memory")
          << hint;
    }
  }
}

// A run with fewer threads or shorter texts may fit, so only what every run needs is refused.
TEST(RunLimit, WhatOnlyLargeBatchesPassIsAWarning) {
  const MemoryRequest few = cpu_request_for(kMiniLm);
  const MemoryRequest many = cpu_request_for(kMiniLm, /*threads=*/64);
  const MemoryLimit tight = run_limit(280 * kMegabyte);
  EXPECT_EQ(refusal_of(many, tight).code.name(), "");
  EXPECT_FALSE(memory_warning(few, tight).has_value());
  ASSERT_TRUE(memory_warning(many, tight).has_value());
  EXPECT_THAT(*memory_warning(many, tight), HasSubstr("280.0 MB (--memory-limit"));
}

// The worker reads less ahead to stay within the limit (plan_host_budget()).
TEST(RunLimit, WhatIsReadAheadIsNoReasonForAWarning) {
  MemoryRequest request = cpu_request_for(kMiniLm);
  request.prefetch_bytes = kGigabyte;
  request.chunk_rows = 1'000'000;
  ASSERT_GT(estimate_cpu(request).total_bytes(), kGigabyte / 2);
  EXPECT_FALSE(memory_warning(request, run_limit(kGigabyte / 2)).has_value());
}

TEST(RunLimit, OfARunOnAGpuDoesNotCountTheWeights) {
  const MemoryRequest request = request_for(kQwen2);
  EXPECT_EQ(refusal_of(request, run_limit(2 * kGigabyte)).code.name(), "limit.memory");
  EXPECT_EQ(refusal_of(request, run_limit(2 * kGigabyte, 1, DeviceKind::kCuda)).code.name(), "");
  EXPECT_EQ(refusal_of(request, run_limit(100 * kMegabyte, 1, DeviceKind::kCuda)).code.name(),
            "limit.memory");
  MemoryLimit automatic = run_limit(2 * kGigabyte);
  automatic.may_use_gpu = true;
  EXPECT_EQ(refusal_of(request, automatic).code.name(), "") << "the run may take the GPU";
}

TEST(Refusal, WhatIsLikelyNotToFitIsAWarning) {
  MemoryLimit busy = limit(DeviceKind::kCuda, 24);
  busy.free_bytes = kGigabyte;
  EXPECT_TRUE(memory_warning(request_for(kQwen2), busy).has_value());
  EXPECT_FALSE(memory_warning(request_for(kQwen2), limit(DeviceKind::kCuda, 24)).has_value());
}

}  // namespace
}  // namespace encode::testing
