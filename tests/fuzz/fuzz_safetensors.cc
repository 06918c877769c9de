// Any bytes as a safetensors file: an Error, or tensors that tile the file. Bytes are read the way
// the program reads them, from a descriptor; the length field is the input's own.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/file.h"
#include "model_dir/safetensors.h"

namespace {

void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", property);
  std::abort();
}

// Independent of the parser's own order: sorted ranges must follow one another up to the end of the
// file.
void require_tiling(const encode::TensorMap& tensors, int64_t file_bytes) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const auto& [name, info] : tensors) {
    require(encode::checked_bytes(info.shape, info.dtype, name) == info.size_bytes,
            "the size is the shape's");
    ranges.emplace_back(info.offset_bytes, info.offset_bytes + info.size_bytes);
  }
  std::sort(ranges.begin(), ranges.end());
  require(!ranges.empty(), "at least one tensor");
  require(ranges.front().first >= 10, "after the header");
  for (size_t i = 1; i < ranges.size(); ++i)
    require(ranges[i - 1].second == ranges[i].first, "no hole, no overlap");
  require(ranges.back().second == file_bytes, "up to the end of the file");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const encode::UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  require(file && ::ftruncate(file.get(), static_cast<off_t>(size)) == 0, "a file in memory");
  require(::pwrite(file.get(), data, size, 0) == static_cast<ssize_t>(size),
          "the input in the file");
  try {
    require_tiling(encode::read_safetensors(file, "fuzz.safetensors"), static_cast<int64_t>(size));
  } catch (const encode::Error& error) {
    require(!error.detail().code.empty() && !error.detail().what.empty(),
            "an Error says what and has a code");
  }
  return 0;
}
