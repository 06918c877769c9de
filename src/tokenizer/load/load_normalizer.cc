#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/base64.h"
#include "tokenizer/load/component.h"
#include "tokenizer/load/loaders.h"
#include "tokenizer/normalize/bert_normalizer.h"
#include "tokenizer/normalize/precompiled.h"
#include "tokenizer/normalize/simple_normalizers.h"
#include "tokenizer/normalize/unicode_normalizer.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

std::unique_ptr<Normalizer> load_bert(const Component& component) {
  component.allow({"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  BertNormalizerOptions options;
  options.clean_text = component.boolean("clean_text");
  options.handle_chinese_chars = component.boolean("handle_chinese_chars");
  options.lowercase = component.boolean("lowercase");
  options.strip_accents = component.fields().boolean_or("strip_accents", options.lowercase);
  return make_bert_normalizer(options);
}

std::unique_ptr<Normalizer> load_strip(const Component& component) {
  component.allow({"strip_left", "strip_right"});
  return make_strip_normalizer(component.boolean("strip_left"), component.boolean("strip_right"));
}

std::unique_ptr<Normalizer> load_replace(const Component& component) {
  component.allow({"pattern", "content"});
  PatternText pattern = load_pattern_text(component);
  std::string content = component.fields().string("content");
  if (!pattern.is_regex && pattern.text.size() == 1) {
    return make_replace_byte_normalizer(pattern.text[0], std::move(content));
  }
  return make_replace_normalizer(load_pattern(component), std::move(content));
}

std::unique_ptr<Normalizer> load_prepend(const Component& component) {
  component.allow({"prepend"});
  return make_prepend_normalizer(component.fields().string("prepend"));
}

std::unique_ptr<Normalizer> load_normalizer_sequence(const Component& component) {
  component.allow({"normalizers"});
  std::vector<std::unique_ptr<Normalizer>> steps;
  for (const Json& json : component.fields().array("normalizers")) {
    steps.push_back(load_normalizer(component.child(json, steps.size())));
  }
  return make_normalizer_sequence(std::move(steps));
}

std::unique_ptr<Normalizer> load_precompiled(const Component& component) {
  component.allow({"precompiled_charsmap"});
  const std::optional<std::string> charsmap =
      bytes_of_base64(component.fields().string("precompiled_charsmap"));
  if (!charsmap.has_value())
    component.fields().refuse("precompiled_charsmap", "base64", "text that is not base64");
  return make_precompiled_normalizer(*charsmap, component.where());
}

template <std::unique_ptr<Normalizer> (*kMake)()>
std::unique_ptr<Normalizer> load_plain(const Component& component) {
  component.allow({});
  return kMake();
}

template <NormalizationForm kForm>
std::unique_ptr<Normalizer> make_form() {
  return make_unicode_normalizer(kForm);
}

// A normalizer with its place in the file, for errors.
class NamedNormalizer final : public Normalizer {
 public:
  NamedNormalizer(std::string place, std::unique_ptr<Normalizer> normalizer)
      : place_(std::move(place)), normalizer_(std::move(normalizer)) {}

  void normalize(TextBuffer& text) const override {
    text.enter(place_);
    normalizer_->normalize(text);
  }
  void normalize_aligned(AlignedText& text) const override { normalizer_->normalize_aligned(text); }

 private:
  std::string place_;
  std::unique_ptr<Normalizer> normalizer_;
};

}  // namespace

std::unique_ptr<Normalizer> load_normalizer(const Component& component) {
  using Loader = std::unique_ptr<Normalizer> (*)(const Component&);
  static const std::map<std::string, Loader, std::less<>> kLoaders = {
      {"BertNormalizer", load_bert},
      {"ByteLevel", load_plain<make_byte_level_normalizer>},
      {"Lowercase", load_plain<make_lowercase_normalizer>},
      {"NFC", load_plain<make_form<NormalizationForm::kNfc>>},
      {"NFD", load_plain<make_form<NormalizationForm::kNfd>>},
      {"NFKC", load_plain<make_form<NormalizationForm::kNfkc>>},
      {"NFKD", load_plain<make_form<NormalizationForm::kNfkd>>},
      {"Nmt", load_plain<make_nmt_normalizer>},
      {"Precompiled", load_precompiled},
      {"Prepend", load_prepend},
      {"Replace", load_replace},
      {"Sequence", load_normalizer_sequence},
      {"Strip", load_strip},
      {"StripAccents", load_plain<make_strip_accents_normalizer>},
  };
  const auto found = kLoaders.find(component.type());
  if (found == kLoaders.end()) {
    refuse_unsupported(
        fmt::format("normalizer type {} is not supported", quoted_token(component.type())),
        component.where(),
        {.expected = fmt::format("one of: {}", joined_names(kLoaders)),
         .found = quoted_token(component.type())});
  }
  return std::make_unique<NamedNormalizer>(
      fmt::format("{}.{}", component.where(), component.type()), found->second(component));
}

}  // namespace encode
