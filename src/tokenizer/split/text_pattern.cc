#include "tokenizer/split/text_pattern.h"

#include <utility>

#include "tokenizer/split/regex_pattern.h"
#include "tokenizer/split/split_scanner.h"

namespace encode {

void TextPattern::isolate(std::string_view text, uint32_t base, std::vector<Piece>& pieces) const {
  std::vector<Match> matches;
  find_all(text, base, matches);
  for (const Match& match : matches) pieces.push_back({match.begin, match.end});
}

namespace {

class LiteralPattern final : public TextPattern {
 public:
  explicit LiteralPattern(std::string literal) : literal_(std::move(literal)) {}

  void find_all(std::string_view text, uint32_t base, std::vector<Match>& matches) const override {
    size_t done = 0;
    const auto push = [&](size_t begin, size_t end, bool is_match) {
      if (begin < end) {
        matches.push_back(
            {base + static_cast<uint32_t>(begin), base + static_cast<uint32_t>(end), is_match});
      }
    };
    for (size_t at = text.find(literal_); at != std::string_view::npos;
         at = text.find(literal_, done)) {
      push(done, at, false);
      done = at + literal_.size();
      push(at, done, true);
    }
    push(done, text.size(), false);
  }

 private:
  std::string literal_;
};

class ScannerPattern final : public TextPattern {
 public:
  explicit ScannerPattern(SplitScanner scanner) : scanner_(scanner) {}

  void find_all(std::string_view text, uint32_t base, std::vector<Match>& matches) const override {
    std::vector<Piece> pieces;
    scanner_(text, base, pieces);
    for (const Piece& piece : pieces) matches.push_back({piece.begin, piece.end, true});
  }
  void isolate(std::string_view text, uint32_t base, std::vector<Piece>& pieces) const override {
    scanner_(text, base, pieces);
  }

 private:
  SplitScanner scanner_;
};

}  // namespace

std::unique_ptr<TextPattern> make_literal_pattern(std::string literal) {
  return std::make_unique<LiteralPattern>(std::move(literal));
}

std::unique_ptr<TextPattern> make_regex_pattern(const std::string& regex,
                                                const std::string& where) {
  if (const SplitScanner scanner = find_split_scanner(regex); scanner != nullptr) {
    return std::make_unique<ScannerPattern>(scanner);
  }
  return make_pcre2_pattern(regex, where);
}

}  // namespace encode
