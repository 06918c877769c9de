#include "config/load.h"

#include "config/read.h"
#include "config/resolve.h"

namespace encode {

LoadedConfig load_config(const std::string& path, const std::vector<Override>& overrides,
                         const FieldLister& list_fields) {
  return resolve(path.empty() ? ConfigFile() : read_config_file(path), overrides, list_fields);
}

}  // namespace encode
