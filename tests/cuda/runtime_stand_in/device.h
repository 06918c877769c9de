// The facts of a GPU that the stand-in claims to be.
#pragma once

namespace runtime_stand_in {

struct Architecture {
  int capability;            // compute capability times 10
  int code;                  // the architecture of the machine code that this GPU runs
  int multiprocessors;       // of a usual GPU with this capability
  int threads;               // of a multiprocessor
  int shared_memory_bytes;   // the most dynamic shared memory that a block can ask for
  const char* usual_device;  // the GPU with these facts
};

// Returns the architecture that the environment asks for.
const Architecture& architecture();

}  // namespace runtime_stand_in
