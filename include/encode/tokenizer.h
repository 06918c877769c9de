// Turns text into input_ids: the ids that Hugging Face `tokenizers` gives, or sentencepiece for
// .model files, token for token.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace encode {

struct TokenizeOptions {
  int64_t max_length = 0;  // in tokens, special tokens included; 0: no truncation
  bool add_special_tokens = true;
  // False: text beyond max_length need not be tokenized, which saves most of the time that very
  // long rows take. The ids stay the same, but `lost_tokens` then counts only the lost tokens that
  // were seen.
  bool count_lost_tokens = true;
};

// The ids of many rows, flat: row i is ids[offsets[i], offsets[i + 1]).
struct TokenizedRows {
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets = {0};  // size() + 1 entries
  // For each row the number of tokens that max_length cut off, 0 for a row that was not truncated.
  // Without count_lost_tokens, a truncated row has at least 1 and at most that number.
  std::vector<int32_t> lost_tokens;

  int64_t size() const { return static_cast<int64_t>(lost_tokens.size()); }
  std::span<const int32_t> row(int64_t i) const {
    return {
        ids.data() + offsets[static_cast<size_t>(i)],
        static_cast<size_t>(offsets[static_cast<size_t>(i) + 1] - offsets[static_cast<size_t>(i)])};
  }
  void clear();
};

// The code points [begin, end) of the text that a token comes from. (0, 0) for the special tokens
// around the text.
struct TokenOffset {
  int32_t begin = 0;
  int32_t end = 0;
  bool operator==(const TokenOffset&) const = default;
};

// Immutable after loading; encode() may be called from any number of threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Appends one row to `rows`. `utf8` must be valid UTF-8; it may be empty and may contain NUL.
  // Throws Error (kData), and appends nothing: "tokenizer.too_long" for a text over 64 MiB,
  // "tokenizer.regex" if a split pattern without a scanner of its own needs too many steps, and
  // "tokenizer.sentencepiece" if the sentencepiece library refuses the text. Nothing else fails on
  // valid UTF-8.
  virtual void encode(std::string_view utf8, const TokenizeOptions& options,
                      TokenizedRows& rows) const = 0;

  // Appends the same row, and an offset for each of its ids: `Encoding.offsets` of Hugging Face
  // `tokenizers`, after the post-processors that trim them (for .model files the offsets of
  // sentencepiece). All lost tokens are counted, whatever `count_lost_tokens` says. Takes many
  // times as long as encode(). Throws as encode() does, but "tokenizer.too_long" for a text over 8
  // MiB, and "tokenizer.offsets" (kData) if the offsets belong to other tokens than the row's.
  virtual void encode_with_offsets(std::string_view utf8, const TokenizeOptions& options,
                                   TokenizedRows& rows,
                                   std::vector<TokenOffset>& offsets) const = 0;

  // All ids that encode() can give are in [0, vocab_size()).
  virtual int64_t vocab_size() const = 0;
  // For the log: "WordPiece, 30522 tokens, normalizer BertNormalizer, .."; with the version of the
  // sentencepiece library if that makes the ids.
  virtual std::string description() const = 0;
  // The vocabulary's spelling of an id; "" for an id without a token.
  virtual std::string token(int32_t id) const = 0;
};

// Loads a tokenizer.json, or a sentencepiece .model file. The truncation and padding that a
// tokenizer.json states are ignored, as sentence-transformers does. Throws Error: kNoInput if the
// file is missing, and kConfig for anything that is malformed or not supported, with its name
// ("normalizer type 'Foo' is not supported").
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& file);

// Loads find_tokenizer_file(model_dir) of encode/tokenizer_file.h. tokenizer_config.json's
// add_bos_token and add_eos_token apply to a sentencepiece model.
std::unique_ptr<Tokenizer> load_tokenizer_from_directory(const std::string& model_dir);

}  // namespace encode
