// The name of a file of a model directory that both the model and its tokenizer read.
#pragma once

namespace encode {

inline constexpr const char* kConfigFile = "config.json";

}  // namespace encode
