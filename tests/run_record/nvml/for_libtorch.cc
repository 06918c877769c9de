// LibTorch's CUDA library looks these functions up when its allocator starts, and refuses a driver
// that lacks one. It calls them to describe an error, and for several GPUs. None of them knows
// anything here.
namespace {

constexpr int kNotSupported = 3;

}  // namespace

extern "C" {

int nvmlDeviceGetHandleByPciBusId_v2() { return kNotSupported; }
int nvmlDeviceGetNvLinkRemoteDeviceType() { return kNotSupported; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2() { return kNotSupported; }
int nvmlDeviceGetComputeRunningProcesses() { return kNotSupported; }
int nvmlDeviceGetGpuFabricInfoV() { return kNotSupported; }

}  // extern "C"
