// A matrix in memory.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "base/output_types.h"
#include "store/matrix/matrix.h"

namespace encode::testing {

class ValuesMatrix final : public Matrix {
 public:
  // `stored` has the bytes of the rows as a file has them.
  ValuesMatrix(OutputType type, int64_t dim, std::vector<std::byte> stored)
      : Matrix("values.npy", manifest_of(type, dim, stored)), stored_(std::move(stored)) {}

  static ValuesMatrix of_floats(int64_t dim, const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return {OutputType::kFloat32, dim, std::move(bytes)};
  }

  // Copies the rows, as a matrix does that is not mapped into memory.
  std::span<const std::byte> stored(RowRange rows, MatrixBuffer& buffer) const override {
    buffer.stored.assign(stored_.begin() + rows.begin * row_bytes(),
                         stored_.begin() + rows.end * row_bytes());
    return buffer.stored;
  }

 private:
  static Manifest manifest_of(OutputType type, int64_t dim, const std::vector<std::byte>& stored) {
    Manifest manifest;
    manifest.identity.dim = dim;
    manifest.type = type;
    manifest.columns = output_columns(type, dim);
    manifest.identity.rows = std::ssize(stored) / (manifest.columns * item_facts(type).bytes);
    return manifest;
  }

  std::vector<std::byte> stored_;
};

}  // namespace encode::testing
