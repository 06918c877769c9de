#include <algorithm>
#include <fmt/format.h>

#include "base/units.h"
#include "tokenizer/load/component.h"
#include "tokenizer/load/loaders.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

int32_t load_id(const Json& json, const Component& component, const std::string& what) {
  if (!json.is_number_integer() || json.get<int64_t>() < 0 ||
      json.get<int64_t>() >= kMaxVocabSize) {
    refuse_format(fmt::format("bad id of {}", what), component.where(),
                  fmt::format("an integer from 0 to {}", kMaxVocabSize - 1), preview(json.dump()));
  }
  return json.get<int32_t>();
}

// Returns the id of a pair such as ["[SEP]", 102].
int32_t load_token_and_id(const Component& component, const std::string& key) {
  const Json& pair = component.fields().array(key);
  if (pair.size() != 2 || !pair[0].is_string())
    component.fields().refuse(key, "[token, id]", preview(pair.dump()));
  return load_id(pair[1], component, key);
}

SpecialTokens load_cls_and_sep(const Component& component) {
  return {.prefix = {load_token_and_id(component, "cls")},
          .suffix = {load_token_and_id(component, "sep")},
          .types = {.before = {0}, .text = 0, .after = {0}},
          .trims = {},
          .joined = true,
          .split = false};
}

std::vector<OffsetTrim> load_trims(const Component& component) {
  if (!component.fields().boolean_or("trim_offsets", true)) return {};
  return {{.add_prefix_space = component.fields().boolean_or("add_prefix_space", true)}};
}

// Each row gets all these tokens. Published tokenizers have at most four.
constexpr size_t kMaxSpecialTokens = 256;

void check_count(const SpecialTokens& special, const Component& component) {
  const size_t count = special.prefix.size() + special.suffix.size();
  if (count > kMaxSpecialTokens) {
    refuse_format("the post-processor adds too many special tokens", component.where(),
                  fmt::format("at most {}", kMaxSpecialTokens), fmt::format("at least {}", count));
  }
}

std::vector<int32_t> load_special_token(const Component& component, const std::string& name) {
  const Json& tokens = component.fields().object("special_tokens");
  if (!tokens.contains(name)) {
    refuse_format("the template uses a token that special_tokens does not have", component.where(),
                  fmt::format("{} in special_tokens", quoted_token(name)), "no such key");
  }
  const JsonFields fields(tokens.at(name), component.where() + ".special_tokens", kTokenizerFormat);
  std::vector<int32_t> ids;
  for (const Json& id : fields.array("ids"))
    ids.push_back(load_id(id, component, quoted_token(name)));
  return ids;
}

SpecialTokens load_template(const Component& component) {
  component.allow({"single", "pair", "special_tokens"});
  SpecialTokens special;
  bool seen_text = false;
  for (const Json& piece : component.fields().array("single")) {
    if (!piece.is_object() || piece.size() != 1) {
      component.fields().refuse("single", "Sequence or SpecialToken", preview(piece.dump()));
    }
    const std::string kind = piece.begin().key();
    const JsonFields fields(piece.begin().value(), component.where() + ".single", kTokenizerFormat);
    const std::string id = fields.string("id");
    const auto type = static_cast<int32_t>(fields.integer_or("type_id", 0, 0, kMaxVocabSize - 1));
    if (kind == "SpecialToken") {
      std::vector<int32_t>& side = seen_text ? special.suffix : special.prefix;
      std::vector<int32_t>& types = seen_text ? special.types.after : special.types.before;
      const std::vector<int32_t> ids = load_special_token(component, id);
      side.insert(side.end(), ids.begin(), ids.end());
      types.insert(types.end(), ids.size(), type);
      check_count(special, component);
    } else if (kind == "Sequence" && id == "A" && !seen_text) {
      seen_text = true;
      special.types.text = type;
    } else {
      component.fields().refuse("single", "the text (Sequence A) once, and SpecialTokens",
                                preview(piece.dump()));
    }
  }
  if (!seen_text)
    component.fields().refuse("single", "the text (Sequence A) once", "a template without it");
  special.split = special.prefix.size() + special.suffix.size() > 0;
  return special;
}

// Adds the types of the special tokens that a later post-processor puts around a row. If the later
// post-processor is a template, all tokens that the row has already get the type of the text in the
// template.
void add_outer_types(const SpecialTokens& outer, bool is_template, RowTypeIds& types) {
  if (is_template) {
    types.text = outer.types.text;
    std::ranges::fill(types.before, types.text);
    std::ranges::fill(types.after, types.text);
  }
  types.before.insert(types.before.begin(), outer.types.before.begin(), outer.types.before.end());
  types.after.insert(types.after.end(), outer.types.after.begin(), outer.types.after.end());
}

SpecialTokens load_processor_sequence(const Component& component) {
  component.allow({"processors"});
  SpecialTokens all;
  size_t index = 0;
  for (const Json& json : component.fields().array("processors")) {
    const Component child = component.child(json, index++);
    const SpecialTokens outer = load_post_processor(child);
    if (all.split && child.type() != "ByteLevel") {
      refuse_unsupported(
          "a post-processor that adds tokens after TemplateProcessing is not supported",
          child.where(),
          {.expected = "only ByteLevel after TemplateProcessing",
           .found = quoted_token(child.type())});
    }
    all.prefix.insert(all.prefix.begin(), outer.prefix.begin(), outer.prefix.end());
    all.suffix.insert(all.suffix.end(), outer.suffix.begin(), outer.suffix.end());
    add_outer_types(outer, child.type() == "TemplateProcessing", all.types);
    check_count(all, component);
    for (OffsetTrim trim : outer.trims) {
      trim.after_prefix = trim.after_prefix || all.joined;
      all.trims.push_back(trim);
    }
    all.joined = all.joined || outer.joined;
    all.split = all.split || outer.split;
  }
  return all;
}

}  // namespace

SpecialTokens load_post_processor(const Component& component) {
  const std::string& type = component.type();
  if (type == "BertProcessing") {
    component.allow({"sep", "cls"});
    return load_cls_and_sep(component);
  }
  if (type == "RobertaProcessing") {
    component.allow({"sep", "cls", "trim_offsets", "add_prefix_space"});
    SpecialTokens special = load_cls_and_sep(component);
    special.trims = load_trims(component);
    return special;
  }
  if (type == "ByteLevel") {
    component.allow({"add_prefix_space", "trim_offsets", "use_regex"});
    SpecialTokens none;
    none.trims = load_trims(component);
    return none;
  }
  if (type == "TemplateProcessing") return load_template(component);
  if (type == "Sequence") return load_processor_sequence(component);
  refuse_unsupported(fmt::format("post-processor type {} is not supported", quoted_token(type)),
                     component.where(),
                     {.expected = "one of: BertProcessing, ByteLevel, RobertaProcessing, Sequence, "
                                  "TemplateProcessing",
                      .found = quoted_token(type)});
}

}  // namespace encode
