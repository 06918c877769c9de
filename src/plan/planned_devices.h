// Finds the devices that a plan is for: the devices of this machine, or a card that it does not
// have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"

#include "run_plan/memory/cards.h"
#include "run_plan/memory/compute_rate.h"
#include "run_plan/memory/memory_refusal.h"
#include "run_plan/memory/planned_batch.h"
#include "run_plan/memory/profiles.h"

namespace encode {

// Which device to plan for. If all members are empty: the devices of this machine that devices_of()
// names. A GPU without a number stands for all GPUs; if there are GPUs, the CPU does not count.
struct DeviceWish {
  std::string gpu = {};      // a name in the table of cards
  int64_t memory_bytes = 0;  // a card with this memory
  double safety_margin = kSafetyMargin;
};

struct PlannedDevice {
  std::string name = {};   // "cpu (avx512bf16)", "NVIDIA H200", "a GPU with 24.0 GB"
  std::string place = {};  // "cpu", "cuda:0"; "" for a card that is not there
  MemoryRoom room;
  const GpuCard* card = nullptr;        // if it is in the table
  std::vector<std::string> users = {};  // who uses the rest: "1.2 GB by python (process 4711)"
  std::vector<std::string> notes = {};
};

// Throws Error kUsage "plan.card" for a card that is not in the table, kUnavailable "device.absent"
// if the run asks for GPUs and none of them is there, and "nvml.failed".
std::vector<PlannedDevice> planned_devices(const HardwareOptions& hardware, int64_t threads,
                                           const DeviceWish& wish);

// Returns the memory within which a run with these options must stay on the device.
MemoryLimit limit_of(const PlannedDevice& device, const HardwareOptions& hardware);

// Returns the measured rate if there is one, else an assumed one.
ComputeRate compute_rate(const PlannedDevice& device, const EffectiveResult& effective,
                         std::optional<double> measured);

}  // namespace encode
