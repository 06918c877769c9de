#include "base/output_types.h"

#include <vector>

#include "base/units.h"

namespace encode {
namespace {

std::vector<std::string> names_where(bool (*wanted)(OutputType)) {
  std::vector<std::string> names;
  for (const auto& [name, type] : kOutputTypes) {
    if (wanted(type)) names.emplace_back(name);
  }
  return names;
}

}  // namespace

std::string output_types_in_words() { return list_in_words(names_of(kOutputTypes), "or"); }

std::string quantized_types_in_words() {
  return list_in_words(names_where([](OutputType type) {
                         return facts_of(type).quantization != Quantization::kNone;
                       }),
                       "and");
}

std::string ranged_types_in_words() { return list_in_words(names_where(has_ranges), "and"); }

std::string item_types_in_words() {
  std::vector<std::string> words;
  for (const auto& [name, item] : kItemTypes) words.emplace_back(facts_of(item).word);
  return list_in_words(words, "or");
}

}  // namespace encode
