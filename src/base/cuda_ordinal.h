// The number of a CUDA device in its name.
#pragma once

#include <cstdint>
#include <string>

namespace encode {

// Returns the number in a name such as "cuda:3". "cuda", "auto" and "cpu" give 0.
int64_t cuda_ordinal(const std::string& device);

}  // namespace encode
