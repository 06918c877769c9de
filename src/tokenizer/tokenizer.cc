#include "encode/tokenizer.h"

#include <fmt/format.h>
#include <utility>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "tokenizer/load/tokenizer_config.h"
#include "tokenizer/load/tokenizer_json.h"
#include "tokenizer/models/sentencepiece.h"
#include "tokenizer/refusal.h"

namespace encode {
namespace {

constexpr std::string_view kFileCode = "tokenizer.file";

// Returns an empty path if the directory has no tokenizer.
TokenizerSource read_source(const std::string& model_dir) {
  TokenizerSource source;
  source.folder = model_dir;
  source.path = find_tokenizer_file(model_dir);
  if (source.path.empty()) return source;
  source.content = read_file(source.path, kMaxTokenizerBytes, kFileCode);
  source.config_path = fmt::format("{}/{}", model_dir, kTokenizerConfigFile);
  if (path_exists(source.config_path, kFileCode))
    source.config = read_file(source.config_path, kMaxTokenizerBytes, kFileCode);
  return source;
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& file) {
  std::string content = read_file(file, kMaxTokenizerBytes, kFileCode);
  if (is_sentencepiece_file(file)) return load_sentencepiece(content, file, {});
  return load_tokenizer_json(std::move(content), file, std::nullopt);
}

std::unique_ptr<Tokenizer> load_tokenizer_from(TokenizerSource source) {
  if (source.path.empty()) {
    throw Error(
        {.exit_code = ExitCode::kNoInput,
         .code = std::string(kFileCode),
         .what = "the model directory has no tokenizer",
         .where = source.folder,
         .expected = "tokenizer.json, or a sentencepiece model (tokenizer.model, spiece.model, ..)",
         .found = "neither",
         .hint = "save the tokenizer with transformers' save_pretrained(), which writes "
                 "tokenizer.json"});
  }
  const bool is_sentencepiece = is_sentencepiece_file(source.path);
  TokenizerConfig config;
  if (source.config) {
    config = read_tokenizer_config(*source.config, source.config_path,
                                   is_sentencepiece ? ConfiguredTokenizer::kSentencePiece
                                                    : ConfiguredTokenizer::kTokenizerJson);
  }
  if (is_sentencepiece) return load_sentencepiece(source.content, source.path, config);
  return load_tokenizer_json(std::move(source.content), source.path, config.truncation_side);
}

std::unique_ptr<Tokenizer> load_tokenizer_from_directory(const std::string& model_dir) {
  return load_tokenizer_from(read_source(model_dir));
}

}  // namespace encode
