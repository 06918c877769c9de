#include "matrix/matrix.h"

#include <fmt/format.h>
#include <optional>

#include "encode/error.h"

#include "base/file.h"
#include "base/npy.h"
#include "matrix/elements.h"

namespace encode {
namespace {

// A .npy file that is mapped into memory.
class MappedMatrix final : public Matrix {
 public:
  MappedMatrix(const UniqueFd& fd, std::string path, Manifest manifest, const NpyHeader& header)
      : Matrix(std::move(path), std::move(manifest)),
        data_(fd, header.data_offset, header.data_bytes(), this->path()) {}

  std::span<const std::byte> stored(RowRange rows, MatrixBuffer& /*buffer*/) const override {
    return {data_.data() + rows.begin * row_bytes(),
            static_cast<size_t>(rows.size() * row_bytes())};
  }

 private:
  MappedRange data_;
};

Manifest require_manifest(const std::string& path) {
  if (std::optional<Manifest> manifest = read_manifest(path)) return std::move(*manifest);
  throw Error({.exit_code = ExitCode::kData,
               .code = "matrix.unfinished",
               .what = "the matrix has no manifest",
               .where = path,
               .expected = manifest_path(path),
               .found = "no such file",
               .hint = "encode did not finish this matrix, or its manifest was moved or deleted: "
                       "run encode run again"});
}

std::string describe(int64_t rows, int64_t columns, std::string_view descr) {
  return fmt::format("{} x {} of {}", rows, columns, descr);
}

// Throws if the header is not that of the manifest. The elements are then aligned as well, because
// encode writes headers of kNpyHeaderBytes.
void check_header(const NpyHeader& header, const Manifest& manifest, const std::string& path) {
  const std::string expected =
      describe(manifest.vectors(), output_columns(manifest.type, manifest.identity.dim),
               npy_type(manifest.type));
  const std::string found = describe(header.rows, header.cols, header.descr);
  const bool fits = expected == found && manifest.columns == header.cols &&
                    header.file_bytes() == manifest.file_bytes &&
                    header.data_offset == kNpyHeaderBytes;
  if (fits) return;
  throw Error({.exit_code = ExitCode::kData,
               .code = "matrix.damaged",
               .what = "the matrix is not the one that its manifest describes",
               .where = path,
               .expected = fmt::format("{} in {} bytes", expected, manifest.file_bytes),
               .found = fmt::format("{} in {} bytes", found, header.file_bytes()),
               .hint = "encode verify checks a matrix; encode run makes it again"});
}

}  // namespace

Matrix::Matrix(std::string path, Manifest manifest)
    : path_(std::move(path)), manifest_(std::move(manifest)) {
  const NpyHeader row = {
      .descr = std::string(npy_type(type())), .rows = 1, .cols = columns(), .data_offset = 0};
  row_bytes_ = row.data_bytes();
}

std::span<const float> Matrix::floats(RowRange rows, MatrixBuffer& buffer) const {
  const std::span<const std::byte> elements = stored(rows, buffer);
  if (type() == OutputType::kBinary || type() == OutputType::kUbinary) {
    unpack_bits({.bytes = elements, .type = type(), .dim = dim()}, buffer.floats);
    return buffer.floats;
  }
  return as_floats(elements, npy_type(type()), buffer.floats);
}

std::unique_ptr<Matrix> open_matrix(const std::string& path) {
  const UniqueFd fd = open_for_reading(path, "npy.open");
  Manifest manifest = require_manifest(path);
  const NpyHeader header = read_npy_header(fd, path);
  check_header(header, manifest, path);
  return std::make_unique<MappedMatrix>(fd, path, std::move(manifest), header);
}

}  // namespace encode
