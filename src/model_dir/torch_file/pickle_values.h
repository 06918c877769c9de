// The values that the opcodes of a pickle create: the stack, the memo, and the containers in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model_dir/torch_file/pickle_bytes.h"

namespace encode {

// A global that a pickle may name. Every other global is refused.
struct PickleGlobal {
  enum class Call : uint8_t { kOrderedDict, kRebuildTensor, kRebuildParameter, kStorageType };
  std::string_view module;
  std::string_view name;
  Call call = Call::kStorageType;
  std::string_view dtype = {};  // of a storage type, as TensorInfo::dtype
};

// A string stays in the pickle, and an object stays in a list. So a value that is referred to many
// times, even by itself, costs nothing.
struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kGlobal,
    kTuple,
    kList,
    kDict,
    kOrderedDict,
    kStorage,
    kTensor,
  };
  Kind kind = Kind::kNone;
  uint32_t bytes = 0;  // kString: the length of the string
  // kBool and kInt: the value. kString: its offset in the pickle. kGlobal: its index in the list of
  // globals. kNone and kFloat: not used. Other kinds: the index in the list of their kind.
  int64_t number = 0;
};

// All functions throw Error kConfig "model.pickle" if the pickle asks for more than limits.h
// allows, or for a value that is not there. One thread at a time may use an object.
class PickleValues {
 public:
  using Kind = PickleValue::Kind;
  using List = std::vector<PickleValue>;

  // `bytes` must outlive the object.
  explicit PickleValues(const PickleBytes& bytes) : bytes_(bytes) {}

  void push(PickleValue value);
  void push(Kind kind, int64_t number) { push({.kind = kind, .number = number}); }
  void push_container(Kind kind, const List& items);
  void push_global(std::string_view module, std::string_view name);
  void mark();
  const PickleValue& top() const;
  PickleValue pop();
  // Removes and returns the last `count` values, or, without `count`, the values after the last
  // mark.
  List pop_values(std::optional<size_t> count);
  // Returns the only value that is left, at the end of the pickle.
  PickleValue last() const;

  void remember(size_t place);  // copies the top of the stack into the memo
  size_t remembered() const { return memo_.size(); }
  void push_remembered(size_t place);

  void append(const PickleValue& container, const List& items);
  // The items of a tuple or list, or the keys and values of a dict in turn. The reference is valid
  // until the next container is made.
  const List& items(const PickleValue& container) const {
    return containers_[static_cast<size_t>(container.number)];
  }
  // True for None and for a dict without items.
  bool is_empty(const PickleValue& value) const;
  std::string_view text(const PickleValue& string) const {
    return bytes_.taken(string.number, string.bytes);
  }
  const PickleGlobal* global(const PickleValue& value) const;  // nullptr for another kind
  std::string describe(const PickleValue& value) const;        // for messages

 private:
  size_t bottom() const { return marks_.empty() ? 0 : marks_.back(); }

  const PickleBytes& bytes_;
  int64_t items_ = 0;  // the items in all containers
  List stack_;
  std::vector<size_t> marks_;  // the size of the stack at each mark
  std::vector<std::optional<PickleValue>> memo_;
  std::vector<List> containers_;
};

}  // namespace encode
