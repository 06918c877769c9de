// Reads a file of torch.save() in the format of torch 1.6 and later: a zip archive with a pickle,
// <root>/data.pkl, and a record for each storage, <root>/data/<key>
// (https://docs.pytorch.org/docs/2.11/notes/serialization.html).
#pragma once

#include <string>

#include "base/file.h"
#include "model_dir/tensor_types.h"

namespace encode {

// Returns where the tensors of a state dict are in the file. Reads the directory of the archive and
// the pickle, never a storage, and runs nothing: see read_state_dict(). Tensors may share a
// storage, and may be transposed (TensorInfo::strides). A view with gaps or with repeated elements
// is refused. Throws Error, all kConfig:
//   "model.zip"       if the archive is damaged, compressed, or in an older format of torch
//   "model.pickle"    if the pickle has anything but tensors of known types in a dict
//   "model.offsets"   if a storage does not fit its record, or a tensor its storage
//   "model.shape", "model.dtype"   as checked_bytes()
// Throws kIoError if reading fails.
TensorMap read_torch_weights(const UniqueFd& fd, const std::string& file);

}  // namespace encode
