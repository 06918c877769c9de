// Tests the record of the matrix products on a GPU, from which they are checked and timed.
#include "nn/layers/product_trace.h"

#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "on_gpu.h"

namespace encode {
namespace {

using Call = TracedProduct::Call;

class TracedProducts : public testing::OnGpu {
 protected:
  Linear linear(const at::Tensor& bias) {
    return {{random(64, 64)}, bias, Activation::kNone, {.trace = &trace_}};
  }
  at::Tensor random(int64_t rows, int64_t columns) const {
    return at::randn({rows, columns}).to(device_);
  }
  // Returns the calls that `multiply` makes.
  template <typename Multiply>
  std::vector<Call> calls(const Multiply& multiply) {
    trace_.start();
    multiply();
    std::vector<Call> found;
    for (const TracedProduct& product : trace_.stop()) found.push_back(product.call);
    return found;
  }

  ProductTrace trace_;
};

TEST_F(TracedProducts, HaveEachProductOnce) {
  const Linear plain = linear({});
  const Linear biased = linear(random(1, 64).squeeze(0));
  const at::Tensor x = random(512, 64);
  using ::testing::ElementsAre;
  EXPECT_THAT(calls([&] { biased(x); }), ElementsAre(Call::kWhole));
  EXPECT_THAT(calls([&] { biased.in_blocks(x); }), ElementsAre(Call::kInBlocks));
  EXPECT_THAT(calls([&] { biased.add(x, x.clone()); }), ElementsAre(Call::kWhole));
  EXPECT_THAT(calls([&] { plain.add(x, x.clone()); }), ElementsAre(Call::kAddInPlace));
}

}  // namespace
}  // namespace encode
