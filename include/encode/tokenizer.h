// Turns text into token ids. A tokenizer.json gives the same ids as Hugging Face `tokenizers`, and
// the older files of a directory give the same ids as transformers 4.57.6. A lone .model file gives
// the same ids as the sentencepiece library. Any thread may call the free functions.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

namespace encode {

struct TokenizeOptions {
  int64_t max_length = 0;  // in tokens, special tokens included; 0: no truncation
  bool add_special_tokens = true;
};

// The ids of many rows in one array. Row i has the ids [offsets[i], offsets[i + 1]).
struct TokenizedRows {
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets = {0};  // [size() + 1]
  // [size()], the number of tokens that max_length cut off from each row.
  std::vector<int32_t> lost_tokens;

  int64_t size() const { return static_cast<int64_t>(lost_tokens.size()); }
  std::span<const int32_t> row(int64_t i) const {
    return {
        ids.data() + offsets[static_cast<size_t>(i)],
        static_cast<size_t>(offsets[static_cast<size_t>(i) + 1] - offsets[static_cast<size_t>(i)])};
  }
  // Ends a row: it has the ids that were appended to `ids` since the previous row. `lost` is the
  // number of its ids that max_length has cut off.
  void end_row(int64_t lost = 0) {
    offsets.push_back(std::ssize(ids));
    lost_tokens.push_back(static_cast<int32_t>(lost));
  }
  // Appends the rows of `other`.
  void append(const TokenizedRows& other);
  void clear();
};

// The code points [begin, end) of the text that a token comes from. The special tokens around the
// text have (0, 0).
struct TokenOffset {
  int32_t begin = 0;
  int32_t end = 0;
  bool operator==(const TokenOffset&) const = default;
};

// The token type ids of the rows of a tokenizer (`token_type_ids` of transformers).
struct RowTypeIds {
  std::vector<int32_t> before;  // the type of each special token before the text
  int32_t text = 0;             // the type of every token of the text
  std::vector<int32_t> after;   // the type of each special token after the text

  bool all_zero() const;
  bool operator==(const RowTypeIds&) const = default;
};
// Fills `row` with the type ids of a row of this many tokens, at least one. A row without special
// tokens (TokenizeOptions::add_special_tokens) has the type of the text everywhere. Does not throw
// Error.
void fill_type_ids(const RowTypeIds& types, bool has_special_tokens, std::span<int32_t> row);

// The `where` of the errors that Tokenizer::encode() throws for a text: it does not know which row
// the text is, so the caller fills in the place with naming_row().
inline constexpr std::string_view kUnnamedRow = "a row of the input";
// Returns `error` with `place` ("data/train.csv:1042") as its `where` if it is kUnnamedRow.
Error naming_row(const Error& error, const std::string& place);

// A tokenizer does not change after it is loaded, so any number of threads may use it at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Appends one row to `rows`. `utf8` may be empty and may contain NUL. Invalid UTF-8 counts as
  // U+FFFD, once for each maximal invalid subpart. If it throws, it appends nothing. Throws Error
  // kData:
  // - "tokenizer.too_long" for a text over 64 MiB,
  // - "tokenizer.growth" if the normalizers and pre-tokenizers make a text too long, or do too much
  //   work for it (tokenizer/rewrite_budget.h). The error names the component,
  // - "tokenizer.regex" if matching a split pattern takes too many steps. This can happen only with
  //   a pattern for which encode has no scanner of its own,
  // - "tokenizer.sentencepiece" if the sentencepiece library refuses the text.
  virtual void encode(std::string_view utf8, const TokenizeOptions& options,
                      TokenizedRows& rows) const = 0;

  // Appends the same row as encode(), and an offset for each of its ids: `Encoding.offsets` of
  // Hugging Face `tokenizers`, or the offsets of sentencepiece for a .model file. It takes many
  // times as long as encode(). Throws the errors of encode(), and Error kData:
  // - "tokenizer.too_long" for a text over 8 MiB,
  // - "tokenizer.offsets" if the offsets do not belong to the tokens of the row.
  virtual void encode_with_offsets(std::string_view utf8, const TokenizeOptions& options,
                                   TokenizedRows& rows,
                                   std::vector<TokenOffset>& offsets) const = 0;

  // Returns the size of the vocabulary. All ids that encode() can give are below it.
  virtual int64_t vocab_size() const = 0;
  // Returns a text for the log: "WordPiece, 30522 tokens, normalizer BertNormalizer, ..". The text
  // names the version of the sentencepiece library if that library makes the ids.
  virtual std::string description() const = 0;
  // Returns the type ids of the rows of encode(). They are all 0 unless the post-processor of the
  // tokenizer states others and the class of the tokenizer hands them to the model.
  virtual RowTypeIds type_ids() const { return {}; }
  // Returns the spelling of an id in the vocabulary; "" for an id without a token.
  virtual std::string token(int32_t id) const = 0;
  // Returns whether the id is a special token, as in all_special_ids of transformers: an added
  // token that is marked as special, or a token that encode() puts around every row.
  virtual bool is_special(int32_t id) const = 0;
};

// Loads a tokenizer.json, or a sentencepiece .model file. Of the truncation in a tokenizer.json
// only the `direction` counts: with "Left", max_length keeps the last tokens of a row instead of
// the first. The padding is ignored. sentence-transformers does the same. Throws Error: kNoInput if
// the file is missing, kConfig if something in it is malformed or not supported. The error names
// the cause: "normalizer type 'Foo' is not supported".
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& file);

// Loads a tokenizer from files that are in memory, as AutoTokenizer of transformers does: the class
// of the tokenizer, tokenizer_config.json, special_tokens_map.json and added_tokens.json change
// what tokenizer.json says (docs/tokenizers.md). Without a tokenizer.json, the class says
// how the tokenizer is made from the older files. Throws what load_tokenizer() throws, and Error
// kConfig "tokenizer.contradiction" if files contradict each other and no rule decides.
std::unique_ptr<Tokenizer> load_tokenizer_from(TokenizerSource source);

// Reads the files of a tokenizer from a directory and loads the tokenizer from them. Throws what
// load_tokenizer() and make_tokenizer_source() throw.
std::unique_ptr<Tokenizer> load_tokenizer_from_directory(const std::string& model_dir);

}  // namespace encode
