#include "model_dir/torch_file/pickle_opcodes.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace encode {
namespace {

// The opcodes that the reader refuses.
constexpr auto kRefused = std::to_array<std::pair<uint8_t, std::string_view>>({
    {'0', "POP"},
    {'1', "POP_MARK"},
    {'2', "DUP"},
    {'B', "BINBYTES"},
    {'C', "SHORT_BINBYTES"},
    {'F', "FLOAT"},
    {'I', "INT"},
    {'L', "LONG"},
    {'P', "PERSID"},
    {'S', "STRING"},
    {'T', "BINSTRING"},
    {'V', "UNICODE"},
    {'d', "DICT"},
    {'g', "GET"},
    {'i', "INST"},
    {'l', "LIST"},
    {'o', "OBJ"},
    {'p', "PUT"},
    {0x81, "NEWOBJ"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {0x8b, "LONG4"},
    {0x8e, "BINBYTES8"},
    {0x8f, "EMPTY_SET"},
    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},
    {0x92, "NEWOBJ_EX"},
    {0x96, "BYTEARRAY8"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
});

}  // namespace

std::string opcode_name(uint8_t opcode) {
  const auto* const found = std::find_if(kRefused.begin(), kRefused.end(),
                                         [&](const auto& entry) { return entry.first == opcode; });
  return fmt::format("{} ({:#04x})", found != kRefused.end() ? found->second : "an unknown opcode",
                     opcode);
}

}  // namespace encode
