#include "run_plan/memory/activations.h"

#include <fmt/format.h>

#include "base/units.h"

namespace encode {

LayerWidths layer_widths(const ModelShape& shape) {
  const int64_t hidden = shape.hidden_size;
  const int64_t heads = shape.query_width();
  if (shape.num_hidden_layers == 0) return {.attention = hidden, .mlp = hidden};
  const int64_t between = (shape.gated ? 3 : 1) * shape.intermediate_size;
  return {.attention = 2 * hidden + 2 * heads + 2 * shape.key_value_width(),
          .mlp = 3 * hidden + heads + between};
}

int64_t activation_bytes(const MemoryRequest& request) {
  // Rotary::angles() in nn/layers/rotary.cc: the cosines and sines of each token, in float32.
  const int64_t angles =
      request.shape.rotary() ? request.shape.head_dim * int64_t{sizeof(float)} : 0;
  return request.token_slots() *
         (layer_widths(request.shape).largest() * element_bytes(request.effective.dtype) + angles);
}

int64_t matrix_bytes(const MemoryRequest& request) {
  return request.shape.matrix_elements() * element_bytes(request.effective.dtype);
}

int64_t table_bytes(const MemoryRequest& request) {
  int64_t bytes = (request.shape.table_elements() + request.shape.vector_elements()) *
                  element_bytes(request.effective.dtype);
  // make_table() in nn/layers/rotary.cc has a cosine and a sine for each position.
  if (request.shape.rotary())
    bytes += request.effective.max_length * request.shape.head_dim * int64_t{sizeof(float)};
  for (const SentenceModule& module : request.effective.modules) {
    if (module.kind != SentenceModule::Kind::kDense) continue;
    bytes += module.in_features * module.out_features * element_bytes(ComputeType::kFloat32);
  }
  return bytes;
}

std::string numbers_text(int64_t elements, int64_t bytes_each) {
  return fmt::format("{} numbers x {} bytes", format_rate(static_cast<double>(elements)),
                     bytes_each);
}

}  // namespace encode
