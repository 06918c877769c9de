// Loads the model of a directory onto a device.
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
  int64_t threads = 0;  // CPU threads that compute; 0 stands for the container's CPU quota
};

// A message for the log about the loading of a model.
struct LoadNote {
  std::string level;  // "debug" or "warning"
  std::string message;
};

struct LoadedEncoder {
  std::unique_ptr<Encoder> encoder;
  std::vector<LoadNote> notes;
};

// Loads the weights to the device. `effective` was made for `directory`. Throws what load_model()
// throws if the files do not fit config.json. Throws Error (ExitCode::kUnavailable) if the machine
// does not have the device, or the device does not support the type. The encoder keeps no reference
// to the arguments.
LoadedEncoder load_encoder(const ModelDirectory& directory, const EffectiveResult& effective,
                           const EncoderOptions& options);

}  // namespace encode
