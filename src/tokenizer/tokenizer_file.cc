#include "encode/tokenizer_file.h"

#include <filesystem>

namespace encode {

std::string find_tokenizer_file(const std::string& model_dir) {
  namespace fs = std::filesystem;
  for (const char* name : kTokenizerFiles) {
    const fs::path path = fs::path(model_dir) / name;
    if (fs::exists(path)) return path.string();
  }
  return "";
}

bool is_sentencepiece_file(const std::string& file) { return file.ends_with(".model"); }

std::string sentencepiece_version() { return ENCODE_SENTENCEPIECE_VERSION; }

}  // namespace encode
