// The tokenizer that a tokenizer.json describes. It has these stages, in this order: added tokens,
// normalizer, pre-tokenizer, model, special tokens and truncation.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/tokenizer.h"

#include "tokenizer/added_tokens.h"
#include "tokenizer/models/token_model.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/normalize/normalizer.h"
#include "tokenizer/split/pre_tokenizer.h"

namespace encode {

// A post-processor that removes white space from both ends of the offsets.
struct OffsetTrim {
  bool add_prefix_space = false;
  // True if an earlier post-processor has already put special tokens before the row.
  bool after_prefix = false;
};

// The special tokens that the post-processors put around the ids of a single text, and the effect
// of the post-processors on offsets.
struct SpecialTokens {
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;
  RowTypeIds types;  // of the prefix, the text and the suffix
  std::vector<OffsetTrim> trims;
  // Only load_post_processor() uses `joined` and `split`. `joined` is true if BertProcessing or
  // RobertaProcessing has joined the row and the special tokens into one part. `split` is true if
  // TemplateProcessing has left several parts.
  bool joined = false;
  bool split = false;
};

// The side of a text from which max_length removes tokens.
enum class TruncationSide { kRight, kLeft };

// Everything that turns the ids of a text into a row.
struct RowForm {
  SpecialTokens special;
  TruncationSide truncation = TruncationSide::kRight;

  // Returns whether the token is put around every row.
  bool has_special(int32_t id) const;
};

// Appends one row: the special tokens, and between them as many of `ids` as fit in max_length: the
// first ones, or the last ones if the truncation is on the left. Throws no Error.
void append_row(std::span<const int32_t> ids, const RowForm& form, const TokenizeOptions& options,
                TokenizedRows& rows);

// The largest texts that encode() and encode_with_offsets() accept, in bytes. With offsets, a text
// takes up to 25 times its size in memory, and more if normalizers make it longer.
inline constexpr size_t kMaxTextBytes = size_t{64} << 20;
inline constexpr size_t kMaxAlignedBytes = size_t{8} << 20;

// Returns `utf8` if it is valid UTF-8. Otherwise fills `repaired` with a copy in which U+FFFD
// replaces the invalid parts, and returns a view of it. Throws Error (kData, "tokenizer.too_long")
// if `utf8` has more than `max_bytes`.
std::string_view check_text(std::string_view utf8, size_t max_bytes, std::string& repaired);

// The places of a text where the ids of the text are those of its two parts, one after the other.
enum class JoinPlaces {
  kNone,          // no place is known
  kBetweenWords,  // before a space, if an ASCII letter stands before it, and one after it
  kAfterSpaces,   // these places, and after ' ' and '\n', except inside a grapheme cluster
};

// The stages of a tokenizer.
struct PipelineParts {
  std::unique_ptr<Normalizer> normalizer;       // may be null
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // may be null
  std::unique_ptr<TokenizerModel> model;        // never null
  RowForm row_form;
  AddedTokenFinder raw_tokens;         // searched for before normalization
  AddedTokenFinder normalized_tokens;  // searched for after normalization
  TokenSpellings tokens;               // "" for an id without a token
  std::string description;             // the result of Tokenizer::description()
  JoinPlaces joins = JoinPlaces::kNone;
};

// Returns the tokenizer of these stages, which owns them. Its vocab_size() is parts.tokens.size(),
// so every id that a stage gives must be below it. Does not throw Error.
std::unique_ptr<Tokenizer> make_pipeline(PipelineParts parts);

// A tokenizer that may know places at which a text can be cut and its ids joined again. The ids of
// a part are those of encode() without special tokens and without max_length. append_row() makes
// the row of the text from the joined ids.
class JoinableTokenizer : public Tokenizer {
 public:
  virtual JoinPlaces joins() const = 0;
  virtual const RowForm& row_form() const = 0;  // for append_row()
};

// Returns the tokenizer if it is a JoinableTokenizer with joins() other than kNone, and null
// otherwise. Does not throw.
const JoinableTokenizer* joinable(const Tokenizer& tokenizer);

}  // namespace encode
