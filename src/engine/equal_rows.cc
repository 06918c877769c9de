#include "engine/equal_rows.h"

#include <algorithm>
#include <fmt/format.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/ScalarType.h>

#include "encode/error.h"

#include "engine/spread_id.h"
#include "nn/cuda/cuda_device.h"
#include "nn/products/row_blocks.h"

namespace encode {
namespace {

using Call = TracedProduct::Call;

// A launch with fewer rows would leave most of a GPU idle.
constexpr int64_t kLeastRows = 64;

// Returns a batch of two short rows. Every product of a model has the shapes of this batch's
// products, because the engine fills each batch up to whole launches.
PackedBatch short_batch(const Transformer& transformer) {
  constexpr int64_t kRows = 2;
  constexpr int64_t kRowTokens = 8;
  const int64_t length = std::min(kRowTokens, transformer.effective.max_length);
  PackedBatch batch;
  batch.cu_seqlens.push_back(0);
  for (int64_t row = 0; row < kRows; ++row) {
    batch.sequence_numbers.push_back(row);
    batch.first_vectors.push_back(transformer.effective.token_embeddings() ? batch.tokens() : row);
    batch.vectors.push_back(transformer.effective.token_embeddings() ? static_cast<int32_t>(length)
                                                                     : 1);
    for (int64_t t = 0; t < length; ++t) {
      batch.input_ids.push_back(spread_id(row * length + t + 1, transformer.vocab_size));
      batch.position_ids.push_back(static_cast<int32_t>(t));
    }
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.tokens()));
  }
  batch.max_seqlen = static_cast<int32_t>(length);
  return batch;
}

bool is_in_blocks(const TracedProduct& product) { return product.call == Call::kInBlocks; }

// Returns the number of rows with which the product is launched. Blocks are filled up to
// kProductBlockRows rows.
int64_t rows_of(const TracedProduct& product) {
  return is_in_blocks(product) ? kProductBlockRows : product.rows;
}

// Returns [rows, width] equal rows. They are the same in each process, so that all workers of a run
// choose the same launches.
at::Tensor equal_rows(int64_t rows, int64_t width, const at::TensorOptions& tensor) {
  constexpr uint64_t kSeed = 20240607;
  at::Generator generator = at::detail::createCPUGenerator(kSeed);
  return at::randn({1, width}, generator).to(tensor).expand({rows, width}).contiguous();
}

at::Tensor multiply(const TracedProduct& product, at::Device device) {
  const int64_t rows = rows_of(product);
  const auto tensor = at::TensorOptions().dtype(product.type).device(device);
  const at::Tensor x = equal_rows(rows, product.in_features, tensor);
  if (is_in_blocks(product)) return product.linear.in_blocks(x);
  if (product.call != Call::kAddInPlace) return product.linear(x);
  return product.linear.add(x, equal_rows(rows, product.linear.out_features(), tensor)).total();
}

// Compares bits, because NaN is unequal to itself. Counts the differences, so that the count is
// zero if the rows are equal: the tests replace the CUDA runtime by a stand-in, from which the host
// reads only zeros.
bool has_equal_rows(const at::Tensor& y) {
  const at::Tensor bits = y.view(y.element_size() == sizeof(float) ? at::kInt : at::kShort);
  return bits.ne(bits.narrow(0, 0, 1)).sum().item<int64_t>() == 0;
}

std::string describe(const TracedProduct& product) {
  return fmt::format("{} x {} x {} {}", rows_of(product), product.in_features,
                     product.linear.out_features(), c10::toString(product.type));
}

}  // namespace

std::optional<TracedProduct> find_unequal_rows(const Transformer& transformer) {
  const c10::InferenceMode inference;
  const PackedBatch batch = short_batch(transformer);
  transformer.trace->start();
  transformer.embed(batch, transformer.token_slots(batch.tokens()));
  const std::vector<TracedProduct> products = transformer.trace->stop();
  const auto unequal =
      std::find_if(products.begin(), products.end(), [&transformer](const TracedProduct& product) {
        return !has_equal_rows(multiply(product, transformer.device));
      });
  release_cached_memory(transformer.device);
  if (unequal == products.end()) return std::nullopt;
  return *unequal;
}

Launches smaller_launches(const Launches& launches, const TracedProduct& product,
                          at::Device device) {
  const int64_t rows = launches.rows_of(rows_of(product)) / 2;
  if (rows < kLeastRows) {
    throw Error({.code = "device.products",
                 .what = "this device does not give equal rows equal bits in a matrix product",
                 .where = device_description(device),
                 .expected = fmt::format("equal bits in launches of {} rows or more", kLeastRows),
                 .found = fmt::format("other bits at another place of the product {}, in launches "
                                      "of each size",
                                      describe(product)),
                 .hint = "use another dtype or another device"});
  }
  const bool fills_launches = launches.rows > 0 && rows_of(product) % launches.rows == 0;
  return {.rows = fills_launches ? rows : launches.rows,
          .block_rows = fills_launches ? launches.block_rows : rows};
}

std::string describe(const Launches& launches) {
  return fmt::format("at most {} rows, blocks of {}", launches.rows,
                     launches.rows_of(kProductBlockRows));
}

}  // namespace encode
