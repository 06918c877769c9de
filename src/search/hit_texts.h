// The texts of the rows that a search has found.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encode/text.h"
#include "encode/vector_rows.h"

#include "search/hit_passages.h"
#include "store/matrix/matrix.h"

namespace encode {

// The text of one row.
struct RowText {
  int64_t row = 0;                      // the row of the input
  std::string utf8 = {};                // the first HitTexts::kMostBytes of the text, valid UTF-8
  int64_t bytes = 0;                    // the size of the whole text
  std::vector<int32_t> input_ids = {};  // the first ids, if the row consists of token ids
  // The values of the row in the columns of a table that come from the input, such as "id": the
  // first kMostBytes of each, or nullopt if the input has no value.
  std::vector<std::optional<std::string>> columns = {};
  // The place of `utf8` in the text of the row, if it is a passage; nullopt: it is the whole text.
  std::optional<PassagePlace> passage = {};
};

// Finds texts by the rows of a matrix. Not thread-safe.
class HitTexts {
 public:
  // The most bytes that are kept of a text, so that the memory is bounded.
  static constexpr int64_t kMostBytes = 16 << 10;

  // `options` and `scan` describe the input of the matrix; both must outlive the object. Reads the
  // ledger of the rows that were set aside if the matrix was made without them. Throws what
  // read_vector_rows() throws.
  HitTexts(const Matrix& matrix, const InputOptions& options, const InputScan& scan);

  // Returns the rows of the matrix whose text is empty, ascending. Reads the input only if the scan
  // has found such a row. Throws what ScannedTexts throws.
  std::vector<int64_t> rows_without_text() const;

  // Returns the texts of some rows of the matrix, by row. Reads the rows in ascending order: each
  // needs a block of the input, and a compressed file is read from its beginning. If the matrix has
  // columns, the input is also read from its beginning. Every text is proved to be the encoded
  // text. Throws what ScannedTexts and ScannedFields throw.
  std::map<int64_t, RowText> read(std::vector<int64_t> rows) const;

  // Returns the names of RowText::columns.
  std::vector<std::string> columns() const;

 private:
  std::map<int64_t, RowText> read_rows(const std::vector<int64_t>& rows) const;
  std::map<int64_t, RowText> read_passages(const std::vector<int64_t>& vectors) const;
  void add_columns(std::map<int64_t, RowText>& texts) const;

  const InputOptions& options_;
  const InputScan& scan_;
  VectorRows input_rows_;                // if the vectors are not those of passages
  std::optional<HitPassages> passages_;  // if they are
  std::vector<TableColumn> columns_;     // those that come from the input
};

}  // namespace encode
