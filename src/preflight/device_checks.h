// Checks the NVIDIA driver, the GPU and encode's CUDA plugin, without using the GPU. One thread at
// a time may call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/device.h"

#include "preflight/findings.h"
#include "run_record/nvml.h"

namespace encode {

// What the driver says about itself and its GPUs.
struct DriverFacts {
  std::optional<NvidiaDriver> driver = {};  // nullopt: the machine has no driver
  std::vector<GpuStatus> gpus = {};
  std::optional<ErrorDetail> failure = {};  // why the driver does not answer
};

DriverFacts ask_driver();  // throws no Error

// libencode_cuda.so, which lies in ../lib or beside the programs.
struct PluginFacts {
  std::string path = {};     // "": there is none
  int64_t cuda_version = 0;  // the major version of the CUDA runtime that it needs; 0: not known
};

// `program` is the path of encode-worker. Throws no Error.
PluginFacts find_plugin(const std::string& program);

struct DeviceNeeds {
  DeviceChoice device = {};  // one of devices_of()
  int64_t model_bytes = 0;   // the size of the files of the largest model; 0: not known
  PluginFacts plugin = {};
  GpuSelection selection = {};
};

// Adds no findings if the CPU was asked for.
void check_device(const DriverFacts& facts, const DeviceNeeds& needs, PreflightFindings& findings);

}  // namespace encode
