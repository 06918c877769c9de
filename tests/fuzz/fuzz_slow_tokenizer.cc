// Loads any bytes as the older files of a tokenizer: a sentencepiece model, vocab.txt, vocab.json,
// merges.txt, added_tokens.json. The first byte chooses the class, and NUL NUL ends a file. The
// result must be an Error or a tokenizer that can encode a text.
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "fuzzed_tokenizer.h"

namespace {

struct Layout {
  const char* tokenizer_class;
  const char* file;
  const char* second;  // another file
};

constexpr std::array<Layout, 11> kLayouts = {
    {{"XLMRobertaTokenizer", "sentencepiece.bpe.model", "added_tokens.json"},
     {"CamembertTokenizer", "sentencepiece.bpe.model", "special_tokens_map.json"},
     {"T5Tokenizer", "spiece.model", "added_tokens.json"},
     {"AlbertTokenizer", "spiece.model", "added_tokens.json"},
     {"DebertaV2Tokenizer", "spm.model", "added_tokens.json"},
     {"LlamaTokenizer", "tokenizer.model", "special_tokens_map.json"},
     {"GemmaTokenizer", "tokenizer.model", "added_tokens.json"},
     {"BertTokenizer", "vocab.txt", "special_tokens_map.json"},
     {"EsmTokenizer", "vocab.txt", "added_tokens.json"},
     {"RobertaTokenizer", "vocab.json", "merges.txt"},
     {"Qwen2Tokenizer", "vocab.json", "merges.txt"}}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Layout& layout = kLayouts[data[0] % kLayouts.size()];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // A .model file has zeros of its own, so the last pair of them ends it.
  const size_t end = bytes.rfind(std::string_view("\0\0", 2));
  encode::TokenizerSource source;
  source.folder = "model";
  source.files[layout.file] = std::string(bytes.substr(0, end));
  if (end != std::string_view::npos)
    source.files[layout.second] = std::string(bytes.substr(end + 2));
  source.files[encode::kTokenizerConfigFile] =
      fmt::format(R"({{"tokenizer_class": "{}"}})", layout.tokenizer_class);
  try {
    const auto tokenizer = encode::load_tokenizer_from(std::move(source));
    encode_text(*tokenizer);
  } catch (const encode::Error&) {
    // The tokenizer refuses the input.
  }
  return 0;
}
