#include "tokenizer/models/sentencepiece.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include <sentencepiece_processor.h>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

#include "base/json.h"
#include "tokenizer/aligned_encoder.h"
#include "tokenizer/models/sentencepiece_bpe.h"
#include "tokenizer/models/sentencepiece_model.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/refusal.h"

namespace encode {
namespace {

class SentencePiece final : public Tokenizer {
 public:
  SentencePiece(std::unique_ptr<sentencepiece::SentencePieceProcessor> processor,
                SpecialTokens special, std::unique_ptr<Tokenizer> own)
      : processor_(std::move(processor)), special_(std::move(special)), own_(std::move(own)) {}

  void encode(std::string_view utf8, const TokenizeOptions& options,
              TokenizedRows& rows) const override {
    if (own_ != nullptr) return own_->encode(utf8, options, rows);
    std::string repaired;
    utf8 = check_text(utf8, kMaxTextBytes, repaired);
    std::vector<int> ids;
    check(processor_->Encode({utf8.data(), utf8.size()}, &ids));
    append_row(std::span<const int32_t>(ids.data(), ids.size()), special_, options, rows);
  }

  void encode_with_offsets(std::string_view utf8, const TokenizeOptions& options,
                           TokenizedRows& rows, std::vector<TokenOffset>& offsets) const override {
    std::string repaired;
    utf8 = check_text(utf8, kMaxAlignedBytes, repaired);
    sentencepiece::ImmutableSentencePieceText text;
    check(processor_->Encode({utf8.data(), utf8.size()}, text.mutable_proto()));
    const AlignedText row(utf8);
    const auto byte = [&utf8](uint32_t at) { return std::min<size_t>(at, utf8.size()); };
    std::vector<int32_t> ids;
    std::vector<AlignedToken> tokens;
    for (const auto& piece : text.pieces()) {
      ids.push_back(static_cast<int32_t>(piece.id()));
      tokens.push_back(
          {ids.back(), covered(row.origins(), byte(piece.begin()), byte(piece.end()))});
    }
    append_row(ids, special_, options, rows);
    append_offsets({.tokens = tokens,
                    .size = rows.row(rows.size() - 1).size(),
                    .has_special_tokens = options.add_special_tokens},
                   special_, offsets);
  }

  int64_t vocab_size() const override { return processor_->GetPieceSize(); }
  std::string token(int32_t id) const override {
    return id >= 0 && id < processor_->GetPieceSize() ? processor_->IdToPiece(id) : std::string();
  }
  std::string description() const override {
    if (own_ != nullptr) return own_->description();
    return fmt::format("sentencepiece {}, {} tokens", sentencepiece_version(),
                       processor_->GetPieceSize());
  }

 private:
  static void check(const sentencepiece::util::Status& status) {
    if (status.ok()) return;
    throw Error({.exit_code = ExitCode::kData,
                 .code = "tokenizer.sentencepiece",
                 .what = "sentencepiece cannot tokenize a text",
                 .where = "a row of the input",
                 .expected = "a text that the sentencepiece model can tokenize",
                 .found = status.ToString(),
                 .hint = "remove the row from the input"});
  }

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  SpecialTokens special_;
  // encode's own tokenizer, which gives the same ids as the library and is faster. It is null if
  // this module does not support the model.
  std::unique_ptr<Tokenizer> own_;
};

int32_t require_id(int id, const char* name, const std::string& where) {
  if (id < 0)
    refuse_format(fmt::format("the model has no {} token to add", name), where,
                  fmt::format("a {} piece", name), "no such piece");
  return id;
}

// Refuses a model with a piece that is too long. The sentencepiece library has no limit.
void check_pieces(std::string_view model, const std::string& where) {
  const std::optional<PieceBytes> bytes = measure_pieces(model);
  if (!bytes.has_value())
    refuse_format("not a sentencepiece model", where, "a .model file", "other data");
  if (bytes->longest > kMaxSearchedTokenBytes) {
    refuse_format("a piece of the model is too long", where,
                  fmt::format("at most {} bytes", kMaxSearchedTokenBytes),
                  fmt::format("{} bytes", bytes->longest));
  }
  if (bytes->sum > kMaxVocabularyBytes) {
    refuse_format("the pieces of the model are too long", where,
                  fmt::format("at most {} bytes in all", kMaxVocabularyBytes),
                  fmt::format("{} bytes", bytes->sum));
  }
}

}  // namespace

SentencePieceOptions read_sentencepiece_options(const std::string& tokenizer_config_file) {
  const Json json = read_json_file(tokenizer_config_file, {.max_bytes = 16 << 20, .max_depth = 32},
                                   kTokenizerFormat);
  const JsonFields fields(json, tokenizer_config_file, std::string(kTokenizerFormat));
  // Checks the type of the field `legacy` and ignores its value. The field says how text next to
  // special tokens is tokenized, but this tokenizer does not search for special tokens in a text.
  static_cast<void>(fields.boolean_or("legacy", true));
  return {.add_bos = fields.boolean_or("add_bos_token", false),
          .add_eos = fields.boolean_or("add_eos_token", false)};
}

std::unique_ptr<Tokenizer> load_sentencepiece(const std::string& model, const std::string& where,
                                              const SentencePieceOptions& options) {
  check_pieces(model, where);
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  const auto status = processor->LoadFromSerializedProto({model.data(), model.size()});
  if (!status.ok())
    refuse_format("not a sentencepiece model", where, "a .model file", status.ToString());
  SpecialTokens special;
  if (options.add_bos) special.prefix.push_back(require_id(processor->bos_id(), "BOS", where));
  if (options.add_eos) special.suffix.push_back(require_id(processor->eos_id(), "EOS", where));
  const auto parsed = parse_sentencepiece_model(model);
  std::unique_ptr<Tokenizer> own;
  if (parsed.has_value()) own = make_sentencepiece_bpe(*parsed, special);
  return std::make_unique<SentencePiece>(std::move(processor), std::move(special), std::move(own));
}

}  // namespace encode
