#include "tokenizer/load/join_rule.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"

#include "tokenizer/load/component.h"
#include "tokenizer/rewrite_budget.h"
#include "tokenizer/split/split_scanner.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

using Types = std::set<std::string_view, std::less<>>;

// Returns whether the normalizer looks only at a grapheme cluster at a time, or at neighbours that
// are no ASCII letters.
bool is_local_normalizer(const Component& component) {
  static const Types kLocal = {"BertNormalizer", "Lowercase", "NFC",         "NFD",         "NFKC",
                               "NFKD",           "Nmt",       "Precompiled", "StripAccents"};
  if (component.type() == "Sequence") {
    size_t index = 0;
    for (const Json& json : component.fields().array("normalizers")) {
      if (!is_local_normalizer(component.child(json, index++))) return false;
    }
    return true;
  }
  if (component.type() == "Replace") {  // XLM-RoBERTa has this one
    const PatternText pattern = load_pattern_text(component);
    return pattern.is_regex && pattern.text == " {2,}" &&
           component.fields().string("content") == " ";
  }
  return kLocal.contains(component.type());
}

// Returns whether the normalizer keeps spaces and line ends, perhaps as spaces, and makes an ASCII
// letter of every ASCII letter.
bool keeps_letters_apart(const Normalizer& normalizer) {
  std::string letters;
  std::string lower;
  for (char c = 'a'; c <= 'z'; ++c) {
    const char upper = static_cast<char>(c - 'a' + 'A');
    for (const char letter : {c, upper}) letters.append({letter, ' '});
    for (const char letter : {c, c}) lower.append({letter, ' '});
  }
  for (std::string* text : {&letters, &lower}) text->append("a\nb");
  RewriteBudget budget(letters.size());
  TextBuffer text;
  const std::string source = letters;
  text.reset(source, true, &budget);
  try {
    normalizer.normalize(text);
  } catch (const Error&) {
    return false;  // it makes the letters far too long
  }
  std::string found(text.view());
  std::ranges::replace(letters, '\n', ' ');
  std::ranges::replace(lower, '\n', ' ');
  std::ranges::replace(found, '\n', ' ');
  return found == letters || found == lower;
}

// What a pre-tokenizer does with a text in which an ASCII letter is before a space and after it.
enum class SpaceSplit {
  kUnknown,
  kNeutral,  // It looks at nothing across the space, and keeps the space.
  kSplits,   // A piece ends before the space, and what is beyond it has no influence.
  kRemoves,  // It does so with all white space, which is in no piece.
};

SpaceSplit space_split_of(const Component& component) {
  static const Types kRemoves = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"};
  static const Types kNeutral = {"Digits", "Punctuation"};
  const std::string& type = component.type();
  const JsonFields& fields = component.fields();
  if (kRemoves.contains(type)) return SpaceSplit::kRemoves;
  if (kNeutral.contains(type)) return SpaceSplit::kNeutral;
  if (type == "ByteLevel" && fields.boolean_or("use_regex", true)) return SpaceSplit::kSplits;
  if (type == "Metaspace") {
    // The scheme "first" depends on where the row begins.
    const bool usual = fields.string("replacement") == unicode::kMetaspaceUtf8 &&
                       fields.boolean_or("split", true) &&
                       fields.string_or("prepend_scheme", "always") != "first";
    return usual ? SpaceSplit::kSplits : SpaceSplit::kUnknown;
  }
  if (type == "Split") {
    const PatternText pattern = load_pattern_text(component);
    const bool known = pattern.is_regex && find_split_scanner(pattern.text) != nullptr;
    const char* keeps_matches = component.boolean("invert") ? "Removed" : "Isolated";
    if (known && fields.string("behavior") == keeps_matches) return SpaceSplit::kSplits;
  }
  return SpaceSplit::kUnknown;
}

// Appends the components of a Sequence and of the sequences in it, or the component itself.
void list_steps(const Component& component, std::vector<Component>& steps) {
  if (component.type() != "Sequence") {
    steps.push_back(component);
    return;
  }
  size_t index = 0;
  for (const Json& json : component.fields().array("pretokenizers"))
    list_steps(component.child(json, index++), steps);
}

JoinPlaces places_of_pre_tokenizer(const Component& component) {
  std::vector<Component> steps;
  list_steps(component, steps);
  auto places = JoinPlaces::kNone;
  for (const Component& step : steps) {
    // A ByteLevel without its pattern spells spaces in another way. After the split this is no
    // matter, because it looks at one piece at a time.
    if (places != JoinPlaces::kNone && step.type() == "ByteLevel") continue;
    const SpaceSplit split = space_split_of(step);
    if (split == SpaceSplit::kUnknown) return JoinPlaces::kNone;
    if (places != JoinPlaces::kNone || split == SpaceSplit::kNeutral) continue;
    const bool first = &step == &steps.front();
    places = split == SpaceSplit::kRemoves && first ? JoinPlaces::kAfterSpaces
                                                    : JoinPlaces::kBetweenWords;
  }
  return places;
}

}  // namespace

JoinPlaces join_places(const TokenizerDocument& document, const PipelineParts& parts) {
  const Json* normalizer = document.part("normalizer");
  const Json* pre_tokenizer = document.part("pre_tokenizer");
  if (pre_tokenizer == nullptr) return JoinPlaces::kNone;
  const JoinPlaces places = places_of_pre_tokenizer({*pre_tokenizer, document.where});
  if (normalizer != nullptr && (!is_local_normalizer({*normalizer, document.where}) ||
                                !keeps_letters_apart(*parts.normalizer)))
    return JoinPlaces::kNone;
  for (const AddedTokenFinder* tokens : {&parts.raw_tokens, &parts.normalized_tokens}) {
    if (!tokens->joins_between_words() ||
        (places == JoinPlaces::kAfterSpaces && !tokens->joins_after_spaces()))
      return JoinPlaces::kNone;
  }
  return places;
}

}  // namespace encode
