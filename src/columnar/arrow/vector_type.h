// The types of Arrow for vectors.
#pragma once

#include <arrow/type_fwd.h>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/output_types.h"

namespace encode {

// Returns the type of a list of `items` items.
std::shared_ptr<arrow::DataType> vector_type(ItemType item, int64_t items);
// Returns the type of the items of such a list, and nullopt for every other type.
std::optional<ItemType> item_type_of(const arrow::DataType& type);

}  // namespace encode
