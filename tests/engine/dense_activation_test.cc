#include "engine/dense_activation.h"

#include <cstring>

#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "base/npy.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

constexpr int64_t kActivations = static_cast<int64_t>(DenseActivation::kTanhshrink) + 1;

// The file has a row of inputs, then the outputs of torch.nn for each activation.
// tests/data/README.md names the script that makes it.
TEST(DenseActivation, IsTorchs) {
  const std::string path = testing::test_data("sentence_transformers/dense_activations.npy");
  const NpyHeader header = read_npy_header(path);
  ASSERT_EQ(header.rows, 1 + kActivations);
  std::string bytes = testing::read_bytes(path).substr(static_cast<size_t>(header.data_offset));
  const at::Tensor golden = at::from_blob(bytes.data(), {header.rows, header.cols},
                                          at::TensorOptions().dtype(at::kFloat));
  for (int64_t i = 0; i < kActivations; ++i) {
    const at::Tensor y = apply(golden.narrow(0, 0, 1), static_cast<DenseActivation>(i));
    // LibTorch's functions may differ by one or two units in the last place between two processors
    // or two versions of the C library. GELU multiplies such a difference of 1 + erf(x) by x / 2.
    const at::Tensor allowed = golden.narrow(0, 0, 1).abs().clamp_min(1).mul(2.5e-7);
    EXPECT_TRUE(y.sub(golden.narrow(0, 1 + i, 1)).abs().le(allowed).all().item<bool>())
        << "activation " << i;
  }
}

TEST(DenseActivation, ARowsBitsDoNotDependOnItsPlace) {
  const at::Tensor x = at::randn({9, 21});  // 21 is not a multiple of a vector's width
  for (int64_t i = 0; i < kActivations; ++i) {
    const auto activation = static_cast<DenseActivation>(i);
    const at::Tensor together = apply(x, activation);
    for (int64_t row = 0; row < x.size(0); ++row) {
      EXPECT_TRUE(at::equal(apply(x.narrow(0, row, 1), activation), together.narrow(0, row, 1)))
          << "activation " << i << " row " << row;
    }
  }
}

}  // namespace
}  // namespace encode
