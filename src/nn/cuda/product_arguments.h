// Turns tensors into the arguments of the plugin's matrix products. Only products.cc and
// product_search.cc include this header.
#pragma once

#include "nn/cuda/kernel_arguments.h"
#include "nn/cuda/plugin.h"
#include "nn/cuda/products.h"

namespace encode {

inline EncodeCudaProductActivation product_activation(Activation activation) {
  if (activation == Activation::kRelu) return kEncodeCudaProductRelu;
  return activation == Activation::kGeluTanh ? kEncodeCudaProductGeluTanh : kEncodeCudaProductPlain;
}

// `call` must have a shape_of().
inline EncodeCudaProduct arguments_of(const ProductCall& call, const at::Tensor& workspace) {
  return {.x = pointer(call.x),
          .w = pointer(call.weight),
          .bias = pointer(call.bias),
          .residual = pointer(call.residual),
          .y = pointer(call.y),
          .rows = call.x.size(0),
          .in_features = call.x.size(1),
          .out_features = call.weight.size(0),
          .activation = product_activation(call.activation),
          .type = *type_of(call.x.scalar_type()),
          .tf32 = call.format == ProductFormat::kFloat32High ? 1 : 0,
          .workspace = pointer(workspace),
          .workspace_bytes = workspace.numel(),
          .stream = current_stream(call.x)};
}

inline EncodeCudaAlgorithm plugin_form(const ProductAlgorithm& algorithm) {
  EncodeCudaAlgorithm form = {};
  for (size_t i = 0; i < algorithm.size(); ++i) form.words[i] = algorithm[i];
  return form;
}

}  // namespace encode
