#include "config/derived_defaults.h"

#include <filesystem>

#include "base/output_format.h"
#include "config/schema.h"

namespace encode {

std::string default_stream_name(const std::string& output) {
  std::string name = std::filesystem::path(output).stem().string().substr(0, 100);
  for (char& c : name) {
    if (!is_name("x" + std::string(1, c))) c = '_';
  }
  const size_t first = name.find_first_not_of("_.-");
  return first == std::string::npos ? "embeddings" : name.substr(first);
}

std::string default_cache_dir(const std::string& output) {
  return output.empty() ? "cache/embeddings" : output + ".cache";
}

MatrixFormat default_matrix_format(const std::string& output) {
  return matrix_format_of(output).value_or(MatrixFormat::kNpy);
}

}  // namespace encode
