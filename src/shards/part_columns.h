// The columns of a part that is a table. Any thread may call these functions.
#pragma once

#include <string>

#include "encode/store.h"

namespace encode {

// Returns true if a column of the final matrix comes from the input. It throws no Error.
bool has_input_columns(const FinalFormat& format);

// Returns a function that reads these columns from the table `path`, a part with the manifest
// `manifest`. So a part can be written again without the inputs. The columns of a part of passages
// are those of its vectors. Rows that another table does not have get no values. The function
// throws what open_column() and read_vector_rows() throw.
ColumnOpener columns_of_part(const std::string& path, const Manifest& manifest);

}  // namespace encode
