#include "encode/tokenizer_file.h"

#include "base/path_kind.h"

namespace encode {

std::string find_tokenizer_file(const std::string& model_dir) {
  for (const char* name : kTokenizerFiles) {
    const std::string path = model_dir + "/" + name;
    if (path_exists(path, "tokenizer.file")) return path;
  }
  return "";
}

bool is_sentencepiece_file(const std::string& file) { return file.ends_with(".model"); }

std::string sentencepiece_version() { return ENCODE_SENTENCEPIECE_VERSION; }

}  // namespace encode
