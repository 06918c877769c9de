// Reads any bytes as a file of torch.save(). The first byte chooses: even, the rest is the whole
// file, which comes from a file descriptor as in the program; odd, it is the pickle alone. The
// result must be an Error, or tensors that lie inside the file.
#include <cstdint>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

#include "encode/error.h"

#include "base/file.h"
#include "model_dir/torch_file/state_dict_pickle.h"
#include "model_dir/torch_file/torch_weights.h"
#include "require.h"

namespace {

// Returns the greatest place of an element, counted in elements from the first one.
int64_t last_element(const encode::TensorInfo& info) {
  if (info.strides.empty()) return info.size_bytes / encode::dtype_bytes(info.dtype) - 1;
  require(info.strides.size() == info.shape.size(), "each dimension has a stride");
  int64_t last = 0;
  for (size_t dim = 0; dim < info.shape.size(); ++dim)
    last += (info.shape[dim] - 1) * info.strides[dim];
  return last;
}

void read_file(std::string_view content) {
  static const encode::UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  const auto file_bytes = static_cast<int64_t>(content.size());
  require(file && ::ftruncate(file.get(), file_bytes) == 0, "a file in memory can be made");
  require(::pwrite(file.get(), content.data(), content.size(), 0) == file_bytes,
          "the input can be written");
  const encode::TensorMap tensors = encode::read_torch_weights(file, "fuzz.bin");
  require(!tensors.empty(), "there is at least one tensor");
  for (const auto& [name, info] : tensors) {
    require(encode::checked_bytes(info.shape, info.dtype, name) == info.size_bytes,
            "the size matches the shape");
    require(info.offset_bytes >= 30 && info.size_bytes <= file_bytes &&
                info.offset_bytes <= file_bytes - info.size_bytes,
            "the tensor lies inside the file");
    require((last_element(info) + 1) * encode::dtype_bytes(info.dtype) == info.size_bytes,
            "the strides reach the last element and no further");
  }
}

void read_pickle(std::string_view pickle) {
  for (const auto& [name, tensor] : encode::read_state_dict(pickle, "fuzz")) {
    require(!name.empty(), "a tensor has a name");
    require(tensor.shape.size() == tensor.strides.size() && tensor.shape.size() <= 8,
            "each dimension has a stride");
    require(tensor.offset >= 0 && tensor.storage.elements >= 0, "nothing is negative");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 2 == 0) {
      read_file(content);
    } else {
      read_pickle(content);
    }
  } catch (const encode::Error& error) {
    require(error.detail().code && !error.detail().what.empty(),
            "an Error has a code and says what happened");
  }
  return 0;
}
