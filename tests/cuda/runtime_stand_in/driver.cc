// The functions of the driver library libcuda.so.1 that LibTorch uses outside its allocator.
#include <cuda.h>

CUresult cuDevicePrimaryCtxGetState(CUdevice /*device*/, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return CUDA_SUCCESS;
}

// The context of the device is always current. Its address stands for it.
CUresult cuCtxGetCurrent(CUcontext* context) {
  static char the_context;
  *context = reinterpret_cast<CUcontext>(&the_context);
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult /*status*/, const char** out) {
  *out = "an error of the stand-in for the CUDA driver";
  return CUDA_SUCCESS;
}
