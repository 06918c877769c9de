// Tests CudaKernels and check_kernels() with the CPU kernels of host_kernels.h. Also tests the
// parts of the plugin that need no GPU.
#include <cmath>
#include <dlfcn.h>
#include <filesystem>

#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host_kernels.h"
#include "nn/cuda/cuda_kernels.h"
#include "nn/cuda/kernel_checks.h"

namespace encode {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kHalf, at::kBFloat16};

std::vector<KernelFinding> refusals(const EncodeCudaKernels& table, at::ScalarType type) {
  std::vector<KernelFinding> refused;
  for (KernelFinding& finding : check_kernels(table, at::kCPU, type)) {
    if (!finding.passed) refused.push_back(std::move(finding));
  }
  return refused;
}

std::vector<std::string> names_of(const std::vector<KernelFinding>& findings) {
  std::vector<std::string> names;
  for (const KernelFinding& finding : findings) names.emplace_back(to_string(finding.kernel));
  return names;
}

TEST(KernelCheck, TrustsKernelsThatAreRight) {
  for (const at::ScalarType type : kTypes)
    EXPECT_THAT(names_of(refusals(testing::host_kernels(), type)), IsEmpty()) << type;
}

// A kernel with a small error: changes one number of the correct result by a few units in the last
// place of bfloat16.
template <auto kKernel, typename Arguments>
int slightly_wrong(const Arguments* arguments) {
  const int status = (testing::host_kernels().*kKernel)(arguments);
  if (arguments->y == nullptr) return status;
  auto* y = static_cast<c10::BFloat16*>(arguments->y);
  y[3] = static_cast<float>(y[3]) + 4 * 0x1p-7F * (1 + std::abs(static_cast<float>(y[3])));
  return status;
}

TEST(KernelCheck, NoticesOneWrongNumberAndNamesTheKernel) {
  EncodeCudaKernels table = testing::host_kernels();
  table.layer_norm = slightly_wrong<&EncodeCudaKernels::layer_norm, EncodeCudaNorm>;
  EXPECT_THAT(names_of(refusals(table, at::kBFloat16)),
              ElementsAre("layer_norm", "layer_norm to fp8"));
  table = testing::host_kernels();
  table.rms_norm = slightly_wrong<&EncodeCudaKernels::rms_norm, EncodeCudaNorm>;
  EXPECT_THAT(names_of(refusals(table, at::kBFloat16)), ElementsAre("rms_norm", "rms_norm to fp8"));
  table = testing::host_kernels();
  table.activation = slightly_wrong<&EncodeCudaKernels::activation, EncodeCudaElementwise>;
  EXPECT_THAT(names_of(refusals(table, at::kBFloat16)), ElementsAre("activation"));
  table = testing::host_kernels();
  table.gated = slightly_wrong<&EncodeCudaKernels::gated, EncodeCudaElementwise>;
  EXPECT_THAT(names_of(refusals(table, at::kBFloat16)), ElementsAre("gated"));
  table = testing::host_kernels();
  table.embedding = slightly_wrong<&EncodeCudaKernels::embedding, EncodeCudaEmbedding>;
  EXPECT_THAT(names_of(refusals(table, at::kBFloat16)), ElementsAre("embedding"));
}

TEST(KernelCheck, NoticesAKernelThatDoesTooMuchOrNothing) {
  EncodeCudaKernels table = testing::host_kernels();
  table.rotary = [](const EncodeCudaRotary* arguments) {
    EncodeCudaRotary values_too = *arguments;
    ++values_too.heads;
    return testing::host_kernels().rotary(&values_too);
  };
  table.pool = [](const EncodeCudaPool*) { return 0; };
  EXPECT_THAT(names_of(refusals(table, at::kFloat)), ElementsAre("rotary", "pool"));
}

// A kernel with a small error: changes one quantized value of the correct result to the next but
// one e4m3 number. The next e4m3 number could be explained by rounding.
template <auto kKernel, typename Arguments>
int slightly_wrong_fp8(const Arguments* arguments) {
  const int status = (testing::host_kernels().*kKernel)(arguments);
  if (arguments->fp8.values != nullptr) {
    auto& value = static_cast<uint8_t*>(arguments->fp8.values)[3];
    value = static_cast<uint8_t>(value % 128 > 8 ? value - 2 : value + 16);
  }
  return status;
}

TEST(KernelCheck, NoticesAWrongQuantizationBesideOtherWork) {
  const auto refused = [](auto member, auto launcher) {
    EncodeCudaKernels table = testing::host_kernels();
    table.*member = launcher;
    return names_of(refusals(table, at::kBFloat16));
  };
  using Table = EncodeCudaKernels;
  EXPECT_THAT(refused(&Table::layer_norm, slightly_wrong_fp8<&Table::layer_norm, EncodeCudaNorm>),
              ElementsAre("layer_norm to fp8"));
  EXPECT_THAT(refused(&Table::rms_norm, slightly_wrong_fp8<&Table::rms_norm, EncodeCudaNorm>),
              ElementsAre("rms_norm to fp8"));
  EXPECT_THAT(
      refused(&Table::activation, slightly_wrong_fp8<&Table::activation, EncodeCudaElementwise>),
      ElementsAre("activation to fp8"));
  EXPECT_THAT(refused(&Table::gated, slightly_wrong_fp8<&Table::gated, EncodeCudaElementwise>),
              ElementsAre("gated to fp8"));
}

TEST(KernelCheck, NoticesAWrongQuantization) {
  EncodeCudaKernels table = testing::host_kernels();
  const auto refused = [&] { return names_of(refusals(table, at::kBFloat16)); };
  table.quantize_rows = [](const EncodeCudaQuantize* arguments) {
    testing::host_kernels().quantize_rows(arguments);
    // Changes one value to a neighbouring e4m3 number.
    ++static_cast<uint8_t*>(arguments->y.values)[3];
    return 0;
  };
  EXPECT_THAT(refused(), ElementsAre("quantize_rows"));
  table.quantize_rows = [](const EncodeCudaQuantize* arguments) {
    testing::host_kernels().quantize_rows(arguments);
    arguments->y.scale[1] *= 1.001F;
    return 0;
  };
  EXPECT_THAT(refused(), ElementsAre("quantize_rows"));
  table.quantize_rows = [](const EncodeCudaQuantize* arguments) {
    testing::host_kernels().quantize_rows(arguments);
    for (int64_t row = 0; row < arguments->rows; ++row)  // replaces a NaN by a number
      if (!std::isfinite(arguments->y.scale[row])) arguments->y.scale[row] = 1;
    return 0;
  };
  EXPECT_THAT(refused(), ElementsAre("quantize_rows"));
}

TEST(KernelCheck, NoticesANaNThatOneShapeAloneHas) {
  EncodeCudaKernels table = testing::host_kernels();
  table.rotary = [](const EncodeCudaRotary* arguments) {
    testing::host_kernels().rotary(arguments);
    // Only the first shape of the check has this head_dim.
    if (arguments->head_dim == 64) static_cast<float*>(arguments->qkv)[0] = NAN;
    return 0;
  };
  EXPECT_THAT(names_of(refusals(table, at::kFloat)), ElementsAre("rotary"));
}

TEST(KernelCheck, SaysWhyALaunchFailed) {
  EncodeCudaKernels table = testing::host_kernels();
  table.gated = [](const EncodeCudaElementwise*) { return 209; };
  table.pool = [](const EncodeCudaPool*) -> int { return kEncodeCudaUnsupported; };
  const std::vector<KernelFinding> refused = refusals(table, at::kHalf);
  ASSERT_THAT(names_of(refused), ElementsAre("gated", "pool"));
  EXPECT_THAT(refused[0].reason, HasSubstr("CUDA error 209"));
  EXPECT_THAT(refused[1].reason, HasSubstr("does not take a shape"));
}

TEST(CudaKernels, NothingRunsBeforeItIsTrustedWithTheType) {
  EncodeCudaKernels table = testing::host_kernels();
  CudaKernels kernels(&table);
  const at::Tensor x = at::randn({2, 8});
  const at::Tensor y = at::randn({2, 8});
  EXPECT_FALSE(kernels.activate(x, Activation::kGelu, y));
  kernels.trust(CudaKernel::kActivation, at::kHalf);
  EXPECT_FALSE(kernels.activate(x, Activation::kGelu, y));
  kernels.trust(CudaKernel::kActivation, at::kFloat);
  EXPECT_TRUE(kernels.activate(x, Activation::kGelu, y));
  EXPECT_TRUE(y.allclose(activate(x, Activation::kGelu), 1e-5, 1e-6));
  EXPECT_FALSE(kernels.activate(x.t(), Activation::kGelu, y.t())) << "rows are not dense";
  EXPECT_FALSE(kernels.activate(x, Activation::kNone, y));
}

struct Opened {
  void* handle;
  const EncodeCudaKernels* table;
};

Opened open_plugin() {
  const auto path =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../lib/libencode_cuda.so";
  if (!std::filesystem::exists(path)) return {};
  // This program links LibTorch, which has loaded the CUDA runtime that the plugin needs.
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << ::dlerror();
  if (handle == nullptr) return {};
  using Table = const EncodeCudaKernels* (*)();
  const auto table = reinterpret_cast<Table>(::dlsym(handle, "encode_cuda_kernels"));
  EXPECT_NE(table, nullptr);
  EXPECT_NE(::dlsym(handle, "encode_cuda_device"), nullptr);
  return {handle, table != nullptr ? table() : nullptr};
}

TEST(CudaPlugin, OffersEveryKernel) {
  const Opened plugin = open_plugin();
  if (plugin.handle == nullptr)
    GTEST_SKIP() << "there is no libencode_cuda.so, because the build has found no nvcc";
  ASSERT_NE(plugin.table, nullptr);
  EXPECT_NE(plugin.table->layer_norm, nullptr);
  EXPECT_NE(plugin.table->rms_norm, nullptr);
  EXPECT_NE(plugin.table->rotary, nullptr);
  EXPECT_NE(plugin.table->activation, nullptr);
  EXPECT_NE(plugin.table->gated, nullptr);
  EXPECT_NE(plugin.table->embedding, nullptr);
  EXPECT_NE(plugin.table->pool, nullptr);
  EXPECT_NE(plugin.table->quantize_rows, nullptr);
}

// The launchers check shapes before they launch anything, so this test needs no GPU.
TEST(CudaPlugin, DeclinesShapesThatItHasNoCodeFor) {
  const Opened plugin = open_plugin();
  if (plugin.handle == nullptr)
    GTEST_SKIP() << "there is no libencode_cuda.so, because the build has found no nvcc";
  EncodeCudaElementwise odd = {};
  odd.rows = 3;
  odd.width = 12;
  odd.type = kEncodeCudaFloat16;
  EXPECT_EQ(plugin.table->gated(&odd), kEncodeCudaUnsupported);
  alignas(16) char bytes[64] = {};
  EncodeCudaElementwise misaligned = odd;
  misaligned.width = 8;
  misaligned.x = bytes + 2;
  EXPECT_EQ(plugin.table->activation(&misaligned), kEncodeCudaUnsupported);
  EncodeCudaNorm wide = {};
  wide.rows = 1;
  wide.inner_rows = 1;
  wide.width = wide.outer_stride = 1 << 20;
  EXPECT_EQ(plugin.table->rms_norm(&wide), kEncodeCudaUnsupported);
  EncodeCudaQuantize ragged = {};
  ragged.rows = 3;
  ragged.width = 24;
  ragged.type = kEncodeCudaBFloat16;
  EXPECT_EQ(plugin.table->quantize_rows(&ragged), kEncodeCudaUnsupported);
  // The launcher must decline, because only a bfloat16 kernel can quantize its result.
  EncodeCudaElementwise half = {};
  half.rows = 3;
  half.width = 32;
  half.type = kEncodeCudaFloat16;
  half.fp8.values = bytes;
  EXPECT_EQ(plugin.table->gated(&half), kEncodeCudaUnsupported);
}

}  // namespace
}  // namespace encode
