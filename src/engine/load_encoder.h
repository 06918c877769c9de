// Loads the model of a directory onto a device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/encoder.h"
#include "encode/log_level.h"
#include "encode/model_directory.h"

namespace encode {

struct EncoderOptions {
  HardwareOptions hardware;
  int64_t threads = 0;  // CPU threads that compute; 0 stands for the container's CPU quota
  // The loading thread calls it after each step: a device that was opened, a tensor that was read,
  // a check that has ended. Loading may take minutes, and these calls show that it makes progress.
  std::function<void()> alive = [] {};
};

// A message for the log about the loading of a model.
struct LoadNote {
  LogLevel level = LogLevel::kDebug;
  std::string message;
};

struct LoadedEncoder {
  std::unique_ptr<Encoder> encoder;
  std::vector<LoadNote> notes;
};

// Loads the weights to the device. `effective` was made for `directory`. Throws what load_model()
// throws if the files do not fit config.json. Throws Error (ExitCode::kUnavailable) if the machine
// does not have the device, or the device does not support the type, or gives equal rows unequal
// bits in a matrix product. The encoder keeps no reference to the arguments. Throws Error kIoError
// "model.changed" as open_model_directory() does.
LoadedEncoder load_encoder(const ModelDirectory& directory, const EffectiveResult& effective,
                           const EncoderOptions& options);

}  // namespace encode
