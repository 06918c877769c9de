#include "tokenizer/models/bpe.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <unordered_map>
#include <utility>

#include "tokenizer/models/bpe_merger.h"
#include "tokenizer/models/merge_borders.h"
#include "tokenizer/models/word_cache.h"
#include "tokenizer/unicode/byte_level.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

constexpr int32_t kNoId = -1;

class BpeScratch final : public TokenizerModel::Scratch {
 public:
  explicit BpeScratch(const PairTable& pairs) : merger(pairs) {}
  void shrink(size_t max_bytes) override {
    merger.shrink(max_bytes);
    if (symbols.capacity() * sizeof(int32_t) > max_bytes) std::vector<int32_t>().swap(symbols);
  }

  WordCache cache;
  BpeMerger merger;
  std::vector<int32_t> symbols;
};

// The symbols of a word (the ids of the tokens that BPE starts with), and the number of bytes that
// each symbol stands for.
struct SizedSymbols {
  std::vector<int32_t> ids;
  std::vector<uint32_t> sizes;

  void add(int32_t id, size_t size) {
    ids.push_back(id);
    sizes.push_back(static_cast<uint32_t>(size));
  }
  void extend_last(size_t size) { sizes.back() += static_cast<uint32_t>(size); }
};

// Takes the place of SizedSymbols if only the ids of the symbols are needed.
struct PlainSymbols {
  std::vector<int32_t>& ids;

  void add(int32_t id, size_t /*size*/) { ids.push_back(id); }
  void extend_last(size_t /*size*/) {}
};

// Maps a code point to the token that consists of this code point.
class Alphabet {
 public:
  Alphabet() { ascii_.fill(kNoId); }
  void add(char32_t c, int32_t id) {
    if (c < ascii_.size()) {
      ascii_[c] = id;
    } else {
      others_.emplace(c, id);
    }
  }
  int32_t find(char32_t c) const {
    if (c < ascii_.size()) return ascii_[c];
    const auto found = others_.find(c);
    return found == others_.end() ? kNoId : found->second;
  }

 private:
  std::array<int32_t, 128> ascii_{};
  std::unordered_map<char32_t, int32_t> others_;
};

class Bpe final : public TokenizerModel {
 public:
  Bpe(const Vocabulary& vocabulary, const std::vector<BpeMerge>& merges, BpeOptions options)
      : options_(std::move(options)), pairs_(merges) {
    byte_ids_.fill(kNoId);
    if (options_.byte_level) {
      read_byte_level_vocabulary(vocabulary);
    } else {
      read_vocabulary(vocabulary);
      // Pieces are not cut if a whole piece may be a token (ignore_merges), or if symbols depend on
      // their place in the word (affixes). They are also not cut if characters without a token are
      // left out, because the characters on both sides may then be merged.
      const bool keeps_all = has_byte_tokens_ || options_.unk_id != kNoId;
      cuts_ = !options_.ignore_merges && !has_affixes() && keeps_all;
      if (!cuts_) return;
      std::vector<int32_t> stand_ins(byte_ids_.begin(), byte_ids_.end());
      stand_ins.push_back(options_.unk_id);
      borders_ = MergeBorders(vocabulary, merges, stand_ins);
    }
  }

  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<BpeScratch>(pairs_);
  }

  int32_t* tokenize(std::string_view text, std::span<const Piece> pieces, Scratch& scratch,
                    int32_t* out) const override {
    auto& own = static_cast<BpeScratch&>(scratch);
    const auto tokenize = [&](std::string_view word, int32_t* ids) {
      return tokenize_word(word, own, ids);
    };
    if (!cuts_) return own.cache.tokenize(text, pieces, out, tokenize);
    for (const Piece& piece : pieces)
      out = tokenize_parts(text.substr(piece.begin, piece.end - piece.begin), own, out);
    return out;
  }

  void tokenize_ranged(std::string_view piece, Scratch& scratch,
                       std::vector<RangedToken>& tokens) const override {
    const auto size = static_cast<uint32_t>(piece.size());
    if (options_.ignore_merges) {
      if (const int32_t id = words_.find(piece); id != kNoId) {
        tokens.push_back({id, {0, size}});
        return;
      }
    }
    SizedSymbols symbols;
    take_apart_any(piece, symbols);
    const auto first = static_cast<ptrdiff_t>(tokens.size());
    const auto merged = static_cast<BpeScratch&>(scratch).merger.merge_ranged(symbols.ids);
    uint32_t at = 0;
    for (size_t i = 0; i < merged.size(); ++i) {
      const uint32_t begin = at;
      const size_t end = i + 1 < merged.size() ? merged[i + 1].begin : symbols.ids.size();
      for (size_t symbol = merged[i].begin; symbol < end; ++symbol) at += symbols.sizes[symbol];
      tokens.push_back({merged[i].id, {begin, at}});
    }
    if (options_.byte_level)
      count_bytes(piece, std::span(tokens).subspan(static_cast<size_t>(first)));
  }

  std::string name() const override { return options_.byte_level ? "ByteLevel BPE" : "BPE"; }

 private:
  // Skips tokens with a character outside of GPT-2's alphabet, because no text gives them.
  void read_byte_level_vocabulary(const Vocabulary& vocabulary) {
    std::string bytes;
    if (options_.ignore_merges) words_.reserve(vocabulary.size());
    for (const auto& entry : vocabulary.entries()) {
      if (!parse_byte_level(vocabulary.token(entry), bytes)) continue;
      if (options_.ignore_merges) words_.add(bytes, entry.id);
      if (bytes.size() == 1) byte_ids_[static_cast<unsigned char>(bytes[0])] = entry.id;
    }
  }

  void read_vocabulary(const Vocabulary& vocabulary) {
    const bool affixed = has_affixes();
    if (options_.ignore_merges || affixed) words_ = vocabulary;
    for (const auto& entry : vocabulary.entries()) {
      const std::string_view token = vocabulary.token(entry);
      if (token.empty()) continue;
      const unicode::Decoded first = unicode::decode(token.data(), token.data() + token.size());
      if (first.size == token.size()) alphabet_.add(first.code_point, entry.id);
    }
    if (options_.byte_fallback)
      has_byte_tokens_ = find_byte_tokens(vocabulary, byte_ids_) == byte_ids_.size();
  }

  bool has_affixes() const {
    return !options_.continuing_subword_prefix.empty() || !options_.end_of_word_suffix.empty();
  }

  int32_t* tokenize_word(std::string_view word, BpeScratch& own, int32_t* out) const {
    if (options_.ignore_merges) {
      if (const int32_t id = words_.find(word); id != kNoId) {
        *out = id;
        return out + 1;
      }
    }
    own.symbols.clear();
    PlainSymbols symbols{own.symbols};
    take_apart_any(word, symbols);
    return own.merger.merge(own.symbols, out);
  }

  template <typename Symbols>
  void take_apart_any(std::string_view word, Symbols& symbols) const {
    if (options_.byte_level) {
      take_apart_bytes(word, symbols);
    } else {
      take_apart(word, symbols);
    }
  }

  // Changes the ranges of `tokens` from bytes of the spelling in GPT-2's alphabet to bytes of the
  // piece.
  static void count_bytes(std::string_view piece, std::span<RangedToken> tokens) {
    std::vector<uint32_t> byte_at;
    for (uint32_t i = 0; i < piece.size(); ++i)
      byte_at.insert(byte_at.end(), byte_level_size(piece[i]), i);
    for (RangedToken& token : tokens)
      token.bytes = {byte_at[token.bytes.begin], byte_at[token.bytes.end - 1] + 1};
  }

  int32_t* tokenize_parts(std::string_view text, BpeScratch& own, int32_t* out) const {
    const auto tokenize = [&](std::string_view word, int32_t* ids) {
      return tokenize_word(word, own, ids);
    };
    const char* readable_end = text.data() + text.size();
    while (!text.empty()) {
      const std::string_view part = text.substr(0, borders_.first_part(text));
      text.remove_prefix(part.size());
      std::string_view word = part;
      size_t spaces = 0;
      for (; word.starts_with(unicode::kMetaspaceUtf8); ++spaces)
        word.remove_prefix(unicode::kMetaspaceUtf8.size());
      if (word.size() > WordKey::kMaxBytes || spaces > WordKey::kMaxSpaces) {
        out = tokenize(part, out);
        continue;
      }
      WordKey key(word, readable_end);
      key.add_spaces(spaces);
      out = own.cache.tokenize_keyed(key, part, out, tokenize);
    }
    return out;
  }

  // Adds the unknown token for a character of `size` bytes. `after_unknown` is true if the previous
  // symbol is also an unknown token.
  template <typename Symbols>
  void add_unknown(bool after_unknown, size_t size, Symbols& symbols) const {
    if (options_.unk_id == kNoId) return;
    if (after_unknown && options_.fuse_unk) {
      symbols.extend_last(size);
    } else {
      symbols.add(options_.unk_id, size);
    }
  }

  template <typename Symbols>
  void take_apart_bytes(std::string_view word, Symbols& symbols) const {
    bool after_unknown = false;
    for (const char byte : word) {
      const int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
      const size_t size = byte_level_size(byte);
      if (id != kNoId) {
        symbols.add(id, size);
      } else {
        add_unknown(after_unknown, size, symbols);
      }
      after_unknown = id == kNoId;
    }
  }

  template <typename Symbols>
  void take_apart(std::string_view word, Symbols& symbols) const {
    const char* begin = word.data();
    const char* end = begin + word.size();
    bool after_unknown = false;
    for (const char* p = begin; p < end;) {
      const unicode::Decoded d = unicode::decode(p, end);
      const std::string_view bytes(p, d.size);
      p += d.size;
      const int32_t id = has_affixes() ? find_affixed(bytes, bytes.data() == begin, p == end)
                                       : alphabet_.find(d.code_point);
      const bool unknown = id == kNoId && !has_byte_tokens_;
      if (id != kNoId) {
        symbols.add(id, bytes.size());
      } else if (has_byte_tokens_) {
        for (const char byte : bytes) symbols.add(byte_ids_[static_cast<unsigned char>(byte)], 1);
      } else {
        add_unknown(after_unknown, bytes.size(), symbols);
      }
      after_unknown = unknown;
    }
  }

  int32_t find_affixed(std::string_view character, bool first, bool last) const {
    std::string spelled;
    if (!first) spelled += options_.continuing_subword_prefix;
    spelled += character;
    if (last) spelled += options_.end_of_word_suffix;
    return words_.find(spelled);
  }

  BpeOptions options_;
  PairTable pairs_;
  // All tokens if ignore_merges or an affix is set. Otherwise it is empty.
  Vocabulary words_;
  Alphabet alphabet_;
  MergeBorders borders_;
  bool cuts_ = false;
  // The ids of the single bytes (byte level) or of the <0xNN> tokens (byte fallback).
  std::array<int32_t, 256> byte_ids_{};
  bool has_byte_tokens_ = false;  // byte fallback is on, and the vocabulary has all byte tokens
};

}  // namespace

size_t find_byte_tokens(const Vocabulary& vocabulary, std::array<int32_t, 256>& ids) {
  size_t found = 0;
  for (size_t byte = 0; byte < ids.size(); ++byte) {
    ids[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
    found += ids[byte] >= 0 ? 1 : 0;
  }
  // Gemma's vocabulary has a tab instead of <0x09>. A character is looked up before its bytes, so
  // the tab can stand for its byte.
  if (found == ids.size() - 1 && ids['\t'] < 0) {
    ids['\t'] = vocabulary.find("\t");
    found += ids['\t'] >= 0 ? 1 : 0;
  }
  return found;
}

std::unique_ptr<TokenizerModel> make_bpe(const Vocabulary& vocabulary,
                                         const std::vector<BpeMerge>& merges, BpeOptions options) {
  return std::make_unique<Bpe>(vocabulary, merges, std::move(options));
}

}  // namespace encode
