// The part of config.json that describes the text model. models, memory and model_dir read it.
#pragma once

#include <string_view>

#include "base/json.h"

namespace encode {

// Returns the fields of text_config if the architecture keeps the fields of its text model there
// (NV-Embed), else `config`. `config` must outlive the result. Throws Error "model.config"
// (kConfig) if such an architecture has no text_config.
JsonFields text_config(const JsonFields& config, std::string_view model_type);

}  // namespace encode
