// Reads the pickle of a PyTorch state dict without running anything of it. The opcodes are those of
// Python's pickletools, protocols 2 to 5.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace encode {

// A storage as torch.save() refers to it: its numbers are the record data/<key> of the archive.
struct PickledStorage {
  std::string_view dtype;  // as TensorInfo::dtype
  std::string key;
  int64_t elements = 0;  // at least 0
};

// A view of a storage. Offset, shape and strides count elements and are at least 0. Nothing else
// about them is checked.
struct PickledTensor {
  PickledStorage storage;
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // as many as `shape` has, at most kMaxRank
};

// Returns the tensors of a pickled dict by name. Understands dicts, lists, tuples, strings,
// numbers, None, collections.OrderedDict with the attribute _metadata,
// torch._utils._rebuild_tensor_v2, torch._utils._rebuild_parameter and the storage types of torch.
// Any other opcode or global is refused by name, so no code of the file can run. The reader does
// not recurse, and the limits of limits.h bound its memory. `where` is for messages. Throws Error
// kConfig "model.pickle".
std::map<std::string, PickledTensor> read_state_dict(std::string_view pickle,
                                                     const std::string& where);

}  // namespace encode
