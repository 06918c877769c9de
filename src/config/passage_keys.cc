// The keys of the passages that the texts are cut into: for all streams, and for one stream.
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"
#include "config/key_tables.h"
#include "config/key_values.h"

namespace encode {
namespace {

constexpr const char* kNoPassages = "none";

std::string section_in(const char* section) {
  return fmt::format("{}.{}", section, kPassageSection);
}

PassageOptions& passages_of(StreamConfig& stream) { return stream.result.passages; }

ValueSpec unit_value() {
  std::vector<std::string> choices = names_of(kPassageUnits);
  choices.emplace_back(kNoPassages);
  return or_null(choice_of(std::move(choices)));
}

std::vector<KeySpec> cut_keys() {
  return {
      {.sections = {section_in("semantic")},
       .name = "max_tokens",
       .value = max_length_value(),
       .default_text = "null",
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 92,
                  .name = "--passage-tokens",
                  .help = "Cut every text into passages of at most this number of tokens, prompt "
                          "and special tokens included, each with a vector of its own"}},
       .help =
           "The most tokens of a passage, with the prompt and the special tokens unless vectors is "
           "late; null: as many as a row may have, or half of them with late. OUT.passages.npy has "
           "the place of every passage."},
      {.sections = {section_in("semantic")},
       .name = "overlap",
       .value = integer_of(0, 1 << 20),
       .default_text = default_of(PassageOptions().overlap),
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 94,
                  .name = "--passage-overlap",
                  .help = "Most tokens at the end of a passage that the next one repeats"}},
       .help = "The most tokens at the end of a passage that the next one repeats."},
      {.sections = {section_in("semantic")},
       .name = "by",
       .value = unit_value(),
       .default_text = "null",
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 93,
                  .name = "--passages-by",
                  .help = "Cut every text into passages that end where such a unit ends, if "
                          "possible (default with --passage-tokens: sentence); none: cut no text"}},
       .help = "What a passage is made of, as long as it fits; null: sentence. token: a passage "
               "ends after white space, wherever that is. none: no text is cut."},
  };
}

std::vector<KeySpec> form_keys() {
  return {
      {.sections = {section_in("semantic")},
       .name = "field",
       .value = text_of(0),
       .default_text = "",
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 95,
                  .name = "--passage-field",
                  .placeholder = "NAME",
                  .help = "With --text: cut only this field of the template, and put the rest of "
                          "the template around every passage"}},
       .help = "The field of the template text that is cut. The rest of the template stands around "
               "every passage, and its tokens count. Empty: the whole text is cut."},
      {.sections = {section_in("semantic")},
       .name = "vectors",
       .value = choice_of(names_of(kPassageVectors)),
       .default_text = default_of(kPassageVectors, PassageOptions().vectors),
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 97,
                  .name = "--passage-vectors",
                  .help =
                      "With passages: encode each passage alone, or the whole text and pool the "
                      "tokens of each passage (late)"}},
       .help = "alone: each passage is encoded like a row of its own. late: the whole text is "
               "encoded, and the vector of a passage is the mean over its tokens (late chunking), "
               "for models with mean pooling; max_tokens then counts only the tokens of the "
               "passage."},
      {.sections = {section_in("semantic")},
       .name = "row_vector",
       .value = choice_of(names_of(kRowVectors)),
       .default_text = default_of(kRowVectors, PassageOptions().row_vector),
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 96,
                  .name = "--row-vector",
                  .help = "With passages: a text has the vectors of its passages (none), or one "
                          "vector, their mean scaled to length 1 (mean)"}},
       .help = "What the matrix has for a text. none: the vectors of its passages; mean: one "
               "vector, which is the mean of these vectors, scaled to length 1."},
  };
}

// A key of a stream that replaces the key of semantic.passages with the same name.
KeySpec override_of(const KeySpec& key, std::string help,
                    void (*set)(StreamConfig&, const Value&)) {
  const std::string inherits = fmt::format("semantic.{}.{}", kPassageSection, key.name);
  return {.sections = {section_in(kSharedStreams), section_in(kSplitStreams)},
          .name = key.name,
          .value = key.value,
          .default_note = fmt::format("`{}`", inherits),
          .inherits = inherits,
          .no_flag = fmt::format("`{}` applies to every stream", key.flags.front().name),
          .help = std::move(help),
          .set_stream = set};
}

void set_unit(StreamConfig& stream, const Value& value) {
  PassageOptions& passages = passages_of(stream);
  const auto name = optional<std::string>(value);
  passages.none = name == kNoPassages;
  passages.by.reset();
  if (name && !passages.none) passages.by = value_of(kPassageUnits, *name);
}

}  // namespace

std::vector<KeySpec> passage_keys() { return joined({cut_keys(), form_keys()}); }

std::vector<KeySpec> passage_override_keys() {
  const std::vector<KeySpec> cut = cut_keys();
  const std::vector<KeySpec> form = form_keys();
  return {
      override_of(cut[0], "The most tokens of a passage of this stream.",
                  [](StreamConfig& s, const Value& v) {
                    passages_of(s).max_tokens = optional<int64_t>(v);
                  }),
      override_of(cut[1], "The most tokens that a passage of this stream repeats.",
                  [](StreamConfig& s, const Value& v) { passages_of(s).overlap = integer(v); }),
      override_of(cut[2], "What a passage of this stream is made of; none: its texts are not cut.",
                  set_unit),
      override_of(form[0], "The field of the template of this stream that is cut.",
                  [](StreamConfig& s, const Value& v) { s.input.passage_field = text(v); }),
      override_of(form[1], "How the vector of a passage of this stream is made.",
                  [](StreamConfig& s, const Value& v) {
                    passages_of(s).vectors = value_of(kPassageVectors, text(v));
                  }),
      override_of(form[2], "What the matrix of this stream has for a text.",
                  [](StreamConfig& s, const Value& v) {
                    passages_of(s).row_vector = value_of(kRowVectors, text(v));
                  }),
  };
}

}  // namespace encode
