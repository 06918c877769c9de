#include "tokenizer/load/special_token_files.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <set>
#include <string_view>

#include <simdjson.h>

#include "base/units.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

constexpr JsonLimits kLimits{.max_bytes = 16 << 20, .max_depth = 32};
constexpr const char* kSpecialTokensMap = "special_tokens_map.json";
constexpr const char* kAddedTokens = "added_tokens.json";
constexpr const char* kDecoder = "added_tokens_decoder";
constexpr const char* kAdditional = "additional_special_tokens";
constexpr const char* kExtra = "extra_special_tokens";

bool is_named(std::string_view key) {
  return std::ranges::find(kSpecialTokenKeys, key) != std::end(kSpecialTokenKeys);
}

// Reads the object of an AddedToken. `always_special`: the token is special even if the object
// states otherwise.
StatedToken read_flags(const Json& json, const std::string& where, bool always_special = false) {
  const JsonFields fields(json, where, kTokenizerFormat);
  static const std::set<std::string, std::less<>> kFlags = {"single_word", "lstrip", "rstrip",
                                                            "normalized", "special"};
  for (const auto& [key, value] : json.items()) {
    const bool known = key == "content" || key == "id" || key == "__type" || kFlags.contains(key);
    if (!known || (kFlags.contains(key) && !value.is_boolean())) {
      refuse_format("malformed token", where, "content and the flags of an AddedToken",
                    fmt::format("{}: {}", quoted_token(key), preview(value.dump())));
    }
  }
  StatedToken stated;
  stated.has_flags = true;
  stated.token.content = fields.string("content");
  stated.token.single_word = fields.boolean_or("single_word", false);
  stated.token.lstrip = fields.boolean_or("lstrip", false);
  stated.token.rstrip = fields.boolean_or("rstrip", false);
  stated.token.special = always_special || fields.boolean_or("special", false);
  stated.has_normalized = fields.has("normalized");
  stated.token.normalized = fields.boolean_or("normalized", !stated.token.special);
  return stated;
}

// Reads a token of tokenizer_config.json: a text, or an object that is marked as AddedToken.
StatedToken read_config_token(const Json& json, const std::string& where) {
  if (json.is_string()) return text_token(json.get<std::string>());
  if (json.is_object() && json.value("__type", Json()) == "AddedToken")
    return read_flags(json, where);
  refuse_format("malformed special token", where, "a text or an AddedToken", preview(json.dump()));
}

int32_t read_id(const std::string& text, const std::string& where) {
  int32_t id = -1;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, id);
  if (read.ec != std::errc() || read.ptr != end || id < 0 || id >= kMaxVocabSize)
    refuse_format("bad id of an added token", where, "an id", quoted_token(text));
  return id;
}

class StatedTokenReader {
  using Tokens = std::vector<StatedToken>;

 public:
  StatedTokenReader(const TokenizerSource& source, const Json& config, bool as_version_5)
      : source_(source),
        config_(config),
        as_version_5_(as_version_5),
        where_(source.path_of(kTokenizerConfigFile)) {}

  StatedTokens read(const std::vector<AddedToken>& added) {
    read_config();
    if (const auto decoder = config_.find(kDecoder); decoder != config_.end()) {
      read_decoder(*decoder);
    } else {
      read_special_tokens_map();
      read_added_tokens_file();
      for (const AddedToken& token : added) add(token.id, token);
    }
    use_flags_of_added_tokens();
    return std::move(result_);
  }

 private:
  void read_config() {
    for (const auto& [key, value] : config_.items()) {
      const std::string where = fmt::format("{}: {}", where_, preview(key));
      if (is_named(key)) {
        result_.named[key] = std::nullopt;
        if (!value.is_null()) result_.named[key] = read_config_token(value, where);
      } else if (key == kAdditional) {
        result_.additional = value.is_null() ? Tokens() : read_list(value, where);
      } else if (key == kExtra && !value.is_null()) {
        read_extra(value, where);
      }
    }
  }

  static std::vector<StatedToken> read_list(const Json& list, const std::string& where) {
    if (!list.is_array())
      refuse_format("malformed special tokens", where, "a list of tokens", preview(list.dump()));
    std::vector<StatedToken> tokens;
    for (const Json& token : list) tokens.push_back(read_config_token(token, where));
    return tokens;
  }

  // transformers 4 writes an object of named tokens here, and transformers 5 a list.
  void read_extra(const Json& value, const std::string& where) {
    if (as_version_5_) result_.additional.reset();
    if (value.is_array()) {
      const std::vector<StatedToken> tokens = read_list(value, where);
      if (tokens.empty()) return;
      if (!result_.additional) result_.additional.emplace();
      result_.additional->insert(result_.additional->end(), tokens.begin(), tokens.end());
      return;
    }
    if (!value.is_object())
      refuse_format("malformed special tokens", where, "an object or a list",
                    preview(value.dump()));
    // Parses the file again, because `config_` has its keys sorted, but the order in the file
    // decides the ids of new tokens.
    simdjson::dom::parser parser;
    const simdjson::dom::object ordered =
        parser.parse(*source_.find(kTokenizerConfigFile))[kExtra].get_object();
    for (const auto [name, token] : ordered)
      result_.extra.push_back(read_config_token(value.at(std::string(name)), where));
  }

  void read_decoder(const Json& decoder) {
    const std::string where = fmt::format("{}: {}", where_, kDecoder);
    if (!decoder.is_object())
      refuse_format("malformed added tokens", where, "an object", preview(decoder.dump()));
    for (const auto& [id, token] : decoder.items())
      add(read_id(id, where), read_flags(token, where).token);
  }

  void add(int32_t id, AddedToken token) {
    flags_[token.content] = token;
    result_.added[id] = std::move(token);
  }

  void read_special_tokens_map() {
    const std::string* text = source_.find(kSpecialTokensMap);
    if (text == nullptr) return;
    const std::string file = source_.path_of(kSpecialTokensMap);
    const Json map = parse_json(*text, kLimits, file, kTokenizerFormat);
    const JsonFields fields(map, file, kTokenizerFormat);
    for (const auto& [key, value] : map.items()) {
      const std::string where = fmt::format("{}: {}", file, preview(key));
      if (is_named(key)) {
        result_.named[key] = std::nullopt;
        if (!value.is_null()) result_.named[key] = read_map_token(value, where);
      } else if (key == kAdditional && takes_additional_of_map()) {
        merge_additional(value, where);
      }
    }
  }

  // Returns whether the additional tokens of special_tokens_map.json count. In transformers 5 they
  // count only if tokenizer_config.json has no list of additional or extra tokens.
  bool takes_additional_of_map() const {
    if (!as_version_5_) return true;
    const auto extra = config_.find(kExtra);
    return !config_.contains(kAdditional) && (extra == config_.end() || extra->is_object());
  }

  static StatedToken read_map_token(const Json& value, const std::string& where) {
    if (value.is_string()) return text_token(value.get<std::string>());
    return read_flags(value, where, true);
  }

  void merge_additional(const Json& value, const std::string& where) {
    if (value.is_null()) {
      result_.additional.emplace();
      return;
    }
    if (!value.is_array())
      refuse_format("malformed special tokens", where, "a list of tokens", preview(value.dump()));
    std::vector<StatedToken> tokens = result_.additional.value_or(Tokens());
    for (const Json& item : value) {
      StatedToken token = read_map_token(item, where);
      const bool known = std::ranges::any_of(tokens, [&](const StatedToken& other) {
        return other.has_flags == token.has_flags && same_token(other.token, token.token);
      });
      if (!known) tokens.push_back(std::move(token));
    }
    result_.additional = std::move(tokens);
  }

  bool is_special(const std::string& content) const {
    const auto has_content = [&](const StatedToken& token) {
      return token.token.content == content;
    };
    return std::ranges::any_of(
               result_.named,
               [&](const auto& item) { return item.second && has_content(*item.second); }) ||
           (result_.additional && std::ranges::any_of(*result_.additional, has_content));
  }

  void read_added_tokens_file() {
    const std::string* text = source_.find(kAddedTokens);
    if (text == nullptr) return;
    const std::string where = source_.path_of(kAddedTokens);
    const Json map = parse_json(*text, kLimits, where, kTokenizerFormat);
    const JsonFields fields(map, where, kTokenizerFormat);
    for (const auto& [content, id] : map.items()) {
      AddedToken token;
      token.content = content;
      token.special = is_special(content);
      token.normalized = !token.special;
      const auto number = static_cast<int32_t>(fields.integer(content, 0, kMaxVocabSize - 1));
      result_.added[number] = std::move(token);
    }
  }

  // A special token that is also an added token has the flags of the added token.
  void use_flags_of_added_tokens() {
    for (auto& [key, stated] : result_.named) {
      if (!stated) continue;
      const auto found = flags_.find(stated->token.content);
      if (found != flags_.end())
        *stated = {.token = found->second, .has_flags = true, .has_normalized = true};
    }
  }

  const TokenizerSource& source_;
  const Json& config_;
  bool as_version_5_;
  std::string where_;
  StatedTokens result_;
  std::map<std::string, AddedToken> flags_;
};

}  // namespace

StatedToken text_token(std::string_view content) {
  StatedToken stated;
  stated.token.content = content;
  return stated;
}

std::vector<StatedToken> extra_id_tokens(const std::vector<StatedToken>& stated, int64_t count,
                                         const std::string& where) {
  const int64_t found = std::ranges::count_if(stated, [](const StatedToken& token) {
    return token.token.content.find("<extra_id_") != std::string::npos;
  });
  if (found > 0 && count > 0 && found != count)
    refuse_format("additional_special_tokens has another number of <extra_id_> than extra_ids",
                  where, fmt::to_string(count), fmt::to_string(found));
  std::vector<StatedToken> tokens;
  for (int64_t i = 0; found == 0 && i < count; ++i)
    tokens.push_back(text_token(fmt::format("<extra_id_{}>", i)));
  return tokens;
}

StatedTokens read_stated_tokens(const TokenizerSource& source, const Json& config,
                                const std::vector<AddedToken>& added, bool as_version_5) {
  return StatedTokenReader(source, config, as_version_5).read(added);
}

}  // namespace encode
