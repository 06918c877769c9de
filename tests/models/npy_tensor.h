// Reads the .npy files beside a reference model into tensors.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace encode::testing {

// C-ordered float32 or int32 of any rank, as NumPy writes them.
at::Tensor load_npy(const std::string& path);

}  // namespace encode::testing
