// Reads and checks the safetensors format (https://github.com/huggingface/safetensors):
//   - 8 bytes: the number N, little-endian;
//   - N bytes: the header, a JSON object;
//   - the bytes of the tensors, without holes, up to the end of the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "model_dir/tensor_types.h"

namespace encode {

// Parses the JSON header of a file of `file_bytes` bytes. `file` is for TensorInfo::file and for
// messages. If the metadata say that a tensor shares the bytes of another tensor, the result has
// both tensors. Throws Error: "model.header", "model.dtype", "model.shape", "model.offsets",
// "model.file_size". All are kConfig.
TensorMap parse_safetensors_header(std::string_view header, int64_t file_bytes,
                                   const std::string& file);

// Reads and parses the header of an open file. Allocates memory only for the header. Throws what
// parse_safetensors_header() throws, and Error "model.header_size". Throws kIoError if reading
// fails.
TensorMap read_safetensors(const UniqueFd& fd, const std::string& file);

}  // namespace encode
