#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <utility>

#include <simdjson.h>

#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"
#include "tokenizer/load/merge_loader.h"
#include "tokenizer/load/tokenizer_document.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

namespace dom = simdjson::dom;

constexpr JsonLimits kDocumentLimits{.max_bytes = 64 << 20, .max_depth = 64};

// Reads a tokenizer.json. The model becomes a ModelJson, and each other field becomes a JSON
// document of its own.
class DocumentReader {
 public:
  explicit DocumentReader(std::string where) : where_(std::move(where)) {}

  // Keeps no view of `text` after it returns. SIMDJSON_PADDING bytes after the end of `text` must
  // be readable, because simdjson may read them.
  void read(std::string_view text) {
    dom::parser parser(static_cast<size_t>(kDocumentLimits.max_bytes));
    try {
      if (parser.allocate(text.size() + 1, kDocumentLimits.max_depth) != simdjson::SUCCESS)
        throw std::bad_alloc();
      for (const auto [name, value] : parser.parse(text.data(), text.size(), false).get_object()) {
        const std::string key(name);
        place_ = key;
        if (parts_.contains(key) || (key == "model" && has_model_))
          refuse_format("duplicate key", where_, "each key once", quoted_token(key));
        if (key == "model") {
          read_model(value);
        } else {
          parts_.emplace(key, parse_small(value, key));
        }
      }
    } catch (const simdjson::simdjson_error& error) {
      refuse_document(text, error);
    }
    if (!has_model_)
      refuse_format("the file has no model", where_, "a key 'model'", "other keys only");
  }

  // Call it once, after read().
  TokenizerDocument take() { return {std::move(parts_), std::move(model_), std::move(where_)}; }

 private:
  // Refuses a text that is not JSON, or a value at place_ that has another type than expected.
  [[noreturn]] void refuse_document(std::string_view text,
                                    const simdjson::simdjson_error& error) const {
    if (error.error() == simdjson::MEMALLOC) throw std::bad_alloc();
    if (const auto fault = find_json_fault(text)) {
      refuse_format("malformed JSON", where_, "JSON (RFC 8259)",
                    fmt::format("{}, at byte {}", fault->reason, fault->offset));
    }
    if (error.error() == simdjson::DEPTH_ERROR) {
      refuse_format("the JSON is nested too deeply", where_,
                    fmt::format("at most {} levels", kDocumentLimits.max_depth), "more levels");
    }
    refuse_format("a value has another type than in a tokenizer.json",
                  place_.empty() ? where_ : fmt::format("{}: {}", where_, preview(place_)),
                  "the type that Hugging Face tokenizers writes",
                  error.error() == simdjson::INCORRECT_TYPE ? "another type" : error.what());
  }

  Json parse_small(dom::element value, const std::string& key) {
    return parse_json(simdjson::minify(value), kDocumentLimits, where_ + ": " + key,
                      kTokenizerFormat);
  }

  void read_model(dom::object object) {
    has_model_ = true;
    dom::element merges;
    for (const auto [name, value] : object) {
      const std::string key(name);
      place_ = "model." + key;
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
    if (!model_.options.contains("type")) add_model_type();
    place_ = "model.merges";
    if (model_.has_merges) read_merges(merges);  // read last, because it uses the other fields
  }

  // Files of `tokenizers` before 0.9 state no type. As in that library, the other keys tell the
  // type.
  void add_model_type() {
    const auto has = [this](const char* key) { return model_.options.contains(key); };
    const char* type = nullptr;
    if (model_.has_vocabulary && model_.has_merges) {
      type = "BPE";
    } else if (has("continuing_subword_prefix") && has("max_input_chars_per_word") &&
               has("unk_token")) {
      type = "WordPiece";
    } else if (has("unk_token")) {
      type = "WordLevel";
    } else if (has("unk_id")) {
      type = "Unigram";
    }
    if (type != nullptr) model_.options["type"] = type;
  }

  void add_token(std::string_view token, int64_t id) {
    if (id < 0 || id >= kMaxVocabSize) {
      refuse_format("bad entry of the vocabulary", where_,
                    fmt::format("an id from 0 to {}", kMaxVocabSize - 1),
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
      for (const auto [token, id] : tokens) {
        int64_t number = 0;
        if (id.get_int64().get(number) != simdjson::SUCCESS) {
          refuse_format(
              "bad entry of the vocabulary", where_ + ": model.vocab", "an integer",
              fmt::format("{} for {}", preview(simdjson::minify(id)), quoted_token(token)));
        }
        add_token(token, number);
      }
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
      if (++count > kMaxVocabSize) {
        refuse_format("too many merges", where_, fmt::format("at most {}", kMaxVocabSize),
                      fmt::format("more than {}", kMaxVocabSize));
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
  std::string place_;  // the key that is being read: "model.vocab"
  std::map<std::string, Json> parts_;
  ModelJson model_;
  bool has_model_ = false;
  size_t vocabulary_bytes_ = 0;
};

void check_keys(const TokenizerDocument& document) {
  static const std::set<std::string, std::less<>> kKnown = {
      "version",    "truncation",    "padding",        "added_tokens",
      "normalizer", "pre_tokenizer", "post_processor", "decoder"};
  for (const auto& [key, value] : document.parts) {
    if (!kKnown.contains(key)) {
      refuse_unsupported(
          fmt::format("key {} is not supported", quoted_token(key)), document.where,
          {.expected = fmt::format("only the keys: model, {}", fmt::join(kKnown, ", ")),
           .found = quoted_token(key)});
    }
  }
  if (const Json* version = document.part("version"); version != nullptr && *version != "1.0") {
    refuse_unsupported(
        fmt::format("tokenizer.json version {} is not supported", preview(version->dump())),
        document.where, {.expected = "version \"1.0\"", .found = preview(version->dump())});
  }
}

}  // namespace

TokenizerDocument read_tokenizer_json(std::string text, const std::string& where) {
  std::string padded = std::move(text);  // freed when this function returns
  padded.reserve(padded.size() + simdjson::SIMDJSON_PADDING);
  DocumentReader reader(where);
  std::string_view json = padded;
  if (json.starts_with(kByteOrderMark)) json.remove_prefix(kByteOrderMark.size());
  reader.read(json);
  TokenizerDocument document = reader.take();
  check_keys(document);
  return document;
}

}  // namespace encode
