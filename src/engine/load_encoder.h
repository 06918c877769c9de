// From a model directory to a model on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/encoder.h"
#include "encode/model_directory.h"

namespace encode {

struct EncoderOptions {
  HardwareOptions hardware;
  int64_t threads = 0;  // CPU compute threads; 0: the container's CPU quota
};

// What is worth telling of a load.
struct LoadNote {
  std::string level;  // "debug" or "warning"
  std::string message;
};

struct LoadedEncoder {
  std::unique_ptr<Encoder> encoder;
  std::vector<LoadNote> notes;
};

// Loads the weights to the device. `effective` belongs to `directory`. Throws Error for a broken
// model directory (see model_dir/), kUnavailable for a device or a type that is not there.
LoadedEncoder load_encoder(const ModelDirectory& directory, const EffectiveResult& effective,
                           const EncoderOptions& options);

}  // namespace encode
