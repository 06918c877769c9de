#include "columnar/matrix_reader.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "encode/error.h"

#include "base/input_format.h"
#include "base/named_path.h"
#include "columnar/table.h"

namespace encode {
namespace {

constexpr int64_t kBlockBytes = 1 << 20;

class NpyMatrix final : public MatrixReader {
 public:
  NpyMatrix(const std::string& path, Elements elements) : reader_(path, elements) {}

  const std::string& path() const override { return reader_.path(); }
  MatrixFormat format() const override { return MatrixFormat::kNpy; }
  int64_t rows() const override { return reader_.rows(); }
  int64_t dim() const override { return reader_.dim(); }
  ItemType item() const override { return reader_.item(); }
  int64_t file_bytes() const override { return reader_.file_bytes(); }
  const std::vector<std::string>& columns() const override { return columns_; }
  std::span<const std::byte> next_bytes(int64_t max_rows) override {
    return reader_.next_bytes(max_rows);
  }
  void also_hash(Sha256& sha256) override { reader_.also_hash(sha256); }
  std::string xxh3_hex() override { return reader_.xxh3_hex(); }

 private:
  NpyReader reader_;
  std::vector<std::string> columns_;
};

class TableMatrix final : public MatrixReader {
 public:
  TableMatrix(const std::string& path, MatrixFormat format)
      : file_(path),
        format_(format),
        vectors_(open_vectors(file_, format == MatrixFormat::kParquet, path)) {
    for (const TableSchema::Column& column : vectors_->schema().columns)
      columns_.push_back(column.name);
  }

  const std::string& path() const override { return file_.path(); }
  MatrixFormat format() const override { return format_; }
  int64_t rows() const override { return vectors_->rows(); }
  int64_t dim() const override { return vectors_->schema().items; }
  ItemType item() const override { return vectors_->schema().item; }
  int64_t file_bytes() const override { return file_.size(); }
  const std::vector<std::string>& columns() const override { return columns_; }

  std::span<const std::byte> next_bytes(int64_t max_rows) override {
    const auto wanted = static_cast<size_t>(max_rows * row_bytes());
    buffer_.clear();
    while (buffer_.size() < wanted) {
      if (block_.empty()) block_ = vectors_->next();
      if (block_.empty()) break;
      const size_t size = std::min(wanted - buffer_.size(), block_.size());
      buffer_.insert(buffer_.end(), block_.begin(),
                     block_.begin() + static_cast<std::ptrdiff_t>(size));
      block_ = block_.subspan(size);
    }
    return buffer_;
  }

  void also_hash(Sha256& sha256) override { sha256_ = &sha256; }
  std::string xxh3_hex() override {
    Xxh3 hash;
    std::string block;
    for (int64_t at = 0; at < file_.size(); at += std::ssize(block)) {
      block.resize(static_cast<size_t>(std::min(kBlockBytes, file_.size() - at)));
      file_.read(at, block);
      hash.update(block.data(), block.size());
      if (sha256_ != nullptr) sha256_->update(block.data(), block.size());
    }
    return hash.hex();
  }

 private:
  FileBytes file_;
  MatrixFormat format_;
  std::unique_ptr<VectorReader> vectors_;
  std::vector<std::string> columns_;
  std::span<const std::byte> block_;  // the rows of the last block that are not passed on yet
  std::vector<std::byte> buffer_;     // comes from operator new, which aligns it for float
  Sha256* sha256_ = nullptr;
};

}  // namespace

FileBytes::FileBytes(std::string path)
    : path_(std::move(path)), fd_(open_for_reading(path_, "npy.open")) {
  size_ = encode::file_size(fd_, path_);
}

void FileBytes::read(int64_t offset, std::span<char> to) { pread_all(fd_, to, offset, path_); }

int64_t MatrixReader::block_rows() const { return std::max<int64_t>(1, kBlockBytes / row_bytes()); }

std::span<const float> MatrixReader::next(int64_t max_rows) {
  const std::span<const std::byte> bytes = next_bytes(max_rows);
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

MatrixFormat matrix_format(const std::string& path) {
  constexpr std::string_view kParquetMagic = facts_of(TextFormat::kParquet).magic;
  constexpr std::string_view kArrowMagic = facts_of(TextFormat::kArrow).magic;
  require_named_file(path, "npy.open");
  const std::string head = read_head(path, std::ssize(kArrowMagic), "npy.open");
  if (head.starts_with(kParquetMagic)) return MatrixFormat::kParquet;
  return head == kArrowMagic ? MatrixFormat::kArrow : MatrixFormat::kNpy;
}

std::unique_ptr<MatrixReader> open_matrix_reader(const std::string& path, Elements elements) {
  const MatrixFormat format = matrix_format(path);
  if (format == MatrixFormat::kNpy) return std::make_unique<NpyMatrix>(path, elements);
  auto matrix = std::make_unique<TableMatrix>(path, format);
  if (elements == Elements::kAny || matrix->item() == ItemType::kFloat32) return matrix;
  throw Error({.code = "npy.matrix",
               .what = "not a float32 matrix",
               .where = path,
               .expected = "float32",
               .found = std::string(matrix->item_word()),
               .hint = "give a float32 matrix that encode wrote"});
}

}  // namespace encode
