// Strict reading of tokenizer.json's components: every key is known or the file is refused, by
// name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "encode/error.h"

#include "base/json.h"
#include "tokenizer/model.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace encode {

inline constexpr std::string_view kTokenizerFormat = "tokenizer.format";  // error codes
inline constexpr std::string_view kTokenizerUnsupported = "tokenizer.unsupported";
inline constexpr size_t kMaxPatternBytes = 8192;
inline constexpr int64_t kMaxTokens = 4'000'000;
// The largest known vocabulary, of 901,629 tokens, has about 10 MB. The memory that a model takes
// grows with the sum (a trie takes 12 bytes for each), so the sum is bounded, not each token.
inline constexpr size_t kMaxVocabularyBytes = size_t{32} << 20;
// The longest token of a kind that is looked for from every character of a text on: Unigram's,
// added tokens, and those of .model files. The time for a text grows with this length, and the
// sentencepiece library builds its trie with a recursion as deep as its longest piece.
inline constexpr size_t kMaxSearchedTokenBytes = 4096;
// The bound of WordPiece's max_input_chars_per_word.
inline constexpr int64_t kMaxWordChars = 1024;

[[noreturn]] void refuse_format(std::string what, const std::string& where, std::string expected,
                                std::string found);
// "normalizer type 'Foo' is not supported"
[[noreturn]] void refuse_unsupported(std::string what, const std::string& where,
                                     std::string hint = {});
// A token in quotes for a message: escaped, and cut where it is long, with its size then.
std::string quoted_token(std::string_view token);

// One JSON object with a "type".
class Component {
 public:
  Component(const Json& json, std::string where);

  const std::string& type() const { return type_; }
  const std::string& where() const { return where_; }  // "tokenizer.json: normalizer.Sequence[0]"
  const Json& json() const { return json_; }
  const JsonFields& fields() const { return fields_; }

  // Refuses keys other than "type" and these.
  void allow(std::initializer_list<std::string_view> keys) const;
  bool boolean(const std::string& key) const;  // must be there
  Component child(const Json& json, size_t index) const;

 private:
  const Json& json_;
  std::string where_;
  JsonFields fields_;
  std::string type_;
};

// {"String": ..} or {"Regex": ..}
std::unique_ptr<TextPattern> load_pattern(const Component& component);
struct PatternText {
  std::string text;
  bool is_regex;
};
PatternText load_pattern_text(const Component& component);

// What comes out of the parts of a tokenizer.json, null parts included.
std::unique_ptr<Normalizer> load_normalizer(const Component& component);

struct LoadedPreTokenizer {
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  bool byte_level =
      false;  // its pieces are to be spelled in GPT-2's alphabet, which it leaves to the model
};
// `model_takes_bytes`: the model can do without the alphabet if it comes last.
LoadedPreTokenizer load_pre_tokenizer(const Component& component, bool model_takes_bytes);

SpecialTokens load_post_processor(const Component& component);

}  // namespace encode
