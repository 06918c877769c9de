// LibTorch's CUDA library looks these functions up when its allocator starts, and refuses a driver
// that lacks one of them. It calls them only to describe an error, and if there are several GPUs.
// Here they return no facts.
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
