// Reads any bytes as a safetensors file. The result must be an Error, or tensors that fill the file
// without holes. As in the program, the bytes come from a file descriptor. The input contains the
// length field.
#include <cstdint>
#include <set>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/file.h"
#include "model_dir/safetensors.h"
#include "require.h"

namespace {

// Checks the tensors without relying on the order of the parser: the sorted ranges must follow one
// another up to the end of the file.
void require_tiling(const encode::TensorMap& tensors, int64_t file_bytes) {
  std::set<std::pair<int64_t, int64_t>> unique;  // tensors that share their bytes count once
  for (const auto& [name, info] : tensors) {
    require(encode::checked_bytes(info.shape, info.dtype, name) == info.size_bytes,
            "the size matches the shape");
    unique.emplace(info.offset_bytes, info.offset_bytes + info.size_bytes);
  }
  const std::vector<std::pair<int64_t, int64_t>> ranges(unique.begin(), unique.end());
  require(!ranges.empty(), "there is at least one tensor");
  require(ranges.front().first >= 10, "the tensors begin after the header");
  for (size_t i = 1; i < ranges.size(); ++i)
    require(ranges[i - 1].second == ranges[i].first, "there is no hole and no overlap");
  require(ranges.back().second == file_bytes, "the tensors end at the end of the file");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const encode::UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  require(file && ::ftruncate(file.get(), static_cast<off_t>(size)) == 0,
          "a file in memory can be made");
  require(::pwrite(file.get(), data, size, 0) == static_cast<ssize_t>(size),
          "the input can be written");
  try {
    require_tiling(encode::read_safetensors(file, "fuzz.safetensors"), static_cast<int64_t>(size));
  } catch (const encode::Error& error) {
    require(error.detail().code && !error.detail().what.empty(),
            "an Error has a code and says what happened");
  }
  return 0;
}
