#include "model_dir/torch_file/torch_weights.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/foreign_input.h"
#include "base/lfs_pointer.h"
#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/torch_file/state_dict_pickle.h"
#include "model_dir/torch_file/zip_directory.h"

namespace encode {
namespace {

constexpr std::string_view kPickleName = "data.pkl";
constexpr std::string_view kStorageFolder = "data/";
constexpr std::string_view kByteOrder = "byteorder";
// The pickle of the number 0x1950a86a20f9469cfc6c, with which torch before 1.6 began a file.
constexpr std::string_view kOldFormat("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 12);

constexpr const char* kSaveAgain =
    "if you trust the file, save it again with a newer torch: python -c \"import torch; f = "
    "'FILE'; "
    "torch.save(torch.load(f, map_location='cpu', weights_only=True), f)\"";

Error bad_file(const std::string& file, std::string what, std::string found, std::string hint) {
  return Error({.code = "model.zip",
                .what = std::move(what),
                .where = file,
                .expected = "a zip archive as torch.save() has written it since torch 1.6",
                .found = std::move(found),
                .hint = std::move(hint)});
}

// Throws if the first bytes are not those of a zip archive.
void require_zip(const UniqueFd& fd, const std::string& file) {
  constexpr int64_t kStartBytes = 64;
  std::string start(static_cast<size_t>(std::min(file_size(fd, file), kStartBytes)), '\0');
  pread_all(fd, start, 0, file);
  if (start.starts_with(kZipStart)) return;
  if (is_lfs_pointer(start)) {
    throw bad_file(file, "the file is not a file of weights", std::string(kLfsFound),
                   std::string(kLfsHint));
  }
  if (start.size() > 2 && std::string_view(start).substr(2).starts_with(kOldFormat)) {
    throw bad_file(file, "the weights are in the format of torch before 1.6",
                   "a pickle without a zip archive", kSaveAgain);
  }
  throw bad_file(file, "the file is not one of torch.save()",
                 fmt::format("'{}' at its beginning", preview(start.substr(0, 16))),
                 "download the model again, or save it in the safetensors format");
}

// The archive. All its entries are in one folder.
class TorchFile {
 public:
  TorchFile(const UniqueFd& fd, const std::string& file)
      : fd_(fd), file_(file), entries_(read_zip_directory(fd, file)) {
    const std::string& first = entries_.begin()->first;
    root_ = first.substr(0, first.find('/') + 1);
    for (const auto& [name, entry] : entries_) {
      if (root_.empty() || !name.starts_with(root_))
        throw bad_file(file_, "the entries of the file are not in one folder",
                       fmt::format("'{}' beside '{}'", preview(name), preview(first)), kSaveAgain);
      require_known(std::string_view(name).substr(root_.size()));
      if (!entry.stored)
        throw bad_file(file_, "an entry of the file is compressed",
                       fmt::format("'{}'", preview(name)), kSaveAgain);
    }
    require_little_endian();
  }

  std::string pickle() const {
    const ZipEntry* entry = find(kPickleName);
    if (entry == nullptr || entry->size_bytes > kMaxPickleBytes) {
      throw bad_file(
          file_, "the file has no pickle that can be read",
          entry == nullptr ? "no entry data.pkl" : fmt::format("{} bytes", entry->size_bytes),
          fmt::format("data.pkl has at most {} bytes. {}", kMaxPickleBytes, kSaveAgain));
    }
    return read(*entry);
  }

  // Returns the record of a storage, or nullptr.
  const ZipEntry* storage(const std::string& key) const {
    return find(std::string(kStorageFolder) + key);
  }

 private:
  const ZipEntry* find(std::string_view name) const {
    const auto found = entries_.find(root_ + std::string(name));
    return found == entries_.end() ? nullptr : &found->second;
  }

  std::string read(const ZipEntry& entry) const {
    std::string bytes(static_cast<size_t>(entry.size_bytes), '\0');
    pread_all(fd_, bytes, entry.offset_bytes, file_);
    return bytes;
  }

  // torch gives its notes, such as .data/serialization_id, names that begin with a dot.
  void require_known(std::string_view name) const {
    if (name == kPickleName || name == kByteOrder || name == "version" || name.starts_with('.') ||
        name.starts_with(kStorageFolder))
      return;
    if (name == "constants.pkl" || name.starts_with("code/")) {
      throw bad_file(file_, "the file is a TorchScript program, not weights",
                     fmt::format("the entry '{}'", preview(name)),
                     "use the model from which it was made, with safetensors weights");
    }
    throw bad_file(file_, "the file has an entry that torch.save() does not write",
                   fmt::format("'{}'", preview(name)), kSaveAgain);
  }

  // Files of torch before 2.1 do not state the byte order.
  void require_little_endian() const {
    static_assert(std::endian::native == std::endian::little, "the tensors are little-endian");
    const ZipEntry* entry = find(kByteOrder);
    constexpr int64_t kMostBytes = 16;
    if (entry == nullptr) return;
    const std::string order =
        entry->size_bytes <= kMostBytes ? read(*entry) : std::string("a long text");
    if (order == "little") return;
    throw bad_file(file_, "the file was written on a machine with another byte order",
                   fmt::format("'{}' in the entry byteorder", preview(order)),
                   "save it as safetensors, which has one byte order");
  }

  const UniqueFd& fd_;
  const std::string& file_;
  std::map<std::string, ZipEntry> entries_;
  std::string root_;  // ends with '/'
};

std::string list(const std::vector<int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

// Returns the value of TensorInfo::strides, which is empty for row-major order. Returns nullopt if
// the tensor has gaps or uses an element twice. A dimension of size 1 has any stride.
std::optional<std::vector<int64_t>> dense_strides(const PickledTensor& tensor) {
  std::vector<size_t> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t dim) { return tensor.shape[dim] == 1; });
  const bool row_major = std::is_sorted(order.begin(), order.end(), [&](size_t a, size_t b) {
    return tensor.strides[a] > tensor.strides[b];
  });
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return tensor.strides[a] < tensor.strides[b]; });
  std::vector<int64_t> strides(tensor.shape.size(), 1);
  int64_t step = 1;  // cannot overflow, because checked_bytes() has multiplied the shape
  for (const size_t dim : order) {
    if (tensor.strides[dim] != step) return std::nullopt;
    strides[dim] = step;
    step *= tensor.shape[dim];
  }
  if (row_major) strides.clear();
  return strides;
}

TensorInfo place(const TorchFile& archive, const std::string& file, const std::string& name,
                 const PickledTensor& tensor) {
  const std::string where = fmt::format("{}, tensor '{}'", file, preview(name));
  const auto refuse = [&](std::string what, std::string expected, std::string found) {
    return Error({.code = "model.offsets",
                  .what = std::move(what),
                  .where = where,
                  .expected = std::move(expected),
                  .found = std::move(found),
                  .hint = "the file is damaged, or was made to attack its reader: download it "
                          "again, or use safetensors"});
  };
  const PickledStorage& storage = tensor.storage;
  const int64_t bytes = checked_bytes(tensor.shape, storage.dtype, where);
  const int64_t element = dtype_bytes(storage.dtype);
  const ZipEntry* record = archive.storage(storage.key);
  if (record == nullptr || record->size_bytes % element != 0 ||
      record->size_bytes / element != storage.elements) {
    throw refuse("a storage is not the record that the pickle describes",
                 fmt::format("the entry data/{} with {} elements of {}", preview(storage.key),
                             storage.elements, storage.dtype),
                 record == nullptr ? "no such entry" : fmt::format("{} bytes", record->size_bytes));
  }
  const int64_t elements = bytes / element;
  if (elements > storage.elements || tensor.offset > storage.elements - elements) {
    throw refuse(
        "a tensor goes on after the end of its storage",
        fmt::format("{} elements at {} within {}", elements, tensor.offset, storage.elements),
        fmt::format("the shape {}", list(tensor.shape)));
  }
  std::optional<std::vector<int64_t>> strides = dense_strides(tensor);
  if (!strides) {
    throw Error({.code = "model.offsets",
                 .what = "a tensor is a view with gaps or repeated elements",
                 .where = where,
                 .expected = "a tensor in row-major order, or a transposed one",
                 .found = fmt::format("the shape {} with the strides {}", list(tensor.shape),
                                      list(tensor.strides)),
                 .hint = "if you trust the file, load it with torch, call contiguous() of each "
                         "tensor, and save it as safetensors"});
  }
  return {.file = file,
          .dtype = std::string(storage.dtype),
          .shape = tensor.shape,
          .offset_bytes = record->offset_bytes + tensor.offset * element,
          .size_bytes = bytes,
          .strides = std::move(*strides)};
}

}  // namespace

TensorMap read_torch_weights(const UniqueFd& fd, const std::string& file) {
  require_zip(fd, file);
  const TorchFile archive(fd, file);
  TensorMap tensors;
  for (const auto& [name, tensor] :
       read_state_dict(archive.pickle(), fmt::format("{}, data.pkl", file)))
    tensors.emplace(name, place(archive, file, name, tensor));
  return tensors;
}

}  // namespace encode
