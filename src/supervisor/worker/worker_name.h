// The name of a worker in a run.
#pragma once

#include <cstddef>
#include <string>

namespace encode {

// After a worker has ended, another one on the same device gets its name.
struct WorkerName {
  size_t number = 0;
  // "cuda:1" or "cpu#2", for messages; "" if the run has one device.
  std::string label = {};
};

}  // namespace encode
