// What the process has asked of the stand-in.
#pragma once

#include "stand_in.h"

namespace encode {

// Returns the counts so far, or zeros if the stand-in is not open. dlsym() finds the function,
// because the program opens the stand-in at run time, as it opens LibTorch's CUDA library.
CudaStandInCounts counts();

CudaStandInCounts operator-(const CudaStandInCounts& a, const CudaStandInCounts& b);

}  // namespace encode
