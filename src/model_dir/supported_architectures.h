// Finds the entry of an architecture. Any thread may call these functions. They throw no Error.
#pragma once

#include <string_view>

#include "encode/error.h"

#include "model_dir/architecture_table.h"

namespace encode {

// Returns nullptr if there is no architecture of this name. The entry lives as long as the process.
const ArchitectureEntry* find_architecture(std::string_view model_type);

constexpr const ArchitectureEntry& entry_of(Architecture key) {
  return kArchitectures[static_cast<size_t>(key)];
}

// Returns the model_type of a class such as "BertModel" or "XLMRobertaForMaskedLM", or "" if the
// class is not known or belongs to several architectures. The result lives as long as the process.
std::string_view model_type_of_class(std::string_view class_name);

// Makes the Error kConfig "model.type" for a model_type that is not in the table. `config_path` is
// the config.json that has it.
Error unsupported_architecture(std::string_view model_type, const std::string& config_path);

}  // namespace encode
