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
  // `matrix` has StreamIdentity::passages. Throws what read_parts_list() throws.
  explicit HitPassages(const Matrix& matrix);

  // `vectors` must be ascending. Throws what read_passages() throws.
  std::vector<PassagePlace> places(std::span<const int64_t> vectors) const;
  // Returns the vectors whose passage has no text, ascending. Throws what PassageReader throws.
  std::vector<int64_t> without_text() const;

 private:
  struct File {
    std::string path;
    int64_t vectors = 0;
  };
  std::vector<File> files_;  // in the order of the vectors
};

}  // namespace encode
