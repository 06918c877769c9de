// Writes a final matrix: reads float32 rows and converts them to the output type. Any thread may
// call these functions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "encode/store.h"

#include "store/ledger.h"
#include "store/offsets.h"
#include "store/passage_file.h"
#include "store/quantize.h"
#include "store/source_rows.h"

namespace encode {

// A function that takes a block of whole rows, row-major.
using RowBlock = std::function<void(std::span<const float>)>;

// A function that passes all rows of a matrix to its argument, in order, one block at a time. It
// may be called more than once.
using RowSource = std::function<void(const RowBlock&)>;

struct FinalSource {
  RowSource rows;
  std::function<void(LedgerWriter&)> fill_ledger;      // called once
  std::function<void(OffsetsWriter&)> fill_offsets;    // called once if has_offsets()
  std::function<void(PassagesWriter&)> fill_passages;  // called once for a matrix of passages
  std::vector<SetAsideRow> set_aside;                  // Manifest::quarantine says what they become
  // For a table, and for the source rows of a stream with a filter; called once for each.
  ColumnOpener columns = {};
  bool columns_of_vectors = false;  // as in Conversion
  // The ranges of a larger matrix that these rows belong to; null: those of format.ranges_file or,
  // without such a file, of these rows.
  const Ranges* ranges = nullptr;
  // Called once for a stream with a filter. Empty: the source rows are read with `columns`.
  std::function<void(SourceRowsWriter&)> fill_source_rows = {};
};

// Passes the rows of a float32 final matrix to `block`. Throws Error kData "store.damaged" if the
// matrix does not have the hash in the manifest, and what open_matrix_reader() throws.
void read_final_rows(const std::string& matrix_path, const Manifest& manifest,
                     const RowBlock& block);

// Writes and publishes the final matrix at `matrix_path`. It reads the rows once, or twice if it
// has to compute the ranges of all rows first. `manifest` holds the identity, the stats and the
// origins; the function fills in the other fields. Throws what `source` throws, and Error: kData if
// a value does not fit the type, kConfig "store.ranges". Also throws what publish_final() throws.
void write_final(const FinalSource& source, const std::string& matrix_path, Manifest manifest,
                 const FinalFormat& format);

// Returns the content that the ranges file beside a final matrix must have if the user gave the
// ranges in format.ranges_file. Returns "" for a type without ranges. Throws what Ranges::read()
// throws.
std::string ranges_bytes_of_file(const FinalFormat& format, int64_t dim);

}  // namespace encode
