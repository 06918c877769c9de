// The types of Arrow for vectors.
#pragma once

#include <arrow/type_fwd.h>
#include <cstdint>
#include <memory>
#include <string>

namespace encode {

// Returns the type of a list of `items` numbers of the type `descr` ("<f4", "<f2", "|i1", "|u1").
std::shared_ptr<arrow::DataType> vector_type(const std::string& descr, int64_t items);
// Returns the type of the items of such a list, and "" for every other type.
std::string descr_of(const arrow::DataType& type);

}  // namespace encode
