// The places of the passages that the vectors of a matrix belong to.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "encode/store.h"

#include "store/matrix/matrix.h"

namespace encode {

// Finds passages by the vectors of a matrix, or of a merged matrix. Not thread-safe.
class HitPassages {
 public:
  // `matrix` has StreamIdentity::passages. Reads the files of passages and compares their hashes.
  // Throws what read_parts_list() and read_manifest() throw, and Error kData "store.damaged" for
  // another file than the one that was written with the matrix.
  explicit HitPassages(const Matrix& matrix);

  // `vectors` must be ascending. Throws what read_passages() throws.
  std::vector<PassagePlace> places(std::span<const int64_t> vectors) const;
  // Returns the vectors of the passages of these rows, ascending, as `rows` must be. Throws what
  // PassageReader throws.
  std::vector<int64_t> vectors_of(std::span<const int64_t> rows) const;

 private:
  struct File {
    std::string path;
    int64_t vectors = 0;
  };
  void add_file(const std::string& matrix_path, const Manifest& manifest, int64_t vectors);

  std::vector<File> files_;  // in the order of the vectors
};

}  // namespace encode
