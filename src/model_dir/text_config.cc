#include "model_dir/text_config.h"

namespace encode {

JsonFields text_config(const JsonFields& config, std::string_view model_type) {
  if (model_type != "nvembed") return config;
  return {config.object("text_config"), "config.json: text_config", "model.config"};
}

}  // namespace encode
