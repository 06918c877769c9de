// Reads the .npy files in the folder of a reference model.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace encode::testing {

// Reads a C-ordered float32 or int32 array of any rank, as NumPy writes it.
at::Tensor load_npy(const std::string& path);

}  // namespace encode::testing
