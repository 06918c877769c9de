// The name of a worker in a run.
#pragma once

#include <cstddef>
#include <string>

namespace encode {

// The name belongs to a device: after a worker has ended, the next one on this device gets the
// name.
struct WorkerName {
  size_t number = 0;
  // "cuda:1" or "cpu#2", for messages; "" if the run has one device.
  std::string label = {};
};

}  // namespace encode
