// The VectorReader of Parquet and of Arrow IPC files.
#pragma once

#include <memory>
#include <string>

#include "columnar/table.h"

namespace encode {

// Has the contract of open_vectors().
std::unique_ptr<VectorReader> make_vector_reader(ByteFile& file, bool parquet,
                                                 const std::string& path);

}  // namespace encode
