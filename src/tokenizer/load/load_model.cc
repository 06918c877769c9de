#include <array>
#include <fmt/format.h>
#include <string>

#include "base/units.h"
#include "tokenizer/load/loaders.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/models/word_models.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

int32_t find_unk(const ModelJson& json, const Component& component) {
  const std::string token = component.fields().string("unk_token");
  const int32_t id = json.vocabulary.find(token);
  if (id < 0)
    component.fields().refuse("unk_token", "a token of the vocabulary", quoted_token(token));
  return id;
}

std::unique_ptr<TokenizerModel> build_wordpiece(const ModelJson& json, const Component& component) {
  component.allow({"unk_token", "continuing_subword_prefix", "max_input_chars_per_word"});
  const JsonFields& fields = component.fields();
  WordPieceOptions options;
  options.unk_id = find_unk(json, component);
  options.continuing_subword_prefix = fields.string("continuing_subword_prefix");
  options.max_input_chars_per_word = fields.integer("max_input_chars_per_word", 0, kMaxWordChars);
  return make_wordpiece(json.vocabulary, options);
}

std::unique_ptr<TokenizerModel> build_word_level(const ModelJson& json,
                                                 const Component& component) {
  component.allow({"unk_token"});
  return make_word_level(json.vocabulary, find_unk(json, component));
}

std::unique_ptr<TokenizerModel> build_unigram(const ModelJson& json, const Component& component) {
  component.allow({"unk_id", "byte_fallback"});
  if (json.scores.size() != json.vocabulary.size() || json.scores.empty()) {
    refuse_format("bad vocabulary of a Unigram model", component.where(),
                  "a list of [token, score]", "another form of list, or an empty list");
  }
  for (const auto& entry : json.vocabulary.entries()) {
    if (entry.size > kMaxSearchedTokenBytes) {
      refuse_format("a token of a Unigram model is too long", component.where(),
                    fmt::format("at most {} bytes", kMaxSearchedTokenBytes),
                    quoted_token(json.vocabulary.token(entry)));
    }
  }
  UnigramOptions options;
  options.unk_id = static_cast<int32_t>(
      component.fields().integer("unk_id", 0, static_cast<int64_t>(json.scores.size()) - 1));
  options.byte_fallback = component.fields().boolean_or("byte_fallback", false);
  return make_unigram(json.vocabulary, json.scores, options);
}

std::unique_ptr<TokenizerModel> build_bpe(const ModelJson& json, const Component& component,
                                          bool byte_level) {
  component.allow({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                   "fuse_unk", "byte_fallback", "ignore_merges"});
  const JsonFields& fields = component.fields();
  if (!json.has_merges) fields.refuse("merges", "an array", "the key is missing");
  if (fields.has("dropout") && fields.number("dropout", 0, 1) > 0) {
    refuse_unsupported("BPE dropout is not supported", component.where(),
                       {.expected = "null or 0",
                        .found = preview(json.options.at("dropout").dump()),
                        .hint = "set dropout to null, because it makes tokens random"});
  }
  BpeOptions options;
  options.byte_level = byte_level;
  if (fields.has("unk_token")) options.unk_id = find_unk(json, component);
  options.fuse_unk = fields.boolean_or("fuse_unk", false);
  options.byte_fallback = fields.boolean_or("byte_fallback", false);
  options.ignore_merges = fields.boolean_or("ignore_merges", false);
  options.continuing_subword_prefix = fields.string_or("continuing_subword_prefix", "");
  options.end_of_word_suffix = fields.string_or("end_of_word_suffix", "");
  const bool affixed =
      !options.continuing_subword_prefix.empty() || !options.end_of_word_suffix.empty();
  if (affixed && (options.byte_fallback || byte_level)) {
    refuse_unsupported("BPE with both bytes and a prefix or suffix of subwords is not supported",
                       component.where(),
                       {.expected = "bytes, or a prefix or suffix of subwords", .found = "both"});
  }
  std::array<int32_t, 256> byte_tokens{};
  const size_t bytes = options.byte_fallback ? find_byte_tokens(json.vocabulary, byte_tokens) : 0;
  if (bytes != 0 && bytes != byte_tokens.size()) {
    refuse_format("byte_fallback with an incomplete set of byte tokens", component.where(),
                  "<0x00> to <0xFF>", fmt::format("{} of 256", bytes));
  }
  return make_bpe(json.vocabulary, json.merges, options);
}

}  // namespace

bool model_takes_bytes(const ModelJson& json) {
  const auto field = [&json](const char* name) { return json.options.value(name, Json()); };
  const auto unset = [](const Json& value) { return value.is_null() || value == ""; };
  return field("type") == "BPE" && unset(field("continuing_subword_prefix")) &&
         unset(field("end_of_word_suffix")) && field("byte_fallback") != true;
}

std::unique_ptr<TokenizerModel> build_model(const ModelJson& json, bool byte_level,
                                            const std::string& where) {
  const Component component(json.options, where);
  if (!json.has_vocabulary)
    component.fields().refuse("vocab", "the vocabulary", "the key is missing");
  if (component.type() == "WordPiece") return build_wordpiece(json, component);
  if (component.type() == "WordLevel") return build_word_level(json, component);
  if (component.type() == "Unigram") return build_unigram(json, component);
  if (component.type() == "BPE") return build_bpe(json, component, byte_level);
  refuse_unsupported(fmt::format("model type {} is not supported", quoted_token(component.type())),
                     where,
                     {.expected = "one of: BPE, Unigram, WordLevel, WordPiece",
                      .found = quoted_token(component.type())});
}

}  // namespace encode
