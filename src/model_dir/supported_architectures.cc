#include "model_dir/supported_architectures.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/units.h"

namespace encode {
namespace {

// Classes of architectures without an entry. They are listed so that a message can name their
// model_type.
constexpr auto kOtherClasses = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"BigBird", "big_bird"}, {"MobileBert", "mobilebert"}, {"XLM", "xlm"}});

// Returns true if the name of a class is `stem` with the ending of a class for inference or
// training.
bool is_class_of(std::string_view class_name, std::string_view stem) {
  if (stem.empty() || !class_name.starts_with(stem)) return false;
  const std::string_view ending = class_name.substr(stem.size());
  return ending == "Model" || ending == "EncoderModel" || ending == "LMHeadModel" ||
         ending.starts_with("For");
}

}  // namespace

const ArchitectureEntry* find_architecture(std::string_view model_type) {
  const auto* const found =
      std::ranges::find(kArchitectures, model_type, &ArchitectureEntry::model_type);
  return found != kArchitectures.end() ? found : nullptr;
}

std::string_view model_type_of_class(std::string_view class_name) {
  // Gemma3ForCausalLM is the language model of Gemma 3. Gemma3Model also reads images.
  if (class_name == "Gemma3ForCausalLM") return entry_of(Architecture::kGemma3Text).model_type;
  for (const ArchitectureEntry& entry : kArchitectures) {
    if (is_class_of(class_name, entry.class_name)) return entry.model_type;
  }
  for (const auto& [stem, model_type] : kOtherClasses) {
    if (is_class_of(class_name, stem)) return model_type;
  }
  return {};
}

Error unsupported_architecture(std::string_view model_type, const std::string& config_path) {
  std::vector<std::string> known;
  for (const ArchitectureEntry& entry : kArchitectures) known.emplace_back(entry.model_type);
  const std::string near = nearest(std::string(model_type), known.data(), known.size());
  return Error({.code = "model.type",
                .what = "encode does not support this architecture",
                .where = config_path + ": model_type",
                .expected = one_of(known, std::string(model_type)),
                .found = fmt::format("'{}'", preview(model_type)),
                .hint = fmt::format("{}'encode models' lists them; docs/adding-a-model.md shows "
                                    "how to add one",
                                    near.empty() ? "" : fmt::format("did you mean '{}'? ", near))});
}

}  // namespace encode
