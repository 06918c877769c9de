// The opcodes of Python's pickle, for the reader of state dicts and its messages.
#pragma once

#include <cstdint>
#include <string>

namespace encode {

// The opcodes that the reader understands. The names are those of Python's pickletools.
enum class Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kProto = 0x80,
  kFrame = 0x95,
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8a,
  kBinFloat = 'G',
  kBinUnicode = 'X',
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kShortBinString = 'U',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kAppend = 'a',
  kAppends = 'e',
  kSetItem = 's',
  kSetItems = 'u',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kMemoize = 0x94,
  kGlobal = 'c',
  kStackGlobal = 0x93,
  kReduce = 'R',
  kBuild = 'b',
  kBinPersId = 'Q',
};

// Returns "NEWOBJ (0x81)" for any opcode of Python's pickle, and "an unknown opcode (0x00)" for
// another byte.
std::string opcode_name(uint8_t opcode);

}  // namespace encode
