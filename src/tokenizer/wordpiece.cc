#include "tokenizer/wordpiece.h"

#include <algorithm>
#include <vector>

#include "tokenizer/byte_trie.h"
#include "tokenizer/unicode.h"
#include "tokenizer/word_cache.h"

namespace encode {
namespace {

class WordPiece final : public Model {
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

  std::string name() const override { return "WordPiece"; }

 private:
  struct CacheScratch final : Scratch {
    WordCache cache;
  };

  int32_t* tokenize_word(std::string_view word, int32_t* out) const {
    int32_t* first = out;
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
      *out = found.id;
      out += 1;
      p += found.size;
      node = inner_root_;
    }
    if (known) return out;
    *first = unk_id_;
    return first + 1;
  }

  ByteTrie trie_;
  uint32_t inner_root_;
  int32_t unk_id_;
  size_t max_chars_;
};

}  // namespace

std::unique_ptr<Model> make_wordpiece(const Vocabulary& vocabulary,
                                      const WordPieceOptions& options) {
  return std::make_unique<WordPiece>(vocabulary, options);
}

}  // namespace encode
