// What load_encoder() has to tell beside the encoder: for the log.
#pragma once

#include <string>
#include <vector>

namespace encode {

struct LoadNote {
  std::string level;  // "debug" or "warning", as in the log
  std::string message;
};

// The notes since the last call: which of the project's CUDA kernels are in use, and a warning for
// each that is not trusted. Any thread.
std::vector<LoadNote> take_load_notes();

}  // namespace encode
