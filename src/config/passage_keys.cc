// The keys of the passages that the texts are cut into.
#include <string>

#include "base/names.h"
#include "config/key_tables.h"
#include "config/key_values.h"

namespace encode {
namespace {

constexpr const char* kSection = "semantic.passages";

PassageOptions& passages_of(StreamConfig& stream) { return stream.result.passages; }

std::vector<KeySpec> cut_keys() {
  return {
      {.sections = {kSection},
       .name = "max_tokens",
       .value = max_length_value(),
       .default_text = "null",
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 92,
                  .name = "--passage-tokens",
                  .help = "Cut every text into passages of at most this number of tokens, prompt "
                          "and special tokens included, each with a vector of its own"}},
       .help =
           "The most tokens of a passage, with the prompt and the special tokens; null: as many "
           "as a row may have. OUT.passages.npy has the place of every passage.",
       .set_stream = [](StreamConfig& s,
                        const Value& v) { passages_of(s).max_tokens = optional<int64_t>(v); }},
      {.sections = {kSection},
       .name = "overlap",
       .value = integer_of(0, 1 << 20),
       .default_text = default_of(PassageOptions().overlap),
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 94,
                  .name = "--passage-overlap",
                  .help = "Most tokens at the end of a passage that the next one repeats"}},
       .help = "The most tokens at the end of a passage that the next one repeats.",
       .set_stream = [](StreamConfig& s, const Value& v) { passages_of(s).overlap = integer(v); }},
      {.sections = {kSection},
       .name = "by",
       .value = or_null(choice_of(names_of(kPassageUnits))),
       .default_text = "null",
       .flags = {{.group = FlagGroup::kVectors,
                  .place = 93,
                  .name = "--passages-by",
                  .help = "Cut every text into passages that end where such a unit ends, if "
                          "possible (default with --passage-tokens: sentence)"}},
       .help = "What a passage is made of, as long as it fits; null: sentence. token: a passage "
               "ends after white space, wherever that is.",
       .set_stream =
           [](StreamConfig& s, const Value& v) {
             passages_of(s).by.reset();
             if (const auto name = optional<std::string>(v))
               passages_of(s).by = value_of(kPassageUnits, *name);
           }},
  };
}

KeySpec row_vector_key() {
  return {.sections = {kSection},
          .name = "row_vector",
          .value = choice_of(names_of(kRowVectors)),
          .default_text = default_of(kRowVectors, PassageOptions().row_vector),
          .flags = {{.group = FlagGroup::kVectors,
                     .place = 96,
                     .name = "--row-vector",
                     .help = "With passages: a text has the vectors of its passages (none), or one "
                             "vector, their mean scaled to length 1 (mean)"}},
          .help =
              "What the matrix has for a text. none: the vectors of its passages; mean: one "
              "vector, which is the mean of these vectors, scaled to length 1.",
          .set_stream = [](StreamConfig& s, const Value& v) {
            passages_of(s).row_vector = value_of(kRowVectors, text(v));
          }};
}

}  // namespace

std::vector<KeySpec> passage_keys() { return joined({cut_keys(), {row_vector_key()}}); }

}  // namespace encode
