// A fingerprint that tests change.
#pragma once

#include "store/fingerprint/fingerprint.h"

namespace encode {

inline Fingerprint base() {
  Fingerprint fingerprint;
  fingerprint.input.path = "texts.txt";
  fingerprint.input_files = {{.path = "texts.txt", .first_row = 0, .bytes = 10, .sha256 = "aa"}};
  fingerprint.model_files = {{.name = "config.json", .bytes = 2, .sha256 = "cc"},
                             {.name = "model.safetensors", .bytes = 3, .sha256 = "dd"}};
  fingerprint.result.pooling = {PoolingMode::kMean};
  fingerprint.result.modules.resize(1);
  fingerprint.result.modules[0].pooling = {PoolingMode::kMean};
  fingerprint.result.max_length = 256;
  fingerprint.result.dim = 384;
  fingerprint.result.launch_tokens = 16384;
  return fingerprint;
}

inline StreamIdentity identity_of(const Fingerprint& fingerprint) {
  return {.name = "tc", .fingerprint = to_text(fingerprint), .rows = 5, .dim = 384};
}

}  // namespace encode
