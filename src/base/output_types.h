// The types of a final matrix, and the types of the items in its file. facts_of() states everything
// that decides how a type is named, stored, described and compared, and a type that is missing
// there does not compile. The conversions are in store/quantize.cc. Any thread may call these
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "encode/types.h"

#include "base/names.h"

namespace encode {

// The type of an item of a matrix file.
enum class ItemType { kFloat32, kFloat16, kInt8, kUint8 };

struct ItemFacts {
  std::string_view name = "";  // as NumPy writes it into the header of a .npy file
  std::string_view word = "";  // for people
  int64_t bytes = 0;
  bool floating = false;  // true: a floating-point number; false: an integer
  // The highest bit of a signed integer; 0 for other types. A quantized item of a signed type is
  // the item of the unsigned type minus half the range of the type, so the two differ only in this
  // bit.
  unsigned sign_bit = 0;
};

constexpr ItemFacts facts_of(ItemType type) {
  switch (type) {
    case ItemType::kFloat32:
      return {.name = "<f4", .word = "float32", .bytes = 4, .floating = true};
    case ItemType::kFloat16:
      return {.name = "<f2", .word = "float16", .bytes = 2, .floating = true};
    case ItemType::kInt8:
      return {.name = "|i1", .word = "int8", .bytes = 1, .sign_bit = 0x80};
    case ItemType::kUint8:
      return {.name = "|u1", .word = "uint8", .bytes = 1};
  }
  return {};
}

// How a number of a vector is stored.
enum class Quantization {
  kNone,    // the number itself, rounded to the type of the item
  kScalar,  // how many whole steps it is above the lowest value of its column
  kBinary,  // whether it is above zero
};

struct OutputFacts {
  std::string_view name = "";
  ItemType item = ItemType::kFloat32;
  Quantization quantization = Quantization::kNone;
  // The bits of a number. If an item has more bits, it holds several numbers, the first of them in
  // its highest bits. A kScalar divides the range of a column into 2^bits - 1 steps.
  int64_t bits = 0;
};

constexpr OutputFacts facts_of(OutputType type) {
  constexpr Quantization kScalar = Quantization::kScalar;
  constexpr Quantization kBinary = Quantization::kBinary;
  switch (type) {
    case OutputType::kFloat32:
      return {.name = "float32", .item = ItemType::kFloat32, .bits = 32};
    case OutputType::kFloat16:
      return {.name = "float16", .item = ItemType::kFloat16, .bits = 16};
    case OutputType::kInt8:
      return {.name = "int8", .item = ItemType::kInt8, .quantization = kScalar, .bits = 8};
    case OutputType::kUint8:
      return {.name = "uint8", .item = ItemType::kUint8, .quantization = kScalar, .bits = 8};
    case OutputType::kBinary:
      return {.name = "binary", .item = ItemType::kInt8, .quantization = kBinary, .bits = 1};
    case OutputType::kUbinary:
      return {.name = "ubinary", .item = ItemType::kUint8, .quantization = kBinary, .bits = 1};
  }
  return {};
}

constexpr ItemFacts item_facts(OutputType type) { return facts_of(facts_of(type).item); }

// All types, in the order of their enumerators.
inline constexpr auto kItemTypes = names_from_facts<ItemType>();
inline constexpr auto kOutputTypes = names_from_facts<OutputType>();

// These functions list names for texts.
std::string output_types_in_words();     // "float32, float16, int8, uint8, binary or ubinary"
std::string quantized_types_in_words();  // "int8, uint8, binary and ubinary"
std::string ranged_types_in_words();     // "int8 and uint8": the types for which has_ranges()
std::string item_types_in_words();       // "float32, float16, int8 or uint8"

}  // namespace encode
