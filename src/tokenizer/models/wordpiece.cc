#include <algorithm>
#include <vector>

#include "tokenizer/models/byte_trie.h"
#include "tokenizer/models/word_cache.h"
#include "tokenizer/models/word_models.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

class WordPiece final : public TokenizerModel {
 public:
  WordPiece(const Vocabulary& vocabulary, const WordPieceOptions& options)
      : unk_id_(options.unk_id), max_chars_(static_cast<size_t>(options.max_input_chars_per_word)) {
    std::vector<ByteTrie::Entry> entries;
    entries.reserve(vocabulary.size());
    for (const auto& entry : vocabulary.entries()) {
      if (entry.size > 0) entries.emplace_back(vocabulary.token(entry), entry.id);
    }
    trie_ = ByteTrie(entries);
    inner_root_ = trie_.walk(ByteTrie::kRoot, options.continuing_subword_prefix);
  }

  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<CacheScratch>();
  }

  int32_t* tokenize(std::string_view text, std::span<const Piece> pieces, Scratch& scratch,
                    int32_t* out) const override {
    WordCache& cache = static_cast<CacheScratch&>(scratch).cache;
    return cache.tokenize(text, pieces, out, [this](std::string_view word, int32_t* ids) {
      return tokenize_word(word, ids);
    });
  }

  void tokenize_ranged(std::string_view piece, Scratch& /*scratch*/,
                       std::vector<RangedToken>& tokens) const override {
    const size_t first = tokens.size();
    uint32_t at = 0;
    const bool known = search(piece, [&](int32_t id, uint32_t size) {
      tokens.push_back({id, {at, at + size}});
      at += size;
    });
    if (known) return;
    tokens.resize(first);
    tokens.push_back({unk_id_, {0, static_cast<uint32_t>(piece.size())}});
  }

  std::string name() const override { return "WordPiece"; }

 private:
  struct CacheScratch final : Scratch {
    WordCache cache;
  };

  int32_t* tokenize_word(std::string_view word, int32_t* out) const {
    int32_t* first = out;
    if (search(word, [&out](int32_t id, uint32_t /*size*/) { *out++ = id; })) return out;
    *first = unk_id_;
    return first + 1;
  }

  // Calls `on(id, bytes)` for each token. Returns false if the word is unknown; the caller must
  // then discard what `on` was given.
  template <typename Function>
  bool search(std::string_view word, Function&& on) const {
    const auto chars = [&word] {
      return word.size() -
             static_cast<size_t>(std::count_if(word.begin(), word.end(), unicode::is_continuation));
    };
    bool known = word.size() <= max_chars_ || chars() <= max_chars_;
    const char* end = word.data() + word.size();
    uint32_t node = ByteTrie::kRoot;
    for (const char* p = word.data(); known && p < end;) {
      const ByteTrie::Found found =
          node == ByteTrie::kNoNode ? ByteTrie::Found{} : trie_.longest(node, p, end);
      known = found.id >= 0;
      on(found.id, found.size);
      p += found.size;
      node = inner_root_;
    }
    return known;
  }

  ByteTrie trie_;
  uint32_t inner_root_;
  int32_t unk_id_;
  size_t max_chars_;
};

}  // namespace

std::unique_ptr<TokenizerModel> make_wordpiece(const Vocabulary& vocabulary,
                                               const WordPieceOptions& options) {
  return std::make_unique<WordPiece>(vocabulary, options);
}

}  // namespace encode
