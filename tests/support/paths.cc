#include "support/paths.h"

#include <cstdlib>
#include <fmt/format.h>

namespace encode::testing {

std::string source_file(std::string_view name) {
  return fmt::format("{}/{}", ENCODE_SOURCE_DIR, name);
}

std::string test_data(std::string_view name) {
  const char* moved = std::getenv("ENCODE_TEST_DATA");
  return moved != nullptr ? fmt::format("{}/{}", moved, name)
                          : source_file(fmt::format("tests/data/{}", name));
}

std::string built_file(std::string_view name) {
  return fmt::format("{}/{}", ENCODE_BUILD_DIR, name);
}

}  // namespace encode::testing
