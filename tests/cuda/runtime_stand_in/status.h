// The error that cudaGetLastError() reports.
#pragma once

#include <driver_types.h>

namespace runtime_stand_in {

// Keeps an error of this thread for cudaGetLastError(), and returns it.
cudaError_t keep(cudaError_t status);

}  // namespace runtime_stand_in
