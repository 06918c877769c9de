// A decoder whose layers all have the same attention window and the same rotary angles. The file of
// the family has the layer.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <ATen/ops/embedding.h>

#include "models/layers.h"
#include "models/model.h"

namespace encode {

template <typename Layer, typename FinalNorm>
struct RotaryDecoderParts {
  at::Tensor words;  // [vocab_size, hidden_size]
  std::vector<Layer> layers;
  FinalNorm norm;  // after the last layer
  Rotary rotary;
  AttentionWindow window;
};

template <typename Layer, typename FinalNorm>
class RotaryDecoder : public Model {
 public:
  explicit RotaryDecoder(RotaryDecoderParts<Layer, FinalNorm> parts) : parts_(std::move(parts)) {}

  // x = words[ids]; x = layer(x), layer after layer; the result is norm(x).
  at::Tensor forward(const PackedInput& batch) const override {
    const RotaryAngles angles = parts_.rotary.angles(batch);
    ResidualSum x = {at::embedding(parts_.words, batch.input_ids)};
    x = run_layers(parts_.layers, x, {.batch = batch, .window = parts_.window, .rotary = &angles});
    return parts_.norm(x);
  }

 private:
  RotaryDecoderParts<Layer, FinalNorm> parts_;
};

template <typename Layer, typename FinalNorm>
std::unique_ptr<Model> make_rotary_decoder(RotaryDecoderParts<Layer, FinalNorm> parts) {
  return std::make_unique<RotaryDecoder<Layer, FinalNorm>>(std::move(parts));
}

}  // namespace encode
