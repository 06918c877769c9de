// The second stage of a tokenizer: a pre-tokenizer cuts normalized text into pieces ("words"). The
// model then tokenizes each piece separately. Each pre-tokenizer type of tokenizer.json has one
// class here, which gives the same results.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/alignment.h"
#include "tokenizer/split/text_pattern.h"
#include "tokenizer/text_buffer.h"

namespace encode {

// Collects the new text when pieces are rewritten. `out` must outlive the writer. Not thread-safe.
class TextWriter {
 public:
  explicit TextWriter(std::string& out) : out_(out) {}
  void copy(std::string_view part) { out_ += part; }  // `part` is a part of the old text
  // Appends `text`. Its origin is the byte `source` of the old text.
  void put(std::string_view text, const char* /*source*/) { out_ += text; }
  // Appends the text that `append(bytes, out)` appends for each byte of `part`.
  template <typename Append>
  void put_each_byte(std::string_view part, Append&& append) {
    append(part, out_);
  }

 private:
  std::string& out_;
};

// Does the same as TextWriter and keeps track of where each byte comes from. The arguments of the
// constructor must outlive it. Not thread-safe.
class AlignedWriter {
 public:
  AlignedWriter(std::string& out, std::string_view old, const std::vector<CodePoints>& old_origins)
      : out_(out), old_(old), old_origins_(old_origins) {}
  void copy(std::string_view part) {
    out_ += part;
    const auto at = old_origins_.begin() + (part.data() - old_.data());
    origins_.insert(origins_.end(), at, at + static_cast<ptrdiff_t>(part.size()));
  }
  void put(std::string_view text, const char* source) {
    out_ += text;
    origins_.resize(out_.size(), old_origins_[static_cast<size_t>(source - old_.data())]);
  }
  template <typename Append>
  void put_each_byte(std::string_view part, Append&& append) {
    for (const char& byte : part) {
      append({&byte, 1}, out_);
      put({}, &byte);
    }
  }
  std::vector<CodePoints>& origins() { return origins_; }

 private:
  std::string& out_;
  std::string_view old_;
  const std::vector<CodePoints>& old_origins_;
  std::vector<CodePoints> origins_;
};

// The pieces of one text. No piece is empty. The text has less than 4 GiB. Not thread-safe.
class PreTokenizedText {
 public:
  TextBuffer text;
  std::vector<Piece> pieces;
  // The origin of each byte of `text`. It has a value only if offsets are computed.
  std::optional<std::vector<CodePoints>> origins;

  // Makes the whole `text` one piece. If it is empty, there is no piece.
  void start();

  // Calls `split(piece, offset, out)` for each piece, with its text and its offset. Replaces the
  // piece by the pieces that `split` appends to `out`.
  template <typename Split>
  void split_each(Split&& split) {
    const std::string_view view = text.view();
    spare_pieces_.clear();
    for (const Piece& piece : pieces) {
      split(view.substr(piece.begin, piece.end - piece.begin), piece.begin, spare_pieces_);
    }
    pieces.swap(spare_pieces_);
  }

  // Calls `rewrite(piece, at_origin, writer)` for each piece. `rewrite` gives the new text of the
  // piece to `writer`. `at_origin` is true if the piece begins at the first character of the row.
  template <typename Rewrite>
  void rewrite_each(Rewrite&& rewrite) {
    std::string& out = text.spare();
    out.reserve(text.view().size() + text.view().size() / 2);
    if (!origins.has_value()) {
      TextWriter writer(out);
      rewrite_pieces(rewrite, out, writer);
    } else {
      AlignedWriter writer(out, text.view(), *origins);
      rewrite_pieces(rewrite, out, writer);
      origins->swap(writer.origins());
    }
    text.commit();
  }

  std::vector<Match>& matches() {
    matches_.clear();
    return matches_;
  }
  void shrink(size_t max_bytes);

 private:
  template <typename Rewrite, typename Writer>
  void rewrite_pieces(Rewrite& rewrite, const std::string& out, Writer& writer) {
    const std::string_view view = text.view();
    if (!pieces.empty() && pieces.front().begin != 0) text.leave_origin();
    bool at_origin = text.at_origin();
    for (Piece& piece : pieces) {
      const auto begin = static_cast<uint32_t>(out.size());
      rewrite(view.substr(piece.begin, piece.end - piece.begin), at_origin, writer);
      text.check_growth();
      at_origin = false;
      piece = {begin, static_cast<uint32_t>(out.size())};
    }
  }

  std::vector<Piece> spare_pieces_;
  std::vector<Match> matches_;
};

// Pre-tokenizers are immutable.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Any number of threads may call it, each with its own text. Throws Error kData, and the text is
  // then undefined: "tokenizer.regex" if the pattern of a Split needs too many steps,
  // "tokenizer.growth" if the text exceeds its RewriteBudget.
  virtual void pre_tokenize(PreTokenizedText& text) const = 0;
};

// What a split does with its matches. The names are those of tokenizer.json.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

std::unique_ptr<PreTokenizer> make_bert_pre_tokenizer();
// Makes a ByteLevel that does not spell the pieces in GPT-2's alphabet (unicode/byte_level.h). The
// model or the step of make_byte_level_alphabet() does this.
std::unique_ptr<PreTokenizer> make_byte_level_split(bool add_prefix_space, bool use_regex);
std::unique_ptr<PreTokenizer> make_byte_level_alphabet();  // spells the pieces in GPT-2's alphabet
std::unique_ptr<PreTokenizer> make_split(std::unique_ptr<TextPattern> pattern,
                                         SplitBehavior behavior, bool invert);
std::unique_ptr<PreTokenizer> make_whitespace();
std::unique_ptr<PreTokenizer> make_whitespace_split();
std::unique_ptr<PreTokenizer> make_punctuation(SplitBehavior behavior);
std::unique_ptr<PreTokenizer> make_digits(bool individual_digits);
std::unique_ptr<PreTokenizer> make_char_delimiter_split(char32_t delimiter);
std::unique_ptr<PreTokenizer> make_fixed_length(size_t code_points);
std::unique_ptr<PreTokenizer> make_unicode_scripts();
std::unique_ptr<PreTokenizer> make_pre_tokenizer_sequence(
    std::vector<std::unique_ptr<PreTokenizer>> steps);

}  // namespace encode
