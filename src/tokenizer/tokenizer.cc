#include "encode/tokenizer.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "tokenizer/load/amend_document.h"
#include "tokenizer/load/slow_class_document.h"
#include "tokenizer/load/tokenizer_document.h"
#include "tokenizer/models/sentencepiece.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

constexpr ErrorCode kFileCode = "tokenizer.file";

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
  refuse_lfs_pointer(content, file);
  if (is_sentencepiece_file(file)) return load_sentencepiece(content, file);
  return build_tokenizer(read_tokenizer_json(std::move(content), file));
}

std::unique_ptr<Tokenizer> load_tokenizer_from(TokenizerSource source) {
  const std::string file = tokenizer_file_of(source);
  if (file.empty()) {
    throw Error(
        {.code = kFileCode,
         .what = "the model directory has no tokenizer",
         .where = source.folder,
         .expected =
             "tokenizer.json, or the older files of its class (spiece.model, vocab.txt, ..)",
         .found = "none of them",
         .hint = "save the tokenizer with transformers' save_pretrained(), which writes "
                 "tokenizer.json"});
  }
  TokenizerDocument document;
  BuildOptions options;
  if (file == kTokenizerJsonFile) {
    document = read_tokenizer_json(std::move(source.files.at(file)), source.path_of(file));
    options = amend_document(source, document);
  } else {
    document = make_slow_class_document(source);
    options = stated_build_options(source);
  }
  options.lower_case_first = source.rules.lower_case_first;
  return build_tokenizer(std::move(document), options);
}

std::unique_ptr<Tokenizer> load_tokenizer_from_directory(const std::string& model_dir) {
  return load_tokenizer_from(read_source(model_dir));
}

}  // namespace encode
