// Tests that the estimates grow with what needs memory.
#include "run_plan/memory/memory_estimate.h"

#include <gtest/gtest.h>

#include "run_plan/memory/shapes.h"

namespace encode::testing {
namespace {

using Change = void (*)(MemoryRequest&);

struct Growth {
  const char* what;
  Change change;
};

TEST(CpuMemory, GrowsWithEverythingThatNeedsMemory) {
  const MemoryRequest usual = cpu_request_for(kBertBase);
  const int64_t bytes = estimate_cpu(usual).total_bytes();
  for (const Growth& growth : {
           Growth{"threads", [](MemoryRequest& r) { r.batches.batches_at_once = 2; }},
           Growth{"longest row", [](MemoryRequest& r) { r.effective.max_length = 2048; }},
           Growth{"layers", [](MemoryRequest& r) { set_layers(r.shape, 24); }},
           Growth{"vocabulary", [](MemoryRequest& r) { r.shape.vocab_size *= 2; }},
           Growth{"tokenizer", [](MemoryRequest& r) { r.tokenizer_file_bytes = 1 << 20; }},
           Growth{"windows", [](MemoryRequest& r) { r.effective.dim *= 8; }},
           Growth{"int8 check", [](MemoryRequest& r) { r.effective.dtype = ComputeType::kInt8; }},
       }) {
    MemoryRequest more = usual;
    growth.change(more);
    EXPECT_GT(estimate_cpu(more).total_bytes(), bytes) << growth.what;
  }
  MemoryRequest narrow = usual;
  narrow.effective.dtype = ComputeType::kBFloat16;
  EXPECT_LT(estimate_cpu(narrow).total_bytes(), bytes);
}

TEST(CudaMemory, GrowsWithEverythingThatNeedsMemory) {
  const MemoryRequest usual = request_for(kBertBase);
  const int64_t bytes = estimate_cuda(usual).total_bytes();
  for (const Growth& growth : {
           Growth{"batch", [](MemoryRequest& r) { r.batches.budget_tokens *= 2; }},
           Growth{"float32", [](MemoryRequest& r) { r.effective.dtype = ComputeType::kFloat32; }},
           Growth{"layers", [](MemoryRequest& r) { set_layers(r.shape, 24); }},
           Growth{"relative",
                  [](MemoryRequest& r) { r.shape.positions.scores = ScorePositions::kRelative; }},
       }) {
    MemoryRequest more = usual;
    growth.change(more);
    EXPECT_GT(estimate_cuda(more).total_bytes(), bytes) << growth.what;
  }
}

TEST(CudaMemory, WeightsHaveTheBytesOfTheType) {
  const int64_t elements = request_for(kBertBase).shape.matrix_elements();
  EXPECT_EQ(estimate_cuda(request_for(kBertBase)).bytes_of(MemoryKind::kWeights), 2 * elements);
  const auto fp8 = estimate_cuda(request_for(kBertBase, ComputeType::kFp8));
  EXPECT_NEAR(static_cast<double>(fp8.bytes_of(MemoryKind::kWeights)),
              static_cast<double>(elements), 0.01 * static_cast<double>(elements));
}

// The worker compares a quantized model with the exact one, which is then on the device too.
TEST(CudaMemory, HasRoomForTheExactModelOfAQuantizedOne) {
  const auto bytes = [](ComputeType type) {
    MemoryRequest request = request_for(kBertBase, type);
    request.batches.launch_tokens = 1;
    request.texts = {.rows = 1, .tokens = 8, .text_bytes = 32, .longest_row_tokens = 8};
    return estimate_cuda(request);
  };
  const MemoryEstimate fp8 = bytes(ComputeType::kFp8);
  const MemoryEstimate exact = bytes(ComputeType::kBFloat16);
  EXPECT_GE(fp8.bytes_of(MemoryKind::kLoading) + fp8.bytes_of(MemoryKind::kActivations),
            exact.bytes_of(MemoryKind::kWeights) + exact.bytes_of(MemoryKind::kTables));
  EXPECT_LT(exact.bytes_of(MemoryKind::kLoading), exact.bytes_of(MemoryKind::kWeights) / 2);
}

TEST(Windows, AreNotLargerThanTheTextsFill) {
  MemoryRequest request = cpu_request_for(kBertBase);
  request.texts = {.rows = 10, .tokens = 1000, .text_bytes = 4000, .longest_row_tokens = 100};
  EXPECT_EQ(largest_window(request).rows, 10);
  request.texts = {.rows = 1'000'000,
                   .tokens = 100'000'000,
                   .text_bytes = 400'000'000,
                   .longest_row_tokens = 100};
  request.chunk_rows = 1'000'000;
  EXPECT_LE(largest_window(request).rows, window_rows(request.prefetch_bytes / kWindowTextShares));
}

}  // namespace
}  // namespace encode::testing
