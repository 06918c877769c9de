#include "model_dir/torch_file/pickle_values.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/units.h"
#include "model_dir/limits.h"

namespace encode {
namespace {

using Call = PickleGlobal::Call;

constexpr auto kGlobals = std::to_array<PickleGlobal>({
    {"collections", "OrderedDict", Call::kOrderedDict},
    {"torch._utils", "_rebuild_tensor_v2", Call::kRebuildTensor},
    {"torch._utils", "_rebuild_parameter", Call::kRebuildParameter},
    {"torch", "FloatStorage", Call::kStorageType, "F32"},
    {"torch", "HalfStorage", Call::kStorageType, "F16"},
    {"torch", "BFloat16Storage", Call::kStorageType, "BF16"},
    {"torch", "DoubleStorage", Call::kStorageType, "F64"},
    {"torch", "LongStorage", Call::kStorageType, "I64"},
    {"torch", "IntStorage", Call::kStorageType, "I32"},
    {"torch", "ShortStorage", Call::kStorageType, "I16"},
    {"torch", "CharStorage", Call::kStorageType, "I8"},
    {"torch", "ByteStorage", Call::kStorageType, "U8"},
    {"torch", "BoolStorage", Call::kStorageType, "BOOL"},
});

// In the order of PickleValue::Kind.
constexpr std::array<std::string_view, 12> kKindNames = {
    "None",    "a bool", "an integer", "a float",        "a string",  "a global",
    "a tuple", "a list", "a dict",     "an OrderedDict", "a storage", "a tensor"};

}  // namespace

void PickleValues::push(PickleValue value) {
  if (static_cast<int64_t>(stack_.size()) >= kMaxPickleStack)
    throw bytes_.unexpected(fmt::format("more than {} values on the stack", kMaxPickleStack));
  stack_.push_back(value);
}

void PickleValues::push_container(Kind kind, const List& items) {
  if (static_cast<int64_t>(containers_.size()) >= kMaxPickleObjects)
    throw bytes_.unexpected(fmt::format("more than {} objects", kMaxPickleObjects));
  push(kind, static_cast<int64_t>(containers_.size()));
  containers_.emplace_back();
  append(stack_.back(), items);
}

void PickleValues::push_global(std::string_view module, std::string_view name) {
  const auto* const found = std::find_if(
      kGlobals.begin(), kGlobals.end(),
      [&](const PickleGlobal& known) { return known.module == module && known.name == name; });
  if (found == kGlobals.end())
    throw bytes_.unexpected(fmt::format("the global '{}.{}'", preview(module), preview(name)));
  push(Kind::kGlobal, found - kGlobals.begin());
}

void PickleValues::mark() {
  if (static_cast<int64_t>(marks_.size()) >= kMaxPickleMarks)
    throw bytes_.unexpected(fmt::format("more than {} marks", kMaxPickleMarks));
  marks_.push_back(stack_.size());
}

const PickleValue& PickleValues::top() const {
  if (stack_.size() <= bottom())
    throw bytes_.unexpected("an opcode that needs more values than there are");
  return stack_.back();
}

PickleValue PickleValues::pop() {
  const PickleValue value = top();
  stack_.pop_back();
  return value;
}

PickleValues::List PickleValues::pop_values(std::optional<size_t> count) {
  if (!count && marks_.empty()) throw bytes_.unexpected("an opcode that needs a mark");
  const size_t there = stack_.size() - bottom();
  if (count.value_or(there) > there)
    throw bytes_.unexpected("an opcode that needs more values than there are");
  const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count.value_or(there));
  List values(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  if (!count) marks_.pop_back();
  return values;
}

PickleValue PickleValues::last() const {
  if (stack_.size() != 1 || !marks_.empty() || bytes_.left() != 0)
    throw bytes_.unexpected("an end with values, marks or bytes left over");
  return stack_.front();
}

void PickleValues::remember(size_t place) {
  if (place >= static_cast<size_t>(kMaxPickleObjects))
    throw bytes_.unexpected(fmt::format("the memo {}", place));
  if (place >= memo_.size()) memo_.resize(place + 1);
  memo_[place] = top();
}

void PickleValues::push_remembered(size_t place) {
  if (place >= memo_.size() || !memo_[place])
    throw bytes_.unexpected(fmt::format("the memo {}, which is empty", place));
  push(*memo_[place]);
}

void PickleValues::append(const PickleValue& container, const List& items) {
  items_ += static_cast<int64_t>(items.size());
  if (items_ > kMaxPickleItems)
    throw bytes_.unexpected(fmt::format("more than {} items", kMaxPickleItems));
  List& all = containers_[static_cast<size_t>(container.number)];
  all.insert(all.end(), items.begin(), items.end());
}

bool PickleValues::is_empty(const PickleValue& value) const {
  const bool dict = value.kind == Kind::kDict || value.kind == Kind::kOrderedDict;
  return value.kind == Kind::kNone || (dict && items(value).empty());
}

const PickleGlobal* PickleValues::global(const PickleValue& value) const {
  return value.kind == Kind::kGlobal ? &kGlobals[static_cast<size_t>(value.number)] : nullptr;
}

std::string PickleValues::describe(const PickleValue& value) const {
  if (const PickleGlobal* known = global(value))
    return fmt::format("the global '{}.{}'", known->module, known->name);
  if (value.kind == Kind::kString) return fmt::format("the string '{}'", preview(text(value)));
  if (value.kind == Kind::kInt) return fmt::format("the integer {}", value.number);
  return std::string(kKindNames[static_cast<size_t>(value.kind)]);
}

}  // namespace encode
