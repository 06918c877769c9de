#include "store/verify/number_reader.h"

#include <fmt/format.h>

#include "base/named_path.h"
#include "store/parts_list.h"
#include "store/sealed_json.h"

namespace encode {

NumberReader::NumberReader(const std::string& path) {
  if (is_parts_list(path)) {
    require_named_file(path, "npy.open");
    const PartsList list = read_parts_list(path);
    for (const PartsList::Entry& part : list.parts)
      files_.push_back({.path = part_path(path, part), .rows = part.vectors});
    type_ = list.type;
    rows_ = list.vectors();
    dim_ = list.identity.dim;
    return;
  }
  files_.push_back({.path = path});
  open(files_.front());
  next_file_ = 1;
  type_ = values_->type();
  rows_ = reader_->rows();
  dim_ = values_->dim();
}

std::string NumberReader::shape() const { return fmt::format("{} x {}", rows_, dim_); }

void NumberReader::open(const File& file) {
  reader_ = open_matrix_reader(file.path, Elements::kAny);
  values_.emplace(StoredValues::of_file(*reader_));
  if (file.rows < 0) return;
  if (reader_->rows() != file.rows || values_->dim() != dim_)
    throw damage("a part does not have the rows that the list says", file.path,
                 fmt::format("{} x {}", file.rows, dim_),
                 fmt::format("{} x {}", reader_->rows(), values_->dim()));
}

std::span<const float> NumberReader::next(int64_t max_rows) {
  const auto wanted = static_cast<size_t>(max_rows * dim_);
  joined_.clear();
  while (joined_.size() < wanted) {
    if (!reader_) {
      if (next_file_ == files_.size()) break;
      open(files_[next_file_++]);
    }
    const int64_t left = max_rows - std::ssize(joined_) / dim_;
    const std::span<const float> numbers = values_->convert(reader_->next_bytes(left), buffer_);
    if (joined_.empty() && numbers.size() == wanted) return numbers;
    if (numbers.empty()) reader_.reset();
    joined_.insert(joined_.end(), numbers.begin(), numbers.end());
  }
  return joined_;
}

}  // namespace encode
