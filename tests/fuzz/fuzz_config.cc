// Reads any bytes as a config. The result must be a run or an Error. A run must be printed as a
// config that loads as the same run.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "encode/error.h"

#include "config/load.h"
#include "config/read.h"
#include "config/resolve.h"

namespace {

encode::LoadedConfig load(const std::string& text) {
  return encode::resolve(encode::read_config_text(text, "fuzz.yaml"), {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  encode::LoadedConfig loaded;
  try {
    loaded = load(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const encode::Error& error) {
    if (error.exit_code() != encode::ExitCode::kConfig) std::abort();
    return 0;
  }
  // An Error is not caught here, because the program must accept the config that it printed.
  if (!(load(encode::print_config(loaded)).run == loaded.run)) std::abort();
  return 0;
}
