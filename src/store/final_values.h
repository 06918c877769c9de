// The values of a final: float32 rows from wherever they are, in the type that was asked for.
#pragma once

#include <functional>
#include <string>

#include "encode/store.h"

#include "store/ledger.h"
#include "store/offsets.h"
#include "store/quantize.h"

namespace encode {

using RowBlock = std::function<void(std::span<const float>)>;

// Calls its argument with all rows of a matrix, in order, some at a time; may be asked again.
using RowSource = std::function<void(const RowBlock&)>;

struct FinalSource {
  RowSource rows;
  std::function<void(LedgerWriter&)> fill_ledger;    // called once
  std::function<void(OffsetsWriter&)> fill_offsets;  // called once, for token embeddings
};

// Writes and publishes the final at `matrix_path`: in one pass over the rows, in two where ranges
// are taken from them. `manifest` holds identity, stats and devices; the rest is filled in. Throws
// Error: what `source` throws, kData where a value does not fit the type.
void write_final(const FinalSource& source, const std::string& matrix_path, Manifest manifest,
                 const FinalFormat& format);

// What the ranges file beside a final must hold; "" for a type without ranges. Throws as
// Ranges::read().
std::string ranges_bytes_of_file(const FinalFormat& format, int64_t dim);

}  // namespace encode
