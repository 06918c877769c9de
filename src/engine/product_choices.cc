#include "engine/product_choices.h"

#include <algorithm>
#include <fmt/format.h>

#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include "base/hash.h"
#include "engine/device_facts.h"
#include "engine/transformer.h"
#include "nn/cuda/cuda_device.h"
#include "nn/cuda/plugin.h"
#include "nn/cuda/product_search.h"

namespace encode {
namespace {

// Returns a batch of two short rows. Every product of a model has the shapes of this batch's
// products, because the engine fills each batch up to whole launches.
PackedBatch short_batch(const Transformer& transformer) {
  constexpr int64_t kRows = 2;
  constexpr int64_t kRowTokens = 8;
  const int64_t length = std::min(kRowTokens, transformer.effective.max_length);
  PackedBatch batch;
  batch.cu_seqlens.push_back(0);
  for (int64_t row = 0; row < kRows; ++row) {
    batch.token_offsets.push_back(batch.tokens());
    batch.rows.push_back(row);
    for (int64_t t = 0; t < length; ++t) {
      constexpr int64_t kStride = 7919;  // a prime, so that the ids spread over the vocabulary
      batch.input_ids.push_back(
          static_cast<int32_t>((row * length + t + 1) * kStride % transformer.vocab_size));
      batch.position_ids.push_back(static_cast<int32_t>(t));
    }
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.tokens()));
  }
  batch.max_seqlen = static_cast<int32_t>(length);
  return batch;
}

std::vector<ProductShape> shapes_of(const Transformer& transformer) {
  const PackedBatch batch = short_batch(transformer);
  const c10::InferenceMode inference;
  transformer.products->collect();
  transformer.embed(batch, transformer.token_slots(batch.tokens()));
  synchronize(transformer.device);
  return transformer.products->collected();
}

}  // namespace

std::string products_hash(const std::vector<ProductShape>& shapes,
                          const std::vector<ProductFinding>& findings) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (findings[i].algorithm)
      lines.push_back(
          fmt::format("{}: {}\n", to_string(shapes[i]), to_hex(*findings[i].algorithm)));
  }
  if (lines.empty()) return "";
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return xxh3_hex(text);
}

std::string choose_products(Transformer& transformer, const ChooseProducts& choose) {
  const EncodeCudaProducts& table = *plugin_products();
  const at::Device device = transformer.device;
  const ProductRequest request = {
      .device = device_facts(device, /*threads=*/1),
      .cublaslt = table.version(),
      .shapes = shapes_of(transformer),
      .search =
          [&table, device](const ProductShape& shape) {
            const c10::InferenceMode inference;
            return search_product(table, shape, device);
          },
      .can_compute =
          [&table, device](const ProductShape& shape, const ProductAlgorithm& algorithm) {
            return can_compute(table, shape, algorithm, device);
          }};
  const std::vector<ProductFinding> findings = choose(request);
  TORCH_CHECK(findings.size() == request.shapes.size(), "a finding for each product");
  int64_t chosen = 0;
  for (size_t i = 0; i < findings.size(); ++i) {
    if (!findings[i].algorithm) continue;
    transformer.products->use(request.shapes[i], *findings[i].algorithm);
    ++chosen;
  }
  transformer.products_hash = products_hash(request.shapes, findings);
  return fmt::format(
      "CUDA: {} of {} shapes of matrix products have a chosen algorithm of cuBLASLt {}", chosen,
      findings.size(), request.cublaslt);
}

}  // namespace encode
