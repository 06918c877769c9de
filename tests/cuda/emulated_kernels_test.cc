// Runs whole models with the project's own CUDA kernels, compiled for the CPU, on the stand-in. The
// vectors must equal those of the CPU, and the counts show that the kernels computed them.
#include <dlfcn.h>
#include <filesystem>
#include <iostream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counted_plugin.h"
#include "nn/cuda/cuda_kernels.h"
#include "vectors.h"

namespace encode {
namespace {

using ::testing::Contains;
using ::testing::Pair;

constexpr testing::TestRows kRows = {.count = 6, .max_tokens = 12, .launch_tokens = 32};

using Counts = std::map<std::string, int64_t>;

// Returns how often each kernel of the plugin was launched.
Counts counts() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string plugin = program.parent_path() / "../lib/libencode_cuda.so";
  static void* const handle = ::dlopen(plugin.c_str(), RTLD_NOW | RTLD_NOLOAD);
  static const auto ask = reinterpret_cast<decltype(&encode_cuda_calls)>(
      handle != nullptr ? ::dlsym(handle, "encode_cuda_calls") : nullptr);
  Counts all;
  for (const CudaKernel kernel : kCudaKernels)
    all[to_string(kernel)] = ask != nullptr ? ask(to_string(kernel)) : 0;
  return all;
}

// Encodes the rows and adds the launches of this one pass to `launched`. Loading also launches
// every kernel, for its check, so the launches before the pass do not count.
testing::Vectors encode_and_count(const testing::TestModelChoice& choice, Counts& launched) {
  const auto encoder = testing::load_on("cuda", choice, kRows.launch_tokens);
  const Counts before = counts();
  testing::Vectors vectors = testing::encode_with(*encoder, kRows);
  for (const auto& [kernel, count] : counts()) launched[kernel] += count - before.at(kernel);
  return vectors;
}

// Expects that the pass has launched each kernel that the type has.
void expect_all_launched(const Counts& launched, at::ScalarType type, bool fp8) {
  for (const CudaKernel kernel : kCudaKernels) {
    const bool to_fp8 = kernel == CudaKernel::kQuantize || kernel >= CudaKernel::kFp8LayerNorm;
    if (!is_for(kernel, type) || to_fp8 != fp8) continue;
    EXPECT_THAT(launched, Contains(Pair(to_string(kernel), ::testing::Gt(0))));
  }
}

// Together these models launch every kernel: BERT the LayerNorm, the embedding and GELU, with heads
// of 32 numbers also attention of short rows, Qwen2 the RMS norm, the rotation and the gate, Gemma
// 2 attention with capped scores, and DeBERTa attention with terms of the tokens.
constexpr const char* kModels[] = {"bert_heads_of_32", "qwen2", "gemma2", "deberta_v2"};

TEST(EmulatedKernels, GiveTheCpusVectorsInFloat32) {
  Counts launched;
  for (const char* const model : kModels) {
    const testing::TestModelChoice choice = {model, ComputeType::kFloat32};
    const double difference = encode_and_count(choice, launched)
                                  .largest_difference(testing::encode_on("cpu", choice, kRows));
    std::cout << model << " differs by " << difference << "\n";
    EXPECT_LE(difference, 1e-5) << model;
  }
  expect_all_launched(launched, at::kFloat, /*fp8=*/false);
}

void expect_direction(ComputeType dtype, const char* model, double least, Counts& launched) {
  const testing::Vectors found = encode_and_count({model, dtype}, launched);
  const double cosine =
      found.lowest_cosine(testing::encode_on("cpu", {model, ComputeType::kFloat32}, kRows));
  std::cout << model << " has cosine " << cosine << "\n";
  EXPECT_GE(cosine, least) << model;
}

TEST(EmulatedKernels, KeepTheDirectionInFloat16) {
  Counts launched;
  for (const char* const model : kModels)
    expect_direction(ComputeType::kFloat16, model, 0.999, launched);
  expect_all_launched(launched, at::kHalf, /*fp8=*/false);
}

TEST(EmulatedKernels, KeepTheDirectionInBFloat16AndFp8) {
  Counts launched;
  for (const char* const model : kModels)
    expect_direction(ComputeType::kBFloat16, model, 0.999, launched);
  expect_all_launched(launched, at::kBFloat16, /*fp8=*/false);
  Counts of_fp8;
  for (const char* const model : {"bert_heads_of_32", "qwen2"})
    expect_direction(ComputeType::kFp8, model, 0.97, of_fp8);
  expect_all_launched(of_fp8, at::kBFloat16, /*fp8=*/true);
}

}  // namespace
}  // namespace encode
