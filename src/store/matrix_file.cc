#include "store/matrix_file.h"

#include <fmt/format.h>
#include <limits>

#include "encode/error.h"

#include "base/non_finite.h"
#include "base/npy.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// Returns the place of a vector, for a message. The row of a token vector is not known here, so the
// text names the range of rows.
std::string place_of(const MatrixShape& shape, int64_t vector) {
  if (!shape.counted_at_end) return fmt::format("row {}", shape.rows.begin + vector);
  return fmt::format("vector {} of the tokens of rows {} to {}", vector, shape.rows.begin,
                     shape.rows.end - 1);
}

NpyHeader header_of(const MatrixShape& shape) {
  return {.item = shape.item,
          .rows = shape.rows.size(),
          .cols = shape.columns,
          .data_offset = kNpyHeaderBytes};
}

}  // namespace

void require_finite(std::span<const float> values, int64_t dim,
                    const std::function<std::string(int64_t)>& place) {
  const auto bad = find_non_finite(values);
  if (!bad) return;
  const auto columns = static_cast<size_t>(dim);
  throw Error({.code = "store.nonfinite",
               .what = "the vector of a row is not finite",
               .where = place(static_cast<int64_t>(*bad / columns)),
               .expected = "finite numbers",
               .found = fmt::format("{} in column {}", values[*bad], *bad % columns),
               .hint = "the file was not stored; look at the text of this row and at the weights "
                       "of the model, because some number overflows or is not finite"});
}

void require_whole_rows(const std::string& path, std::span<const std::byte> bytes,
                        const RowLimits& limits) {
  const auto size = static_cast<int64_t>(bytes.size());
  if (size % limits.row_bytes == 0 && size / limits.row_bytes <= limits.most) return;
  throw misuse("the appended values do not fit the matrix", path,
               fmt::format("whole rows of {} bytes, at most {}", limits.row_bytes, limits.most),
               fmt::format("{} bytes", size));
}

void require_all_rows(const std::string& path, int64_t rows, int64_t written) {
  if (rows == written) return;
  throw misuse("a matrix was published before all its rows were written", path,
               fmt::format("{} rows", rows), fmt::format("{} rows", written));
}

NpyWriter::NpyWriter(const std::string& path, MatrixShape shape)
    : shape_(shape),
      row_bytes_(shape_.columns * header_of(shape_).item_bytes()),
      file_(path, shape_.counted_at_end ? 0 : header_of(shape_).file_bytes()) {
  const std::string header = make_npy_header(shape_.rows.size(), shape_.columns, shape_.item);
  hash_.update(header.data(), header.size());
  file_.write(header.data(), header.size());
}

void NpyWriter::append(std::span<const float> values) {
  require_finite(values, shape_.columns, [this](int64_t row) {
    return fmt::format("{}: {}", file_.path(), place_of(shape_, rows_written_ + row));
  });
  append_bytes(std::as_bytes(values));
}

void NpyWriter::append_bytes(std::span<const std::byte> bytes) {
  const int64_t most = shape_.counted_at_end ? std::numeric_limits<int64_t>::max()
                                             : shape_.rows.size() - rows_written_;
  require_whole_rows(file_.path(), bytes, {.row_bytes = row_bytes_, .most = most});
  hash_.update(bytes.data(), bytes.size());
  file_.write(bytes.data(), bytes.size());
  rows_written_ += static_cast<int64_t>(bytes.size()) / row_bytes_;
  // The chunks of a window are synced together after the last one. Until then the disk can already
  // write this file.
  if (rows_written_ == shape_.rows.size()) file_.begin_writing_back();
}

void NpyWriter::write_header_again() {
  const std::string header = make_npy_header(rows_written_, shape_.columns, shape_.item);
  file_.overwrite(0, header.data(), header.size());
  const UniqueFd fd = open_for_reading(file_.temp_path(), "npy.open");
  hash_ = Xxh3();
  for_blocks(fd, bytes_written(), file_.temp_path(),
             [this](std::string_view block) { hash_.update(block.data(), block.size()); });
}

void NpyWriter::publish() {
  end();
  file_.commit();
}

void NpyWriter::sync() {
  end();
  file_.sync();
}

void NpyWriter::end() {
  if (shape_.counted_at_end) {
    write_header_again();
  } else {
    require_all_rows(file_.path(), shape_.rows.size(), rows_written_);
  }
}

}  // namespace encode
