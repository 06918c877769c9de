#include <utility>

#include "tokenizer/models/word_models.h"

namespace encode {
namespace {

class WordLevel final : public TokenizerModel {
 public:
  WordLevel(Vocabulary vocabulary, int32_t unk_id)
      : vocabulary_(std::move(vocabulary)), unk_id_(unk_id) {}

  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }

  int32_t* tokenize(std::string_view text, std::span<const Piece> pieces, Scratch& /*scratch*/,
                    int32_t* out) const override {
    for (const Piece& piece : pieces) {
      const int32_t id = vocabulary_.find(text.substr(piece.begin, piece.end - piece.begin));
      *out++ = id >= 0 ? id : unk_id_;
    }
    return out;
  }

  void tokenize_ranged(std::string_view piece, Scratch& /*scratch*/,
                       std::vector<RangedToken>& tokens) const override {
    const int32_t id = vocabulary_.find(piece);
    tokens.push_back({id >= 0 ? id : unk_id_, {0, static_cast<uint32_t>(piece.size())}});
  }

  std::string name() const override { return "WordLevel"; }

 private:
  Vocabulary vocabulary_;
  int32_t unk_id_;
};

}  // namespace

std::unique_ptr<TokenizerModel> make_word_level(Vocabulary vocabulary, int32_t unk_id) {
  return std::make_unique<WordLevel>(std::move(vocabulary), unk_id);
}

}  // namespace encode
