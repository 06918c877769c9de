#include "tokenizer/split/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include "tokenizer/split/split_scanner.h"
#include "tokenizer/unicode/byte_level.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {

using unicode::Decoded;

void PreTokenizedText::start() {
  pieces.clear();
  if (!text.view().empty()) pieces.push_back({0, static_cast<uint32_t>(text.view().size())});
}

void PreTokenizedText::shrink(size_t max_bytes) {
  text.shrink(max_bytes);
  for (auto* list : {&pieces, &spare_pieces_}) {
    if (list->capacity() * sizeof(Piece) > max_bytes) std::vector<Piece>().swap(*list);
  }
  if (matches_.capacity() * sizeof(Match) > max_bytes) std::vector<Match>().swap(matches_);
}

namespace {

void append_merged_with_next(const std::vector<Match>& matches, std::vector<Piece>& pieces) {
  const auto first = static_cast<ptrdiff_t>(pieces.size());
  bool previous_match = false;
  for (auto match = matches.rbegin(); match != matches.rend(); ++match) {
    const bool merges =
        match->is_match && !previous_match && static_cast<ptrdiff_t>(pieces.size()) > first;
    if (merges) {
      pieces.back().begin = match->begin;
    } else {
      pieces.push_back({match->begin, match->end});
    }
    previous_match = match->is_match;
  }
  std::reverse(pieces.begin() + first, pieces.end());
}

// Appends the parts that a piece is split into. `matches` must cover the piece. If `invert` is
// true, the matches and the text between them change their roles.
void append_split(std::vector<Match>& matches, SplitBehavior behavior, bool invert,
                  std::vector<Piece>& pieces) {
  if (invert) {
    for (Match& match : matches) match.is_match = !match.is_match;
  }
  if (behavior == SplitBehavior::kMergedWithNext) return append_merged_with_next(matches, pieces);
  const size_t first = pieces.size();
  bool previous_match = false;
  for (const Match& match : matches) {
    bool merges = false;
    if (behavior == SplitBehavior::kContiguous) merges = match.is_match == previous_match;
    if (behavior == SplitBehavior::kMergedWithPrevious) merges = match.is_match && !previous_match;
    previous_match = match.is_match;
    if (behavior == SplitBehavior::kRemoved && match.is_match) continue;
    if (merges && pieces.size() > first) {
      pieces.back().end = match.end;
    } else {
      pieces.push_back({match.begin, match.end});
    }
  }
}

class Split final : public PreTokenizer {
 public:
  Split(std::unique_ptr<TextPattern> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    text.split_each([&](std::string_view piece, uint32_t base, std::vector<Piece>& out) {
      if (behavior_ == SplitBehavior::kIsolated) return pattern_->isolate(piece, base, out);
      std::vector<Match>& matches = text.matches();
      pattern_->find_all(piece, base, matches);
      append_split(matches, behavior_, invert_, out);
    });
  }

 private:
  std::unique_ptr<TextPattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// Splits at single code points: each code point for which `predicate(code_point, properties)` is
// true is a match.
template <typename Predicate>
class CodePointSplit final : public PreTokenizer {
 public:
  CodePointSplit(Predicate predicate, SplitBehavior behavior)
      : predicate_(predicate), behavior_(behavior) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    const unicode::PropertyTable& table = unicode::properties();
    text.split_each([&](std::string_view piece, uint32_t base, std::vector<Piece>& out) {
      std::vector<Match>& matches = text.matches();
      const char* end = piece.data() + piece.size();
      uint32_t between = base;
      for (const char* p = piece.data(); p < end;) {
        const Decoded d = unicode::decode(p, end);
        const uint32_t at = base + static_cast<uint32_t>(p - piece.data());
        p += d.size;
        if (!predicate_(d.code_point, table[d.code_point])) continue;
        if (between < at) matches.push_back({between, at, false});
        between = at + d.size;
        matches.push_back({at, between, true});
      }
      const uint32_t last = base + static_cast<uint32_t>(piece.size());
      if (between < last) matches.push_back({between, last, false});
      append_split(matches, behavior_, false, out);
    });
  }

 private:
  Predicate predicate_;
  SplitBehavior behavior_;
};

auto has_property(uint32_t property) {
  return [property](char32_t /*c*/, uint32_t properties) { return (properties & property) != 0; };
}

template <typename Predicate>
std::unique_ptr<PreTokenizer> make_code_point_split(Predicate predicate, SplitBehavior behavior) {
  return std::make_unique<CodePointSplit<Predicate>>(predicate, behavior);
}

class ScannerSplit final : public PreTokenizer {
 public:
  using Scanner = void (*)(std::string_view, uint32_t, std::vector<Piece>&);
  explicit ScannerSplit(Scanner scanner) : scanner_(scanner) {}
  void pre_tokenize(PreTokenizedText& text) const override { text.split_each(scanner_); }

 private:
  Scanner scanner_;
};

class ByteLevelSplit final : public PreTokenizer {
 public:
  ByteLevelSplit(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    const std::string_view view = text.text.view();
    const auto lacks_space = [&view](const Piece& piece) { return view[piece.begin] != ' '; };
    if (add_prefix_space_ && std::any_of(text.pieces.begin(), text.pieces.end(), lacks_space)) {
      text.rewrite_each([](std::string_view piece, bool /*at_origin*/, auto& out) {
        if (piece.front() != ' ') out.put(" ", piece.data());
        out.copy(piece);
      });
    }
    if (use_regex_) text.split_each(scan_gpt2);
  }

 private:
  bool add_prefix_space_;
  bool use_regex_;
};

class ByteLevelAlphabet final : public PreTokenizer {
 public:
  void pre_tokenize(PreTokenizedText& text) const override {
    text.rewrite_each([](std::string_view piece, bool /*at_origin*/, auto& out) {
      out.put_each_byte(piece, append_byte_level);
    });
  }
};

class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(size_t code_points) : code_points_(code_points) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    text.split_each([this](std::string_view piece, uint32_t base, std::vector<Piece>& out) {
      const char* end = piece.data() + piece.size();
      size_t count = 0;
      for (const char* p = piece.data(); p < end; ++count) {
        const uint32_t size = unicode::decode(p, end).size;
        const uint32_t at = base + static_cast<uint32_t>(p - piece.data());
        if (count % code_points_ == 0) out.push_back({at, at});
        out.back().end = at + size;
        p += size;
      }
    });
  }

 private:
  size_t code_points_;
};

// A new piece begins at each change of script. The text before the first character with a script is
// in no piece, as in Hugging Face `tokenizers`.
class UnicodeScripts final : public PreTokenizer {
 public:
  void pre_tokenize(PreTokenizedText& text) const override {
    text.split_each([](std::string_view piece, uint32_t base, std::vector<Piece>& out) {
      const char* end = piece.data() + piece.size();
      uint8_t last = 0;
      for (const char* p = piece.data(); p < end;) {
        const Decoded d = unicode::decode(p, end);
        const uint8_t script = unicode::script(d.code_point);
        const uint32_t at = base + static_cast<uint32_t>(p - piece.data());
        if (script != 0 && script != last) {
          out.push_back({at, at});
          last = script;
        }
        if (last != 0) out.back().end = at + d.size;
        p += d.size;
      }
    });
  }
};

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<PreTokenizer>> steps)
      : steps_(std::move(steps)) {}
  void pre_tokenize(PreTokenizedText& text) const override {
    for (const auto& step : steps_) step->pre_tokenize(text);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_bert_pre_tokenizer() {
  return std::make_unique<ScannerSplit>(scan_bert);
}
std::unique_ptr<PreTokenizer> make_whitespace() {
  return std::make_unique<ScannerSplit>(scan_whitespace);
}
std::unique_ptr<PreTokenizer> make_byte_level_split(bool add_prefix_space, bool use_regex) {
  return std::make_unique<ByteLevelSplit>(add_prefix_space, use_regex);
}
std::unique_ptr<PreTokenizer> make_byte_level_alphabet() {
  return std::make_unique<ByteLevelAlphabet>();
}
std::unique_ptr<PreTokenizer> make_split(std::unique_ptr<TextPattern> pattern,
                                         SplitBehavior behavior, bool invert) {
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}
std::unique_ptr<PreTokenizer> make_whitespace_split() {
  return make_code_point_split(has_property(unicode::kWhitespace), SplitBehavior::kRemoved);
}
std::unique_ptr<PreTokenizer> make_punctuation(SplitBehavior behavior) {
  return make_code_point_split(has_property(unicode::kPunctuation), behavior);
}
std::unique_ptr<PreTokenizer> make_digits(bool individual_digits) {
  return make_code_point_split(has_property(unicode::kNumeric), individual_digits
                                                                    ? SplitBehavior::kIsolated
                                                                    : SplitBehavior::kContiguous);
}
std::unique_ptr<PreTokenizer> make_char_delimiter_split(char32_t delimiter) {
  return make_code_point_split(
      [delimiter](char32_t c, uint32_t /*properties*/) { return c == delimiter; },
      SplitBehavior::kRemoved);
}
std::unique_ptr<PreTokenizer> make_fixed_length(size_t code_points) {
  return std::make_unique<FixedLength>(code_points);
}
std::unique_ptr<PreTokenizer> make_unicode_scripts() { return std::make_unique<UnicodeScripts>(); }
std::unique_ptr<PreTokenizer> make_pre_tokenizer_sequence(
    std::vector<std::unique_ptr<PreTokenizer>> steps) {
  return std::make_unique<PreTokenizerSequence>(std::move(steps));
}

}  // namespace encode
