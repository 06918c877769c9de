// A fingerprint that tests change.
#pragma once

#include <functional>
#include <string>

#include "store/fingerprint/fingerprint.h"

namespace encode {

// Returns a hash of 64 equal digits.
inline std::string sha256_of(char digit) { return std::string(64, digit); }

inline Fingerprint base() {
  Fingerprint fingerprint;
  fingerprint.input.path = "texts.txt";
  fingerprint.input_files.push_back({.path = "texts.txt", .bytes = 10, .sha256 = sha256_of('a')});
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

// Changes the only file of a fingerprint.
inline void change_file(Fingerprint& fingerprint, const std::function<void(ScannedFile&)>& change) {
  ScannedFile file = fingerprint.input_files.front();
  change(file);
  fingerprint.input_files.clear();
  fingerprint.input_files.push_back(file);
}

inline StreamIdentity identity_of(const Fingerprint& fingerprint) {
  return {.name = "tc", .fingerprint = to_text(fingerprint), .rows = 5, .dim = 384};
}

}  // namespace encode
