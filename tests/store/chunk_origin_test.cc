// What the origin of a chunk says about the bits of its vectors.
#include <gtest/gtest.h>

#include "encode/store.h"

#include "store/records.h"

namespace encode::testing {
namespace {

ChunkOrigin on_gpu(std::string kernels, int64_t cuda_numerics) {
  return {.device = "NVIDIA H100",
          .libtorch = "2.11.0",
          .driver = "580.65",
          .kernels = std::move(kernels),
          .cuda_numerics = cuda_numerics};
}

TEST(ChunkOrigins, OfOtherKernelsOrOtherCudaNumericsHaveOtherBits) {
  const ChunkOrigin origin = on_gpu("layer_norm,pool", 1);
  EXPECT_TRUE(origin.same_bits(on_gpu("layer_norm,pool", 1)));
  for (const ChunkOrigin& other :
       {on_gpu("layer_norm", 1), on_gpu("off", 1), on_gpu("layer_norm,pool", 2)}) {
    EXPECT_FALSE(origin.same_bits(other));
    EXPECT_FALSE(origin.lacks_kernels(other));
    EXPECT_TRUE(origin.same_kind(other)) << "the device is the same";
  }
}

// Older records do not name the kernels, so they do not prove a difference.
TEST(ChunkOrigins, WithoutKernelsAreNotKnownToDiffer) {
  const ChunkOrigin old = on_gpu("", 0);
  EXPECT_TRUE(old.same_bits(on_gpu("off", 1)));
  EXPECT_TRUE(old.lacks_kernels(on_gpu("off", 1)));
  EXPECT_TRUE(on_gpu("off", 1).lacks_kernels(old));
  EXPECT_FALSE(old.lacks_kernels(old));
  ChunkOrigin elsewhere = old;
  elsewhere.driver = "590.1";
  EXPECT_FALSE(elsewhere.same_bits(on_gpu("off", 1))) << "another driver counts as ever";
}

TEST(ChunkOrigins, AreReadAsTheyAreWritten) {
  for (const ChunkOrigin& origin : {on_gpu("layer_norm,pool", 3), on_gpu("", 0)})
    EXPECT_EQ(chunk_origin_from_json(to_json(origin), "record"), origin);
  EXPECT_FALSE(to_json(on_gpu("", 0)).contains("kernels")) << "records of a CPU stay as they are";
  EXPECT_FALSE(to_json(on_gpu("", 0)).contains("cuda_numerics"));
}

}  // namespace
}  // namespace encode::testing
