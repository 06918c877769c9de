// The plugin's kernels once more, one number at a time on the host: a table for tests of what is
// built on one.
#pragma once

#include "nn/cuda/plugin.h"

namespace encode::testing {

EncodeCudaKernels host_kernels();

}  // namespace encode::testing
