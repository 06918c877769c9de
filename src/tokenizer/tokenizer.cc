#include "encode/tokenizer.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "tokenizer/load/tokenizer_config.h"
#include "tokenizer/load/tokenizer_document.h"
#include "tokenizer/models/sentencepiece.h"
#include "tokenizer/refusal.h"

namespace encode {
namespace {

constexpr std::string_view kFileCode = "tokenizer.file";

TokenizerSource read_source(const std::string& model_dir) {
  return make_tokenizer_source(model_dir,
                               [&](const std::string& name) -> std::optional<std::string> {
                                 const std::string path = fmt::format("{}/{}", model_dir, name);
                                 if (!path_exists(path, kFileCode)) return std::nullopt;
                                 return read_file(path, kMaxTokenizerBytes, kFileCode);
                               });
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& file) {
  std::string content = read_file(file, kMaxTokenizerBytes, kFileCode);
  if (is_sentencepiece_file(file)) return load_sentencepiece(content, file, {});
  return build_tokenizer(read_tokenizer_json(std::move(content), file));
}

std::unique_ptr<Tokenizer> load_tokenizer_from(TokenizerSource source) {
  const std::string file = tokenizer_file_of(source);
  if (file.empty()) {
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
  const std::string path = source.path_of(file);
  const bool is_sentencepiece = is_sentencepiece_file(file);
  TokenizerConfig config;
  if (const std::string* text = source.find(kTokenizerConfigFile)) {
    config = read_tokenizer_config(*text, source.path_of(kTokenizerConfigFile),
                                   is_sentencepiece ? ConfiguredTokenizer::kSentencePiece
                                                    : ConfiguredTokenizer::kTokenizerJson);
  }
  std::string content = std::move(source.files.at(file));
  if (is_sentencepiece) {
    if (source.rules.lower_case_first)
      refuse_unsupported("do_lower_case of sentence_bert_config.json needs a tokenizer.json", path,
                         {.expected = "tokenizer.json", .found = file});
    return load_sentencepiece(content, path, config);
  }
  return build_tokenizer(read_tokenizer_json(std::move(content), path),
                         {.truncation_side = config.truncation_side,
                          .lower_case_first = source.rules.lower_case_first});
}

std::unique_ptr<Tokenizer> load_tokenizer_from_directory(const std::string& model_dir) {
  return load_tokenizer_from(read_source(model_dir));
}

}  // namespace encode
