#include <fmt/format.h>
#include <map>
#include <utility>

#include "tokenizer/load/component.h"
#include "tokenizer/load/loaders.h"
#include "tokenizer/split/metaspace.h"
#include "tokenizer/tokenizer_refusal.h"
#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

SplitBehavior load_behavior(const Component& component) {
  static const std::map<std::string, SplitBehavior, std::less<>> kBehaviors = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  };
  const std::string name = component.fields().string_or("behavior", "Isolated");
  const auto found = kBehaviors.find(name);
  if (found == kBehaviors.end()) {
    component.fields().refuse(
        "behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous", name);
  }
  return found->second;
}

char32_t load_character(const Component& component, const std::string& key) {
  const std::string text = component.fields().string(key);
  const char* end = text.data() + text.size();
  if (text.empty() || unicode::decode(text.data(), end).size != text.size()) {
    component.fields().refuse(key, "one character", quoted_token(text));
  }
  return unicode::decode(text.data(), end).code_point;
}

std::unique_ptr<PreTokenizer> load_split(const Component& component) {
  component.allow({"pattern", "behavior", "invert"});
  if (!component.fields().has("behavior"))
    component.fields().refuse("behavior", "a string", "the key is missing");
  return make_split(load_pattern(component), load_behavior(component), component.boolean("invert"));
}

std::unique_ptr<PreTokenizer> load_metaspace(const Component& component) {
  component.allow({"replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
  static const std::map<std::string, PrependScheme, std::less<>> kSchemes = {
      {"always", PrependScheme::kAlways},
      {"first", PrependScheme::kFirst},
      {"never", PrependScheme::kNever}};
  const JsonFields& fields = component.fields();
  const auto scheme = kSchemes.find(fields.string_or("prepend_scheme", "always"));
  if (scheme == kSchemes.end()) {
    fields.refuse("prepend_scheme", "always, first or never", fields.string("prepend_scheme"));
  }
  // In older files, add_prefix_space = false means the scheme "never".
  const bool adds = fields.boolean_or("add_prefix_space", true);
  if (!adds && fields.has("prepend_scheme") && scheme->second != PrependScheme::kNever) {
    fields.refuse("add_prefix_space", "true, because prepend_scheme is not \"never\"", "false");
  }
  return make_metaspace(load_character(component, "replacement"),
                        adds ? scheme->second : PrependScheme::kNever,
                        fields.boolean_or("split", true));
}

std::unique_ptr<PreTokenizer> load_punctuation(const Component& component) {
  component.allow({"behavior"});
  return make_punctuation(load_behavior(component));
}

std::unique_ptr<PreTokenizer> load_digits(const Component& component) {
  component.allow({"individual_digits"});
  return make_digits(component.boolean("individual_digits"));
}

std::unique_ptr<PreTokenizer> load_char_delimiter(const Component& component) {
  component.allow({"delimiter"});
  return make_char_delimiter_split(load_character(component, "delimiter"));
}

std::unique_ptr<PreTokenizer> load_fixed_length(const Component& component) {
  component.allow({"length"});
  return make_fixed_length(
      static_cast<size_t>(component.fields().integer_or("length", 5, 1, 1 << 20)));
}

template <std::unique_ptr<PreTokenizer> (*kMake)()>
std::unique_ptr<PreTokenizer> load_plain(const Component& component) {
  component.allow({});
  return kMake();
}

// A pre-tokenizer with its place in the file, for errors.
class NamedPreTokenizer final : public PreTokenizer {
 public:
  NamedPreTokenizer(const Component& component, std::unique_ptr<PreTokenizer> pre_tokenizer)
      : place_(fmt::format("{}.{}", component.where(), component.type())),
        pre_tokenizer_(std::move(pre_tokenizer)) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    text.text.enter(place_);
    pre_tokenizer_->pre_tokenize(text);
  }

 private:
  std::string place_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
};

using Steps = std::vector<std::unique_ptr<PreTokenizer>>;

// Appends the pre-tokenizers of `component` to `steps`. A "Sequence" adds the steps of its
// components. A "ByteLevel" becomes two steps: the split, and the spelling in GPT-2's alphabet. A
// ByteLevel that is the last component adds only the split, and sets `ends_with_alphabet`.
void load_steps(const Component& component, Steps& steps, bool& ends_with_alphabet) {
  using Loader = std::unique_ptr<PreTokenizer> (*)(const Component&);
  static const std::map<std::string, Loader, std::less<>> kLoaders = {
      {"BertPreTokenizer", load_plain<make_bert_pre_tokenizer>},
      {"CharDelimiterSplit", load_char_delimiter},
      {"Delimiter", load_char_delimiter},
      {"Digits", load_digits},
      {"FixedLength", load_fixed_length},
      {"Metaspace", load_metaspace},
      {"Punctuation", load_punctuation},
      {"Split", load_split},
      {"UnicodeScripts", load_plain<make_unicode_scripts>},
      {"Whitespace", load_plain<make_whitespace>},
      {"WhitespaceSplit", load_plain<make_whitespace_split>},
  };
  if (component.type() == "Sequence") {
    component.allow({"pretokenizers"});
    size_t index = 0;
    for (const Json& json : component.fields().array("pretokenizers")) {
      load_steps(component.child(json, index++), steps, ends_with_alphabet);
    }
    return;
  }
  if (ends_with_alphabet) steps.push_back(make_byte_level_alphabet());
  ends_with_alphabet = component.type() == "ByteLevel";
  if (ends_with_alphabet) {
    component.allow({"add_prefix_space", "trim_offsets", "use_regex"});
    const bool use_regex = component.fields().boolean_or("use_regex", true);
    steps.push_back(std::make_unique<NamedPreTokenizer>(
        component, make_byte_level_split(component.boolean("add_prefix_space"), use_regex)));
    return;
  }
  const auto found = kLoaders.find(component.type());
  if (found == kLoaders.end()) {
    refuse_unsupported(
        fmt::format("pre-tokenizer type {} is not supported", quoted_token(component.type())),
        component.where(),
        {.expected = fmt::format("one of: {}, ByteLevel, Sequence", joined_names(kLoaders)),
         .found = quoted_token(component.type())});
  }
  steps.push_back(std::make_unique<NamedPreTokenizer>(component, found->second(component)));
}

}  // namespace

LoadedPreTokenizer load_pre_tokenizer(const Component& component, bool model_takes_bytes) {
  Steps steps;
  bool byte_level = false;
  load_steps(component, steps, byte_level);
  if (byte_level && !model_takes_bytes) {
    steps.push_back(make_byte_level_alphabet());
    byte_level = false;
  }
  if (steps.size() == 1) return {std::move(steps.front()), byte_level};
  return {make_pre_tokenizer_sequence(std::move(steps)), byte_level};
}

}  // namespace encode
