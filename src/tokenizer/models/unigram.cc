#include <algorithm>
#include <array>
#include <utility>

#include "tokenizer/models/bpe.h"
#include "tokenizer/models/byte_trie.h"
#include "tokenizer/models/word_cache.h"
#include "tokenizer/models/word_models.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

// The score of an unknown character is the lowest score of the vocabulary minus this number.
constexpr double kUnknownPenalty = 10;
constexpr uint32_t kNowhere = UINT32_MAX;

class Unigram final : public TokenizerModel {
 public:
  Unigram(const Vocabulary& vocabulary, std::vector<double> scores, const UnigramOptions& options)
      : scores_(std::move(scores)), unk_id_(options.unk_id) {
    std::vector<ByteTrie::Entry> entries;
    entries.reserve(vocabulary.size());
    for (const auto& entry : vocabulary.entries()) {
      if (entry.size > 0) entries.emplace_back(vocabulary.token(entry), entry.id);
    }
    trie_ = ByteTrie(entries);
    unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - kUnknownPenalty;
    byte_ids_.fill(-1);
    if (options.byte_fallback) find_byte_tokens(vocabulary, byte_ids_);
  }

  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<UnigramScratch>();
  }

  int32_t* tokenize(std::string_view text, std::span<const Piece> pieces, Scratch& scratch,
                    int32_t* out) const override {
    auto& own = static_cast<UnigramScratch&>(scratch);
    return own.cache.tokenize(text, pieces, out, [&](std::string_view word, int32_t* ids) {
      return tokenize_word(word, own, ids);
    });
  }

  void tokenize_ranged(std::string_view piece, Scratch& scratch,
                       std::vector<RangedToken>& tokens) const override {
    auto& own = static_cast<UnigramScratch&>(scratch);
    own.best.assign(piece.size() + 1, Best{});
    search(piece, own.best.data());
    const auto first = static_cast<ptrdiff_t>(tokens.size());
    walk_path(piece, own.best.data(), [&](int32_t id, uint32_t begin, uint32_t end) {
      tokens.push_back({id, {begin, end}, id == unk_id_});
    });
    std::reverse(tokens.begin() + first, tokens.end());
  }

  std::string name() const override { return "Unigram"; }

 private:
  // The best way to tokenize the first bytes of a word: the sum of the scores, the last token, and
  // the offset at which the last token begins.
  struct Best {
    double score = 0;
    uint32_t begin = kNowhere;
    int32_t id = -1;
  };
  struct UnigramScratch final : Scratch {
    void shrink(size_t max_bytes) override {
      if (best.capacity() * sizeof(Best) > max_bytes) std::vector<Best>().swap(best);
    }
    WordCache cache;
    std::vector<Best> best;  // best[i] is for the first i bytes of a word
  };

  static void offer(Best& best, double score, uint32_t begin, int32_t id) {
    if (best.begin == kNowhere || score > best.score) best = {score, begin, id};
  }

  int32_t* tokenize_word(std::string_view word, UnigramScratch& own, int32_t* out) const {
    own.best.assign(word.size() + 1, Best{});
    search(word, own.best.data());
    int32_t* first = out;
    walk_path(word, own.best.data(),
              [&out](int32_t id, uint32_t /*begin*/, uint32_t /*end*/) { *out++ = id; });
    std::reverse(first, out);
    return out;
  }

  void search(std::string_view word, Best* best) const {
    const char* end = word.data() + word.size();
    const auto size = static_cast<uint32_t>(word.size());
    for (uint32_t begin = 0; begin < size;) {
      const char* p = word.data() + begin;
      const uint32_t char_size = unicode::decode(p, end).size;
      const double score = best[begin].score;
      bool has_char = false;
      uint32_t node = ByteTrie::kRoot;
      for (const char* q = p; q < end;) {
        node = trie_.child(node, *q++);
        if (node == ByteTrie::kNoNode) break;
        const int32_t id = trie_.id(node);
        if (id < 0) continue;
        const auto token_size = static_cast<uint32_t>(q - p);
        offer(best[begin + token_size], score + scores_[static_cast<size_t>(id)], begin, id);
        has_char = has_char || token_size == char_size;
      }
      if (!has_char) offer(best[begin + char_size], score + unknown_score_, begin, unk_id_);
      begin += char_size;
    }
  }

  // Calls `on(id, begin, end)` for each token of the best tokenization of `word`, the last token
  // first. Unknown characters that follow each other are one token.
  template <typename Function>
  void walk_path(std::string_view word, const Best* best, Function&& on) const {
    for (auto end = static_cast<uint32_t>(word.size()); end > 0;) {
      uint32_t begin = best[end].begin;
      if (best[end].id != unk_id_) {
        on(best[end].id, begin, end);
      } else {
        while (begin > 0 && best[begin].id == unk_id_) begin = best[begin].begin;
        walk_unknown(word.substr(begin, end - begin), [&](int32_t id) { on(id, begin, end); });
      }
      end = begin;
    }
  }

  // Calls `on(id)` for each id that stands for a run of unknown characters, the last id first.
  template <typename Function>
  void walk_unknown(std::string_view text, Function&& on) const {
    const auto id_of = [this](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    const uint32_t node = trie_.walk(ByteTrie::kRoot, text);
    // If the run of unknown characters spells a token (such as the unknown token), it is this
    // token.
    const int32_t known = node == ByteTrie::kNoNode ? -1 : trie_.id(node);
    if (known < 0 &&
        std::none_of(text.begin(), text.end(), [&](char byte) { return id_of(byte) < 0; })) {
      for (size_t i = text.size(); i > 0; --i) on(id_of(text[i - 1]));
    } else {
      on(known < 0 ? unk_id_ : known);
    }
  }

  std::vector<double> scores_;
  ByteTrie trie_;
  int32_t unk_id_;
  double unknown_score_ = 0;
  std::array<int32_t, 256> byte_ids_{};
};

}  // namespace

std::unique_ptr<TokenizerModel> make_unigram(const Vocabulary& vocabulary,
                                             std::vector<double> scores,
                                             const UnigramOptions& options) {
  return std::make_unique<Unigram>(vocabulary, std::move(scores), options);
}

}  // namespace encode
