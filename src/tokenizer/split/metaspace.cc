#include "tokenizer/split/metaspace.h"

#include <string>

#include "tokenizer/split/pre_tokenizer.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

class Metaspace final : public PreTokenizer {
 public:
  Metaspace(char32_t replacement, PrependScheme scheme, bool split)
      : scheme_(scheme), split_(split) {
    unicode::append_utf8(replacement_, replacement);
  }

  void pre_tokenize(PreTokenizedText& text) const override {
    text.rewrite_each([this](std::string_view piece, bool at_origin, auto& out) {
      const bool starts_with_it = piece.front() == ' ' || piece.starts_with(replacement_);
      const bool prepends =
          scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && at_origin);
      if (prepends && !starts_with_it) out.put(replacement_, piece.data());
      size_t done = 0;
      for (size_t at = piece.find(' '); at != std::string_view::npos; at = piece.find(' ', done)) {
        out.copy(piece.substr(done, at - done));
        out.put(replacement_, piece.data() + at);
        done = at + 1;
      }
      out.copy(piece.substr(done));
    });
    if (!split_) return;
    text.split_each([this](std::string_view piece, uint32_t base, std::vector<Piece>& out) {
      uint32_t begin = 0;
      // Each piece begins with the replacement character, except perhaps the first piece.
      while (begin < piece.size()) {
        const size_t next = piece.find(
            replacement_, begin + (begin_of_word(piece, begin) ? replacement_.size() : 0));
        const auto end =
            static_cast<uint32_t>(next == std::string_view::npos ? piece.size() : next);
        out.push_back({base + begin, base + end});
        begin = end;
      }
    });
  }

 private:
  bool begin_of_word(std::string_view piece, size_t at) const {
    return piece.substr(at).starts_with(replacement_);
  }

  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_metaspace(char32_t replacement, PrependScheme scheme,
                                             bool split) {
  return std::make_unique<Metaspace>(replacement, scheme, split);
}

}  // namespace encode
