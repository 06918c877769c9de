// The TableWriter of Parquet and of Arrow IPC files.
#pragma once

#include <memory>

#include "columnar/table.h"

namespace encode {

// These functions have the contract of open_table_writer().
std::unique_ptr<TableWriter> make_table_writer(ByteSink& sink, const TableSchema& schema);

}  // namespace encode
