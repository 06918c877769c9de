#include "encode/tokenizer.h"

#include <filesystem>
#include <utility>

#include "base/file.h"
#include "tokenizer/component.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/tokenizer_json.h"

namespace encode {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{64} << 20;
constexpr std::string_view kFileCode = "tokenizer.file";

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& file) {
  std::string content = read_file(file, kMaxFileBytes, kFileCode);
  if (file.ends_with(".model")) return load_sentencepiece(content, file, {});
  return load_tokenizer_json(std::move(content), file);
}

std::unique_ptr<Tokenizer> load_tokenizer_from_directory(const std::string& model_dir) {
  namespace fs = std::filesystem;
  const auto path = [&model_dir](const char* name) {
    return (fs::path(model_dir) / name).string();
  };
  if (fs::exists(path("tokenizer.json"))) return load_tokenizer(path("tokenizer.json"));
  for (const char* name :
       {"tokenizer.model", "sentencepiece.bpe.model", "spiece.model", "spm.model"}) {
    if (!fs::exists(path(name))) continue;
    SentencePieceOptions options;
    if (fs::exists(path("tokenizer_config.json")))
      options = read_sentencepiece_options(path("tokenizer_config.json"));
    return load_sentencepiece(read_file(path(name), kMaxFileBytes, kFileCode), path(name), options);
  }
  throw Error(
      {.exit_code = ExitCode::kNoInput,
       .code = std::string(kFileCode),
       .what = "the model directory has no tokenizer",
       .where = model_dir,
       .expected = "tokenizer.json, or a sentencepiece model (tokenizer.model, spiece.model, ..)",
       .found = "",
       .hint =
           "save the tokenizer with transformers' save_pretrained(), which writes tokenizer.json"});
}

}  // namespace encode
