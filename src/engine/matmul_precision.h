// How exact the products of layers are, for the Linears that are made.
#pragma once

#include <c10/core/Device.h>

#include "encode/model_directory.h"

namespace encode {

// LibTorch's own setting, which a Linear reads when it is made, and cuBLAS at each product: while
// this exists, as the options say; before and after, for all that is no layer, "highest".
// LibTorch's least precision, which no option names, stands for products of int8. One at a time in
// a process. Throws Error kUnavailable for dtype int8 on a device that has no such products.
class LayerPrecision {
 public:
  LayerPrecision(const EffectiveResult& effective, c10::Device device);
  LayerPrecision(const LayerPrecision&) = delete;
  LayerPrecision& operator=(const LayerPrecision&) = delete;
  ~LayerPrecision();
};

}  // namespace encode
