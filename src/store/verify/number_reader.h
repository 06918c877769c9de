// Reads the numbers of a matrix from the first row to the last: of a matrix file, or of the parts
// in a list (x.parts.json). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "columnar/matrix_reader.h"
#include "store/matrix/stored_values.h"

namespace encode {

class NumberReader {
 public:
  // Throws what open_matrix_reader(), StoredValues::of_file() and read_parts_list() throw.
  explicit NumberReader(const std::string& path);

  OutputType type() const { return type_; }
  int64_t rows() const { return rows_; }
  int64_t dim() const { return dim_; }
  std::string shape() const;

  // Returns the next rows, exactly `max_rows` of them while there are so many, or nothing at the
  // end. The view is valid until the next call. Throws what the constructor and MatrixReader throw,
  // and Error kData "store.damaged" if a part has another number of rows than the list says.
  std::span<const float> next(int64_t max_rows);

 private:
  struct File {
    std::string path;
    int64_t rows = -1;  // that a list says; -1: no list names the file
  };
  void open(const File& file);

  std::vector<File> files_;
  size_t next_file_ = 0;
  std::unique_ptr<MatrixReader> reader_;  // of a file; null if the next one is not open yet
  std::optional<StoredValues> values_;    // of this file
  OutputType type_ = OutputType::kFloat32;
  int64_t rows_ = 0;
  int64_t dim_ = 0;
  std::vector<float> buffer_;
  std::vector<float> joined_;  // rows of several files
};

}  // namespace encode
