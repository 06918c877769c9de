#include "model_dir/torch_file/state_dict_pickle.h"

#include <fmt/format.h>
#include <utility>

#include "base/units.h"
#include "base/utf8.h"
#include "model_dir/limits.h"
#include "model_dir/torch_file/pickle_bytes.h"
#include "model_dir/torch_file/pickle_opcodes.h"
#include "model_dir/torch_file/pickle_values.h"

namespace encode {
namespace {

using Kind = PickleValue::Kind;
using Call = PickleGlobal::Call;
using List = PickleValues::List;

class Reader {
 public:
  Reader(std::string_view pickle, const std::string& where) : bytes_(pickle, where) {}

  std::map<std::string, PickledTensor> run() {
    for (;;) {
      const uint8_t byte = bytes_.next_opcode();
      const auto opcode = static_cast<Opcode>(byte);
      if (opcode == Opcode::kStop) return result();
      if (!read_constant(opcode) && !read_string(opcode) && !read_container(opcode) &&
          !read_memo(opcode) && !read_object(opcode))
        throw bytes_.unexpected(fmt::format("the opcode {}", opcode_name(byte)));
    }
  }

 private:
  // Each of the functions below returns false if the opcode is not one of its group.

  bool read_constant(Opcode opcode) {
    switch (opcode) {
      case Opcode::kProto:
        if (const auto version = bytes_.number<uint8_t>(); version > 5)
          throw bytes_.unexpected(fmt::format("the protocol {}", version));
        return true;
      case Opcode::kFrame:
        if (const auto frame = bytes_.number<uint64_t>(); frame > bytes_.left())
          throw bytes_.unexpected(fmt::format("a frame of {} bytes", frame));
        return true;
      case Opcode::kNone:
        values_.push(Kind::kNone, 0);
        return true;
      case Opcode::kNewTrue:
      case Opcode::kNewFalse:
        values_.push(Kind::kBool, opcode == Opcode::kNewTrue ? 1 : 0);
        return true;
      case Opcode::kBinInt:
        values_.push(Kind::kInt, bytes_.number<int32_t>());
        return true;
      case Opcode::kBinInt1:
        values_.push(Kind::kInt, bytes_.number<uint8_t>());
        return true;
      case Opcode::kBinInt2:
        values_.push(Kind::kInt, bytes_.number<uint16_t>());
        return true;
      case Opcode::kLong1:
        values_.push(Kind::kInt, bytes_.long_integer());
        return true;
      case Opcode::kBinFloat:
        bytes_.take(sizeof(double));
        values_.push(Kind::kFloat, 0);
        return true;
      default:
        return false;
    }
  }

  bool read_string(Opcode opcode) {
    uint64_t size = 0;
    switch (opcode) {
      case Opcode::kShortBinUnicode:
      case Opcode::kShortBinString:
        size = bytes_.number<uint8_t>();
        break;
      case Opcode::kBinUnicode:
        size = bytes_.number<uint32_t>();
        break;
      case Opcode::kBinUnicode8:
        size = bytes_.number<uint64_t>();
        break;
      default:
        return false;
    }
    const auto begin = static_cast<int64_t>(bytes_.position());
    const auto taken = static_cast<uint32_t>(bytes_.take(size).size());
    values_.push({.kind = Kind::kString, .bytes = taken, .number = begin});
    return true;
  }

  bool read_container(Opcode opcode) {
    switch (opcode) {
      case Opcode::kMark:
        values_.mark();
        return true;
      case Opcode::kEmptyDict:
        values_.push_container(Kind::kDict, {});
        return true;
      case Opcode::kEmptyList:
        values_.push_container(Kind::kList, {});
        return true;
      case Opcode::kEmptyTuple:
        values_.push_container(Kind::kTuple, {});
        return true;
      case Opcode::kTuple:
        values_.push_container(Kind::kTuple, values_.pop_values(std::nullopt));
        return true;
      case Opcode::kTuple1:
      case Opcode::kTuple2:
      case Opcode::kTuple3:
        values_.push_container(Kind::kTuple,
                               values_.pop_values(static_cast<size_t>(opcode) -
                                                  static_cast<size_t>(Opcode::kTuple1) + 1));
        return true;
      case Opcode::kAppend:
        extend_list(values_.pop_values(1));
        return true;
      case Opcode::kAppends:
        extend_list(values_.pop_values(std::nullopt));
        return true;
      case Opcode::kSetItem:
        extend_dict(values_.pop_values(2));
        return true;
      case Opcode::kSetItems:
        extend_dict(values_.pop_values(std::nullopt));
        return true;
      default:
        return false;
    }
  }

  void extend_list(const List& items) {
    if (values_.top().kind != Kind::kList) {
      throw bytes_.unexpected(
          fmt::format("items that are added to {}", values_.describe(values_.top())));
    }
    values_.append(values_.top(), items);
  }

  void extend_dict(const List& pairs) {
    const Kind kind = values_.top().kind;
    if ((kind != Kind::kDict && kind != Kind::kOrderedDict) || pairs.size() % 2 != 0) {
      throw bytes_.unexpected(
          fmt::format("keys and values that are added to {}", values_.describe(values_.top())));
    }
    values_.append(values_.top(), pairs);
  }

  bool read_memo(Opcode opcode) {
    switch (opcode) {
      case Opcode::kBinGet:
        values_.push_remembered(bytes_.number<uint8_t>());
        return true;
      case Opcode::kLongBinGet:
        values_.push_remembered(bytes_.number<uint32_t>());
        return true;
      case Opcode::kBinPut:
        values_.remember(bytes_.number<uint8_t>());
        return true;
      case Opcode::kLongBinPut:
        values_.remember(bytes_.number<uint32_t>());
        return true;
      case Opcode::kMemoize:
        values_.remember(values_.remembered());
        return true;
      default:
        return false;
    }
  }

  bool read_object(Opcode opcode) {
    switch (opcode) {
      case Opcode::kGlobal: {
        const std::string_view module = bytes_.line();
        values_.push_global(module, bytes_.line());
        return true;
      }
      case Opcode::kStackGlobal: {
        const List names = values_.pop_values(2);
        if (names[0].kind != Kind::kString || names[1].kind != Kind::kString)
          throw bytes_.unexpected("a global without a name");
        values_.push_global(values_.text(names[0]), values_.text(names[1]));
        return true;
      }
      case Opcode::kReduce: {
        const List call = values_.pop_values(2);
        push_result(call[0], call[1]);
        return true;
      }
      case Opcode::kBuild:
        require_metadata(values_.pop());
        return true;
      case Opcode::kBinPersId:
        push_storage(values_.pop());
        return true;
      default:
        return false;
    }
  }

  // Replaces the call of a global by its result.
  void push_result(const PickleValue& callee, const PickleValue& arguments) {
    const PickleGlobal* known = values_.global(callee);
    if (known == nullptr || known->call == Call::kStorageType || arguments.kind != Kind::kTuple)
      throw bytes_.unexpected(fmt::format("a call of {}", values_.describe(callee)));
    const List& items = values_.items(arguments);
    switch (known->call) {
      case Call::kOrderedDict:
        if (!items.empty()) throw bytes_.unexpected("an OrderedDict that is made from values");
        values_.push_container(Kind::kOrderedDict, {});
        return;
      case Call::kRebuildParameter:
        if (items.size() != 3 || items[0].kind != Kind::kTensor || !values_.is_empty(items[2]))
          throw bytes_.unexpected("arguments that _rebuild_parameter does not take");
        values_.push(items[0]);
        return;
      default:
        push_tensor(items);
    }
  }

  // The arguments are: storage, offset, shape, strides, requires_grad, backward hooks, and in newer
  // files the state of complex numbers.
  void push_tensor(const List& items) {
    const bool known = (items.size() == 6 || items.size() == 7) &&
                       items[0].kind == Kind::kStorage && items[1].kind == Kind::kInt &&
                       values_.is_empty(items[5]) &&
                       (items.size() == 6 || values_.is_empty(items[6]));
    if (!known) throw bytes_.unexpected("arguments that _rebuild_tensor_v2 does not take");
    PickledTensor tensor = {.storage = storages_[static_cast<size_t>(items[0].number)],
                            .offset = items[1].number,
                            .shape = sizes(items[2]),
                            .strides = sizes(items[3])};
    if (tensor.offset < 0 || tensor.shape.size() != tensor.strides.size()) {
      throw bytes_.unexpected(fmt::format("a tensor with the offset {}, {} dimensions, {} strides",
                                          tensor.offset, tensor.shape.size(),
                                          tensor.strides.size()));
    }
    if (static_cast<int64_t>(tensors_.size()) >= kMaxTensors)
      throw bytes_.unexpected(fmt::format("more than {} tensors", kMaxTensors));
    values_.push(Kind::kTensor, static_cast<int64_t>(tensors_.size()));
    tensors_.push_back(std::move(tensor));
  }

  std::vector<int64_t> sizes(const PickleValue& tuple) const {
    if (tuple.kind != Kind::kTuple ||
        static_cast<int64_t>(values_.items(tuple).size()) > kMaxRank) {
      throw bytes_.unexpected(fmt::format("{} instead of a tuple of at most {} numbers",
                                          values_.describe(tuple), kMaxRank));
    }
    std::vector<int64_t> numbers;
    for (const PickleValue& item : values_.items(tuple)) {
      if (item.kind != Kind::kInt || item.number < 0)
        throw bytes_.unexpected(fmt::format("{} in a shape or strides", values_.describe(item)));
      numbers.push_back(item.number);
    }
    return numbers;
  }

  // Accepts only the attribute _metadata, which says nothing about the tensors.
  void require_metadata(const PickleValue& state) const {
    const PickleValue& dict = values_.top();
    if (dict.kind == Kind::kOrderedDict && state.kind == Kind::kDict) {
      const List& pairs = values_.items(state);
      if (pairs.size() == 2 && pairs[0].kind == Kind::kString &&
          values_.text(pairs[0]) == "_metadata")
        return;
    }
    throw bytes_.unexpected(fmt::format("BUILD ('b') of {} with other attributes than _metadata",
                                        values_.describe(dict)));
  }

  // The value is ("storage", the storage type, the key, the device, the number of elements).
  void push_storage(const PickleValue& id) {
    const List none;
    const List& items = id.kind == Kind::kTuple ? values_.items(id) : none;
    const bool known = items.size() == 5 && items[0].kind == Kind::kString &&
                       values_.text(items[0]) == "storage" && items[2].kind == Kind::kString &&
                       items[3].kind == Kind::kString && items[4].kind == Kind::kInt &&
                       items[4].number >= 0;
    const PickleGlobal* type = known ? values_.global(items[1]) : nullptr;
    if (type == nullptr || type->call != Call::kStorageType)
      throw bytes_.unexpected("a BINPERSID ('Q') that does not refer to a storage");
    const std::string_view key = values_.text(items[2]);
    if (static_cast<int64_t>(key.size()) > kMaxZipNameBytes)
      throw bytes_.unexpected(fmt::format("a storage key of {} bytes", key.size()));
    if (static_cast<int64_t>(storages_.size()) >= kMaxTensors)
      throw bytes_.unexpected(fmt::format("more than {} storages", kMaxTensors));
    values_.push(Kind::kStorage, static_cast<int64_t>(storages_.size()));
    storages_.push_back(
        {.dtype = type->dtype, .key = std::string(key), .elements = items[4].number});
  }

  std::map<std::string, PickledTensor> result() const {
    const PickleValue whole = values_.last();
    if (whole.kind != Kind::kDict && whole.kind != Kind::kOrderedDict)
      throw bytes_.unexpected(fmt::format("{} as the whole", values_.describe(whole)));
    const List& pairs = values_.items(whole);
    std::map<std::string, PickledTensor> tensors;
    for (size_t i = 0; i < pairs.size(); i += 2) {
      const std::string name = name_of(pairs[i]);
      const PickleValue& value = pairs[i + 1];
      if (value.kind != Kind::kTensor) {
        throw bytes_.unexpected(
            fmt::format("{} under the name '{}'", values_.describe(value), preview(name)));
      }
      if (!tensors.emplace(name, tensors_[static_cast<size_t>(value.number)]).second)
        throw bytes_.unexpected(fmt::format("the name '{}' twice", preview(name)));
      if (static_cast<int64_t>(tensors.size()) > kMaxTensors)
        throw bytes_.unexpected(fmt::format("more than {} tensors", kMaxTensors));
    }
    if (tensors.empty()) throw bytes_.unexpected("no tensor");
    return tensors;
  }

  std::string name_of(const PickleValue& key) const {
    if (key.kind == Kind::kString) {
      const std::string_view name = values_.text(key);
      if (!name.empty() && static_cast<int64_t>(name.size()) <= kMaxTensorNameBytes &&
          is_valid_utf8(name))
        return std::string(name);
    }
    throw bytes_.unexpected(fmt::format("{} instead of a name of 1 to {} bytes of UTF-8",
                                        values_.describe(key), kMaxTensorNameBytes));
  }

  PickleBytes bytes_;
  PickleValues values_{bytes_};
  std::vector<PickledStorage> storages_;
  std::vector<PickledTensor> tensors_;
};

}  // namespace

std::map<std::string, PickledTensor> read_state_dict(std::string_view pickle,
                                                     const std::string& where) {
  return Reader(pickle, where).run();
}

}  // namespace encode
