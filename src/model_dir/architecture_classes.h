// The model_type that belongs to a class of transformers.
#pragma once

#include <string_view>

namespace encode {

// Returns the model_type of a class such as "BertModel" or "XLMRobertaForMaskedLM", or "" if it is
// not known or belongs to several. The result lives as long as the process.
std::string_view model_type_of_class(std::string_view class_name);

}  // namespace encode
