#include "tokenizer/models/sentencepiece.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include <sentencepiece_processor.h>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

#include "base/units.h"
#include "tokenizer/aligned_encoder.h"
#include "tokenizer/models/sentencepiece_model.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/rewrite_budget.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

// The charsmaps of published models have replacements of up to 33 bytes.
constexpr size_t kGrowthFactor = 64;

class SentencePiece final : public Tokenizer {
 public:
  // `longest_replacement` is the result of longest_replacement() for the model.
  SentencePiece(std::unique_ptr<sentencepiece::SentencePieceProcessor> processor,
                size_t longest_replacement)
      : processor_(std::move(processor)), longest_replacement_(longest_replacement) {}

  void encode(std::string_view utf8, const TokenizeOptions& options,
              TokenizedRows& rows) const override {
    std::string repaired;
    utf8 = check_text(utf8, kMaxTextBytes, repaired);
    std::vector<int> ids;
    check_growth(utf8.size());
    check(processor_->Encode({utf8.data(), utf8.size()}, &ids));
    append_row(std::span<const int32_t>(ids.data(), ids.size()), form_, options, rows);
  }

  void encode_with_offsets(std::string_view utf8, const TokenizeOptions& options,
                           TokenizedRows& rows, std::vector<TokenOffset>& offsets) const override {
    std::string repaired;
    utf8 = check_text(utf8, kMaxAlignedBytes, repaired);
    check_growth(utf8.size());
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
    append_row(ids, form_, options, rows);
    append_offsets({.tokens = tokens,
                    .size = rows.row(rows.size() - 1).size(),
                    .has_special_tokens = options.add_special_tokens},
                   form_, offsets);
  }

  int64_t vocab_size() const override { return processor_->GetPieceSize(); }
  std::string token(int32_t id) const override {
    return id >= 0 && id < processor_->GetPieceSize() ? processor_->IdToPiece(id) : std::string();
  }
  bool is_special(int32_t id) const override {
    const bool exists = id >= 0 && id < processor_->GetPieceSize();
    return form_.has_special(id) ||
           (exists && (processor_->IsControl(id) || processor_->IsUnknown(id)));
  }
  std::string description() const override {
    return fmt::format("sentencepiece {}, {} tokens", sentencepiece_version(),
                       processor_->GetPieceSize());
  }

 private:
  // The library has no limit for the normalized text, so it gets only texts whose normalized form
  // cannot be too long.
  void check_growth(size_t bytes) const {
    const size_t most = RewriteBudget::kSlackBytes + kGrowthFactor * bytes;
    if (longest_replacement_ * bytes <= most) return;
    throw Error(
        {.code = kTokenizerGrowth,
         .what = "the tokenizer could make a text far too long",
         .where = std::string(kUnnamedRow),
         .expected = fmt::format("at most {} bytes for a text of {}", most,
                                 format_count(bytes, "byte", "bytes")),
         .found = fmt::format("a charsmap with a replacement of {} bytes", longest_replacement_),
         .hint = "choose another model, or download this one again: no published charsmap "
                 "has such a rule"});
  }

  static void check(const sentencepiece::util::Status& status) {
    if (status.ok()) return;
    throw Error({.code = "tokenizer.sentencepiece",
                 .what = "sentencepiece cannot tokenize a text",
                 .where = std::string(kUnnamedRow),
                 .expected = "a text that the sentencepiece model can tokenize",
                 .found = status.ToString(),
                 .hint = "remove the row from the input"});
  }

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  RowForm form_;                // without special tokens
  size_t longest_replacement_;  // in bytes, of the charsmap
};

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

std::unique_ptr<Tokenizer> load_sentencepiece(const std::string& model, const std::string& where) {
  check_pieces(model, where);
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  const auto status = processor->LoadFromSerializedProto({model.data(), model.size()});
  if (!status.ok())
    refuse_format("not a sentencepiece model", where, "a .model file", status.ToString());
  return std::make_unique<SentencePiece>(std::move(processor), longest_replacement(model));
}

}  // namespace encode
