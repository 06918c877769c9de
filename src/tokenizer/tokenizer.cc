#include "encode/tokenizer.h"

#include <filesystem>
#include <utility>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

#include "base/file.h"
#include "tokenizer/load/tokenizer_json.h"
#include "tokenizer/models/sentencepiece.h"
#include "tokenizer/refusal.h"

namespace encode {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{64} << 20;
constexpr std::string_view kFileCode = "tokenizer.file";

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& file) {
  std::string content = read_file(file, kMaxFileBytes, kFileCode);
  if (is_sentencepiece_file(file)) return load_sentencepiece(content, file, {});
  return load_tokenizer_json(std::move(content), file);
}

std::unique_ptr<Tokenizer> load_tokenizer_from_directory(const std::string& model_dir) {
  const std::string file = find_tokenizer_file(model_dir);
  if (!file.empty() && !is_sentencepiece_file(file)) return load_tokenizer(file);
  if (!file.empty()) {
    const std::string config =
        (std::filesystem::path(model_dir) / "tokenizer_config.json").string();
    SentencePieceOptions options;
    if (std::filesystem::exists(config)) options = read_sentencepiece_options(config);
    return load_sentencepiece(read_file(file, kMaxFileBytes, kFileCode), file, options);
  }
  throw Error(
      {.exit_code = ExitCode::kNoInput,
       .code = std::string(kFileCode),
       .what = "the model directory has no tokenizer",
       .where = model_dir,
       .expected = "tokenizer.json, or a sentencepiece model (tokenizer.model, spiece.model, ..)",
       .found = "neither",
       .hint =
           "save the tokenizer with transformers' save_pretrained(), which writes tokenizer.json"});
}

}  // namespace encode
