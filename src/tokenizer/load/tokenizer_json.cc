#include "tokenizer/load/tokenizer_json.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <utility>

#include <simdjson.h>

#include "base/json.h"
#include "base/units.h"
#include "tokenizer/load/component.h"
#include "tokenizer/load/load_model.h"
#include "tokenizer/load/load_normalizer.h"
#include "tokenizer/load/load_post_processor.h"
#include "tokenizer/load/load_pre_tokenizer.h"
#include "tokenizer/load/merge_loader.h"
#include "tokenizer/load/model_json.h"
#include "tokenizer/refusal.h"

namespace encode {
namespace {

namespace dom = simdjson::dom;

constexpr JsonLimits kLimits{.max_bytes = 64 << 20, .max_depth = 64};

// Reads a tokenizer.json. The model becomes a ModelJson, and each other field becomes a JSON
// document of its own.
class Reader {
 public:
  explicit Reader(std::string where) : where_(std::move(where)) {}

  // Keeps no view of `text` after it returns. SIMDJSON_PADDING bytes after the end of `text` must
  // be readable, because simdjson may read them.
  void read(std::string_view text) {
    dom::parser parser(static_cast<size_t>(kLimits.max_bytes));
    try {
      if (parser.allocate(text.size() + 1, kLimits.max_depth) != simdjson::SUCCESS)
        throw std::bad_alloc();
      for (const auto [name, value] : parser.parse(text.data(), text.size(), false).get_object()) {
        const std::string key(name);
        if (parts_.contains(key) || (key == "model" && has_model_))
          refuse_format("duplicate key", where_, "each key once", quoted_token(key));
        if (key == "model") {
          read_model(value);
        } else {
          parts_.emplace(key, parse_small(value, key));
        }
      }
    } catch (const simdjson::simdjson_error& error) {
      refuse_format("malformed JSON", where_, "a tokenizer.json", error.what());
    }
    if (!has_model_)
      refuse_format("the file has no model", where_, "a key 'model'", "other keys only");
  }

  // Returns null if the file does not have the field, or has null as its value.
  const Json* part(const std::string& key) const {
    const auto found = parts_.find(key);
    return found == parts_.end() || found->second.is_null() ? nullptr : &found->second;
  }
  const std::map<std::string, Json>& parts() const { return parts_; }
  const ModelJson& model() const { return model_; }

 private:
  Json parse_small(dom::element value, const std::string& key) {
    return parse_json(simdjson::minify(value), kLimits, where_ + ": " + key, kTokenizerFormat);
  }

  void read_model(dom::object object) {
    has_model_ = true;
    dom::element merges;
    for (const auto [name, value] : object) {
      const std::string key(name);
      const bool is_new = key == "vocab"    ? !model_.has_vocabulary
                          : key == "merges" ? !model_.has_merges
                                            : !model_.options.contains(key);
      if (!is_new)
        refuse_format("duplicate key in the model", where_, "each key once", quoted_token(key));
      if (key == "vocab") {
        read_vocabulary(value);
      } else if (key == "merges") {
        model_.has_merges = true;
        merges = value;
      } else {
        model_.options[key] = parse_small(value, "model." + key);
      }
    }
    if (model_.has_merges) read_merges(merges);  // read last, because it uses the other fields
  }

  void add_token(std::string_view token, int64_t id) {
    if (id < 0 || id >= kMaxTokens) {
      refuse_format("bad entry of the vocabulary", where_,
                    fmt::format("an id from 0 to {}", kMaxTokens - 1),
                    fmt::format("{} for {}", id, quoted_token(token)));
    }
    vocabulary_bytes_ += token.size();
    if (vocabulary_bytes_ > kMaxVocabularyBytes) {
      refuse_format("the tokens of the vocabulary are too long", where_,
                    fmt::format("at most {} bytes in all", kMaxVocabularyBytes),
                    fmt::format("more, at {}", quoted_token(token)));
    }
    if (!model_.vocabulary.add(token, static_cast<int32_t>(id))) {
      refuse_format("a token is in the vocabulary twice", where_, "distinct tokens",
                    quoted_token(token));
    }
  }

  void read_vocabulary(dom::element value) {
    model_.has_vocabulary = true;
    if (value.is_object()) {
      const dom::object tokens = value;
      model_.vocabulary.reserve(tokens.size());
      for (const auto [token, id] : tokens) add_token(token, id.get_int64());
      return;
    }
    const dom::array pieces = value;  // a Unigram model has [[token, score], ..]
    model_.vocabulary.reserve(pieces.size());
    model_.scores.reserve(pieces.size());
    for (const dom::array pair : pieces) {
      if (pair.size() != 2)
        refuse_format("bad entry of the vocabulary", where_, "[token, score]",
                      preview(simdjson::minify(pair)));
      add_token(pair.at(0).get_string(), static_cast<int64_t>(model_.scores.size()));
      model_.scores.push_back(pair.at(1).get_double());
    }
  }

  void read_merges(dom::element value) {
    const Json prefix = model_.options.value("continuing_subword_prefix", Json());
    const size_t prefix_size = prefix.is_string() ? prefix.get_ref<const std::string&>().size() : 0;
    MergeLoader loader(model_.vocabulary, prefix_size, where_ + ": model.merges");
    const dom::array merges = value;
    loader.reserve(merges.size());
    int64_t count = 0;
    for (const dom::element merge : merges) {
      if (++count > kMaxTokens) {
        refuse_format("too many merges", where_, fmt::format("at most {}", kMaxTokens),
                      fmt::format("more than {}", kMaxTokens));
      }
      if (merge.is_array()) {
        const dom::array pair = merge;
        if (pair.size() != 2)
          refuse_format("malformed merge", where_, "[left, right]",
                        preview(simdjson::minify(pair)));
        loader.add(pair.at(0).get_string(), pair.at(1).get_string());
      } else {
        add_spelled_merge(merge.get_string(), loader);
      }
    }
    model_.merges = loader.finish();
  }

  // Adds a merge in the form "left right".
  void add_spelled_merge(std::string_view merge, MergeLoader& loader) const {
    if (merge.starts_with("#version")) return;
    const size_t space = merge.find(' ');
    if (space == std::string_view::npos || merge.find(' ', space + 1) != std::string_view::npos) {
      refuse_format("malformed merge", where_, "two tokens and a space between them",
                    quoted_token(merge));
    }
    loader.add(merge.substr(0, space), merge.substr(space + 1));
  }

  std::string where_;
  std::map<std::string, Json> parts_;
  ModelJson model_;
  bool has_model_ = false;
  size_t vocabulary_bytes_ = 0;
};

AddedToken load_added_token(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, std::string(kTokenizerFormat));
  static const std::set<std::string, std::less<>> kFlags = {"single_word", "lstrip", "rstrip",
                                                            "normalized", "special"};
  for (const auto& [key, value] : json.items()) {
    const bool is_flag = kFlags.contains(key);
    if (!is_flag && key != "id" && key != "content") {
      refuse_unsupported(
          fmt::format("key {} of an added token is not supported", quoted_token(key)), where,
          {.expected = fmt::format("only the keys: id, content, {}", fmt::join(kFlags, ", ")),
           .found = quoted_token(key)});
    }
    if (is_flag && !value.is_boolean()) fields.refuse(key, "true or false", preview(value.dump()));
  }
  AddedToken token;
  token.id = static_cast<int32_t>(fields.integer("id", 0, kMaxTokens - 1));
  token.content = fields.string("content");
  if (token.content.empty() || token.content.size() > kMaxSearchedTokenBytes) {
    fields.refuse("content", fmt::format("1 to {} bytes", kMaxSearchedTokenBytes),
                  quoted_token(token.content));
  }
  token.single_word = fields.boolean_or("single_word", false);
  token.lstrip = fields.boolean_or("lstrip", false);
  token.rstrip = fields.boolean_or("rstrip", false);
  token.normalized = fields.boolean_or("normalized", true);
  token.special = fields.boolean_or("special", false);
  return token;
}

// Hugging Face `tokenizers` gives an added token the id of the same token in the vocabulary, or
// else the next free id. A file that states another id is refused, because it cannot be known
// which id the model was trained with.
void check_id(const AddedToken& token, const Vocabulary& vocabulary, int32_t& next_id,
              const std::string& where) {
  const int32_t known = vocabulary.find(token.content);
  const int32_t id = known >= 0 ? known : next_id++;
  if (id != token.id) {
    refuse_format(fmt::format("added token {} has a wrong id", quoted_token(token.content)), where,
                  fmt::to_string(id), fmt::to_string(token.id));
  }
}

struct AddedTokens {
  std::vector<AddedToken> list;
  AddedTokenFinder raw, normalized;
};

AddedTokens load_added_tokens(const Json* json, const Normalizer* normalizer,
                              const Vocabulary& vocabulary, const std::string& where) {
  AddedTokens result;
  if (json == nullptr) return result;
  if (!json->is_array())
    refuse_format("bad value for 'added_tokens'", where, "an array", json->type_name());
  std::vector<std::pair<std::string, AddedToken>> raw;
  std::vector<std::pair<std::string, AddedToken>> normalized;
  std::set<std::string> raw_patterns;
  std::set<std::string> normalized_patterns;
  auto next_id = static_cast<int32_t>(vocabulary.size());
  for (const Json& entry : *json) {
    const std::string entry_where = fmt::format("{}: added_tokens[{}]", where, result.list.size());
    AddedToken token = load_added_token(entry, entry_where);
    check_id(token, vocabulary, next_id, entry_where);
    std::string pattern = token.content;
    if (token.normalized && normalizer != nullptr) {
      TextBuffer text;
      text.reset(token.content, true);
      normalizer->normalize(text);
      pattern = text.view();
    }
    if (pattern.size() > kMaxSearchedTokenBytes) {
      refuse_format(fmt::format("added token {} is too long after normalization",
                                quoted_token(token.content)),
                    entry_where, fmt::format("at most {} bytes", kMaxSearchedTokenBytes),
                    fmt::format("{} bytes", pattern.size()));
    }
    if (pattern.empty() ||
        !(token.normalized ? normalized_patterns : raw_patterns).insert(pattern).second) {
      refuse_format(fmt::format("added token {} is empty or not unique after normalization",
                                quoted_token(token.content)),
                    entry_where, "distinct added tokens", quoted_token(pattern));
    }
    (token.normalized ? normalized : raw).emplace_back(std::move(pattern), token);
    result.list.push_back(std::move(token));
  }
  result.raw = AddedTokenFinder(std::move(raw));
  result.normalized = AddedTokenFinder(std::move(normalized));
  return result;
}

// Returns the spelling of each id. Throws Error (kConfig) if two tokens have the same id.
TokenSpellings list_tokens(const Vocabulary& vocabulary, const std::vector<AddedToken>& added,
                           const std::string& where) {
  int32_t max_id = vocabulary.max_id();
  for (const AddedToken& token : added) max_id = std::max(max_id, token.id);
  std::vector<std::string_view> tokens(static_cast<size_t>(max_id + 1));
  std::vector<bool> taken(tokens.size());
  for (const auto& entry : vocabulary.entries()) {
    const auto id = static_cast<size_t>(entry.id);
    if (taken[id]) {
      refuse_format("two tokens share an id", where, "distinct ids",
                    fmt::format("{}, {} and {}", id, quoted_token(tokens[id]),
                                quoted_token(vocabulary.token(entry))));
    }
    taken[id] = true;
    tokens[id] = vocabulary.token(entry);
  }
  for (const AddedToken& token : added) tokens[static_cast<size_t>(token.id)] = token.content;
  return TokenSpellings(tokens);
}

void check_special_ids(const SpecialTokens& special, size_t vocab_size, const std::string& where) {
  for (const auto* side : {&special.prefix, &special.suffix}) {
    for (const int32_t id : *side) {
      if (static_cast<size_t>(id) >= vocab_size) {
        refuse_format("the post-processor uses an id outside of the vocabulary", where,
                      fmt::format("below {}", vocab_size), fmt::to_string(id));
      }
    }
  }
}

std::string part_type(const Json* part) {
  return part == nullptr ? std::string("none") : part->value("type", "");
}

PipelineParts build_parts(const Reader& reader, const std::string& where) {
  PipelineParts parts;
  if (const Json* json = reader.part("normalizer"); json != nullptr) {
    parts.normalizer = load_normalizer({*json, where + ": normalizer"});
  }
  bool byte_level = false;
  if (const Json* json = reader.part("pre_tokenizer"); json != nullptr) {
    LoadedPreTokenizer loaded =
        load_pre_tokenizer({*json, where + ": pre_tokenizer"}, model_takes_bytes(reader.model()));
    parts.pre_tokenizer = std::move(loaded.pre_tokenizer);
    byte_level = loaded.byte_level;
  }
  parts.model = build_model(reader.model(), byte_level, where + ": model");
  AddedTokens added = load_added_tokens(reader.part("added_tokens"), parts.normalizer.get(),
                                        reader.model().vocabulary, where);
  parts.raw_tokens = std::move(added.raw);
  parts.normalized_tokens = std::move(added.normalized);
  parts.tokens = list_tokens(reader.model().vocabulary, added.list, where);
  if (const Json* json = reader.part("post_processor"); json != nullptr) {
    parts.special_tokens = load_post_processor({*json, where + ": post_processor"});
    check_special_ids(parts.special_tokens, parts.tokens.size(), where + ": post_processor");
  }
  parts.description = fmt::format(
      "{}, {} tokens, normalizer {}, pre-tokenizer {}, post-processor {}", parts.model->name(),
      parts.tokens.size(), part_type(reader.part("normalizer")),
      part_type(reader.part("pre_tokenizer")), part_type(reader.part("post_processor")));
  return parts;
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer_json(std::string text, const std::string& where) {
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  Reader reader(where);
  reader.read(text);
  // Frees the text before the model is built, because it is the largest part of the memory that
  // loading needs.
  text = {};
  static const std::set<std::string, std::less<>> kKnown = {
      "version",    "truncation",    "padding",        "added_tokens",
      "normalizer", "pre_tokenizer", "post_processor", "decoder"};
  for (const auto& [key, value] : reader.parts()) {
    if (!kKnown.contains(key))
      refuse_unsupported(
          fmt::format("key {} is not supported", quoted_token(key)), where,
          {.expected = fmt::format("only the keys: model, {}", fmt::join(kKnown, ", ")),
           .found = quoted_token(key)});
  }
  if (const Json* version = reader.part("version"); version != nullptr && *version != "1.0") {
    refuse_unsupported(
        fmt::format("tokenizer.json version {} is not supported", preview(version->dump())), where,
        {.expected = "version \"1.0\"", .found = preview(version->dump())});
  }
  return make_pipeline(build_parts(reader, where));
}

}  // namespace encode
