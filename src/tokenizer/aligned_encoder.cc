#include "tokenizer/aligned_encoder.h"

#include <algorithm>

#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

constexpr char32_t kByteLevelSpace = 0x120;  // the space in GPT-2's alphabet

bool is_space(char32_t c) {
  return c == kByteLevelSpace || (unicode::properties()[c] & unicode::kWhitespace) != 0;
}

void count_spaces(std::string_view spelling, AlignedToken& token) {
  const char* begin = spelling.data();
  const char* end = begin + spelling.size();
  for (const char* p = begin; p < end; ++token.leading_spaces) {
    const unicode::Decoded d = unicode::decode(p, end);
    if (!is_space(d.code_point)) break;
    p += d.size;
  }
  for (const char* p = end; p > begin; ++token.trailing_spaces) {
    const unicode::Decoded d = unicode::decode_before(begin, p);
    if (!is_space(d.code_point)) break;
    p -= d.size;
  }
}

class AlignedEncoder {
 public:
  AlignedEncoder(const PipelineParts& parts, TokenizerModel::Scratch& scratch)
      : parts_(parts), scratch_(scratch) {}

  std::vector<AlignedToken> encode(std::string_view utf8) {
    const AlignedText row(utf8);
    split(row, parts_.raw_tokens, [this](AlignedText text) {
      if (parts_.normalizer != nullptr) parts_.normalizer->normalize_aligned(text);
      split(text, parts_.normalized_tokens,
            [this](const AlignedText& normalized) { encode_normalized(normalized); });
    });
    return std::move(tokens_);
  }

 private:
  // Appends a token for each added token in `text`, and calls `on_text(part)` for each part of the
  // text between them.
  template <typename OnText>
  void split(const AlignedText& text, const AddedTokenFinder& finder, OnText&& on_text) {
    std::vector<AddedTokenFinder::Section> sections;
    finder.split(text.view(), sections);
    for (const auto& section : sections) {
      const auto begin = static_cast<size_t>(section.text.data() - text.view().data());
      const size_t end = begin + section.text.size();
      if (section.id >= 0) {
        push(section.id, covered(text.origins(), begin, end), section.text);
      } else {
        on_text(text.slice(begin, end));
      }
    }
  }

  void encode_normalized(const AlignedText& text) {
    PreTokenizedText pre_tokenized;
    pre_tokenized.text.reset(text.view(), text.at_origin());
    pre_tokenized.origins = text.origins();
    pre_tokenized.start();
    if (parts_.pre_tokenizer != nullptr) parts_.pre_tokenizer->pre_tokenize(pre_tokenized);
    const std::string_view view = pre_tokenized.text.view();
    const std::span<const CodePoints> origins = *pre_tokenized.origins;
    std::vector<RangedToken> ranged;
    for (const Piece& piece : pre_tokenized.pieces) {
      const std::string_view bytes = view.substr(piece.begin, piece.end - piece.begin);
      ranged.clear();
      parts_.model->tokenize_ranged(bytes, scratch_, ranged);
      for (const RangedToken& token : ranged) {
        const size_t begin = token.bytes.begin;
        const size_t end = token.bytes.end;
        push(token.id, covered(origins.subspan(piece.begin, bytes.size()), begin, end),
             token.is_text ? bytes.substr(begin, end - begin)
                           : parts_.tokens[static_cast<size_t>(token.id)]);
      }
    }
  }

  void push(int32_t id, CodePoints origin, std::string_view spelling) {
    tokens_.push_back({id, origin});
    if (!parts_.row_form.special.trims.empty()) count_spaces(spelling, tokens_.back());
  }

  const PipelineParts& parts_;
  TokenizerModel::Scratch& scratch_;
  std::vector<AlignedToken> tokens_;
};

// Returns `origin` without the white space at both ends of the token. `first` is true for the first
// token of the row.
CodePoints trimmed(const AlignedToken& token, CodePoints origin, bool first,
                   const OffsetTrim& trim) {
  uint32_t leading = token.leading_spaces;
  // The tokenizer has added this space. It is not in the text, so it must not be trimmed off.
  if (trim.add_prefix_space && leading == 1 && (first || origin.begin == 0)) leading = 0;
  origin.begin = leading > 0 ? std::min(origin.begin + leading, origin.end) : origin.begin;
  if (token.trailing_spaces > 0 && origin.end >= token.trailing_spaces)
    origin.end = std::max(origin.end - token.trailing_spaces, origin.begin);
  return origin;
}

}  // namespace

std::vector<AlignedToken> encode_aligned(std::string_view utf8, const PipelineParts& parts,
                                         TokenizerModel::Scratch& scratch) {
  return AlignedEncoder(parts, scratch).encode(utf8);
}

void append_offsets(const AlignedRow& row, const RowForm& form, std::vector<TokenOffset>& offsets) {
  const SpecialTokens& special = form.special;
  const size_t row_begin = offsets.size();
  const size_t prefix = row.has_special_tokens ? special.prefix.size() : 0;
  const size_t suffix = row.has_special_tokens ? special.suffix.size() : 0;
  const size_t kept = row.size - std::min(row.size, prefix + suffix);
  offsets.resize(row_begin + std::min(prefix, row.size));
  const size_t lost =
      form.truncation == TruncationSide::kLeft ? row.tokens.size() - kept : size_t{0};
  for (size_t i = 0; i < kept; ++i) {
    const AlignedToken& token = row.tokens[lost + i];
    CodePoints origin = token.origin;
    for (const OffsetTrim& trim : special.trims) {
      const bool first = i == 0 && !(trim.after_prefix && row.has_special_tokens);
      origin = trimmed(token, origin, first, trim);
    }
    offsets.push_back({static_cast<int32_t>(origin.begin), static_cast<int32_t>(origin.end)});
  }
  offsets.resize(row_begin + row.size);
}

}  // namespace encode
