// Compares the CUDA encoder with the CPU encoder. The tests are skipped if there is no GPU.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "encode/encoder.h"
#include "encode/error.h"

#include "batching/pack.h"
#include "load_for_test.h"
#include "random_rows.h"

namespace encode {
namespace {

std::unique_ptr<Encoder> load(const std::string& model, const std::string& device,
                              ComputeType dtype) {
  ResultOptions result;
  result.dtype = dtype;
  result.normalize = true;
  EncoderOptions options;
  options.hardware.device = parse_device(device);
  testing::TestModel opened = testing::open_test_model(model, result);
  // The launch is small, so some batches are padded to 1024 tokens and others to a multiple of it.
  opened.effective.launch_tokens = 1024;
  return testing::load_test_encoder(opened, options);
}

std::vector<float> encode_rows(Encoder& encoder, const TokenizedRows& rows,
                               int64_t capacity_tokens) {
  std::vector<float> out(static_cast<size_t>(rows.size() * encoder.dim()));
  EXPECT_TRUE(encoder.encode(pack({.ids = rows}, capacity_tokens), out,
                             [](const PackedBatch&) { return true; }));
  return out;
}

// Returns the cosine of one row of two matrices of unit vectors.
double cosine_of(const std::vector<float>& a, const std::vector<float>& b, size_t row, size_t dim) {
  double cosine = 0;
  for (size_t i = row * dim; i < (row + 1) * dim; ++i) cosine += static_cast<double>(a[i]) * b[i];
  return cosine;
}

class Cuda : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    // A test that was asked to use a device fails if the device is absent.
    const bool asked = std::getenv("ENCODE_TEST_DEVICE") != nullptr;
    try {
      load(GetParam(), "cuda", ComputeType::kFloat32);
    } catch (const Error& error) {
      if (asked || error.exit_code() != ExitCode::kUnavailable) throw;
      GTEST_SKIP() << "no GPU: " << error.detail().found;
    }
  }
};

TEST_P(Cuda, Float32IsWithin1e4OfTheCpu) {
  const TokenizedRows rows = testing::random_rows(100);
  const std::vector<float> expected =
      encode_rows(*load(GetParam(), "cpu", ComputeType::kFloat32), rows, 512);
  const std::vector<float> found =
      encode_rows(*load(GetParam(), "cuda", ComputeType::kFloat32), rows, 1024);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-4);
}

TEST_P(Cuda, HalfWidthTypesKeepTheDirection) {
  const TokenizedRows rows = testing::random_rows(100);
  const std::vector<float> expected =
      encode_rows(*load(GetParam(), "cpu", ComputeType::kFloat32), rows, 512);
  for (const ComputeType dtype : {ComputeType::kBFloat16, ComputeType::kFloat16}) {
    const auto encoder = load(GetParam(), "cuda", dtype);
    const std::vector<float> found = encode_rows(*encoder, rows, 1024);
    const auto dim = static_cast<size_t>(encoder->dim());
    for (size_t row = 0; row < static_cast<size_t>(rows.size()); ++row) {
      if (rows.row(static_cast<int64_t>(row)).empty()) continue;
      EXPECT_GE(cosine_of(found, expected, row, dim), 0.999) << to_string(dtype) << " row " << row;
    }
  }
}

TEST_P(Cuda, SameRowSameVectorWhateverTheBatches) {
  const TokenizedRows rows = testing::random_rows(100);
  for (const ComputeType dtype : {ComputeType::kFloat32, ComputeType::kBFloat16}) {
    const auto encoder = load(GetParam(), "cuda", dtype);
    const std::vector<float> expected = encode_rows(*encoder, rows, 1024);
    for (const int64_t capacity : {40, 128, 1000, 4096}) {
      const std::vector<float> found = encode_rows(*encoder, rows, capacity);
      EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0)
          << capacity;
    }
  }
}

// Encodes windows whose first batches were launched with the window before. One window is not the
// announced window.
TEST_P(Cuda, AWindowThatWasBegunBeforeHasTheSameBits) {
  const auto encoder = load(GetParam(), "cuda", ComputeType::kFloat32);
  const TokenizedRows rows = testing::random_rows(100);
  const std::vector<float> expected = encode_rows(*encoder, rows, 1024);
  const std::vector<PackedBatch> small = pack({.ids = rows}, 128);
  const std::vector<PackedBatch> large = pack({.ids = rows}, 1000);
  const auto all = [](const PackedBatch&) { return true; };
  const auto expect_same = [&](const std::vector<PackedBatch>& batches,
                               const std::vector<PackedBatch>& next) {
    std::vector<float> out(expected.size());
    EXPECT_TRUE(encoder->encode_ahead(batches, out, all, [&] { return std::span(next); }));
    EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0);
  };
  expect_same(small, large);
  expect_same(large, large);
  expect_same(large, small);
  expect_same(large, {});
}

TEST_P(Cuda, Fp8KeepsTheDirectionAndARowItsBits) {
  std::unique_ptr<Encoder> encoder;
  try {
    encoder = load(GetParam(), "cuda", ComputeType::kFp8);
  } catch (const Error& error) {
    if (error.detail().code != "device.fp8") throw;
    GTEST_SKIP() << "no 8-bit floats: " << error.detail().found;
  }
  const TokenizedRows rows = testing::random_rows(100);
  const std::vector<float> found = encode_rows(*encoder, rows, 1024);
  const std::vector<float> exact =
      encode_rows(*load(GetParam(), "cpu", ComputeType::kFloat32), rows, 512);
  const auto dim = static_cast<size_t>(encoder->dim());
  for (size_t row = 0; row < static_cast<size_t>(rows.size()); ++row) {
    if (rows.row(static_cast<int64_t>(row)).empty()) continue;
    EXPECT_GE(cosine_of(found, exact, row, dim), 0.97) << "row " << row;
  }
  for (const int64_t capacity : {40, 128, 1000, 4096}) {
    const std::vector<float> again = encode_rows(*encoder, rows, capacity);
    EXPECT_EQ(std::memcmp(again.data(), found.data(), found.size() * sizeof(float)), 0) << capacity;
  }
}

TEST_P(Cuda, ReleasingTheCacheGivesMemoryBack) {
  const auto encoder = load(GetParam(), "cuda", ComputeType::kFloat32);
  encode_rows(*encoder, testing::random_rows(100), 1024);
  const DeviceMemory before = encoder->memory();
  encoder->release_cached_memory();
  const DeviceMemory after = encoder->memory();
  EXPECT_LE(after.reserved_bytes, before.reserved_bytes);
  EXPECT_LE(after.allocated_bytes, before.allocated_bytes);
}

// The other cores tokenize and write, so the host's last steps of a batch use only one core.
TEST_P(Cuda, TheHostsLastStepsUseOneThread) {
  const int before = at::get_num_threads();
  constexpr int kThreads = 3;
  at::set_num_threads(kThreads);
  const auto encoder = load(GetParam(), "cuda", ComputeType::kFloat32);
  const TokenizedRows rows = testing::random_rows(100);
  std::vector<float> out(static_cast<size_t>(rows.size() * encoder->dim()));
  int most = 0;
  encoder->encode(pack({.ids = rows}, 1024), out, [&most](const PackedBatch&) {
    most = std::max(most, at::get_num_threads());
    return true;
  });
  EXPECT_EQ(most, 1);
  EXPECT_EQ(at::get_num_threads(), kThreads) << "loading another model may use them all";
  at::set_num_threads(before);
}

// The record of a chunk says which of encode's kernels have computed it.
TEST_P(Cuda, TheDeviceNamesTheKernelsThatCompute) {
  EXPECT_NE(load(GetParam(), "cuda", ComputeType::kFloat32)->device().kernels, "");
  EXPECT_EQ(load(GetParam(), "cpu", ComputeType::kFloat32)->device().kernels, "");
}

INSTANTIATE_TEST_SUITE_P(Models, Cuda,
                         ::testing::Values("bert", "qwen2", "qwen2_bidirectional", "mistral_window",
                                           "modernbert", "gemma3", "mpnet"));

}  // namespace
}  // namespace encode
