#include "config/load.h"

#include "config/key_values.h"
#include "config/read.h"
#include "config/resolve.h"

namespace encode {

LoadedConfig load_config(const std::string& path, const std::vector<Override>& overrides,
                         const FieldLister& list_fields) {
  return resolve(path.empty() ? ConfigFile() : read_config_file(path), overrides, list_fields);
}

DeviceChoice device_of_flag(const std::string& name) {
  const Value value =
      parse_value(device_value(), name,
                  {.key = "--device", .where = "--device", .exit_code = ExitCode::kUsage});
  return parse_device(text(value));
}

}  // namespace encode
