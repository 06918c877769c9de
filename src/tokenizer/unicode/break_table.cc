#include "tokenizer/unicode/break_table.h"

#include <memory>
#include <span>

#include "tokenizer/unicode/break_data.h"

namespace encode::unicode {

const CodePointTable<uint8_t>& break_table() {
  static const std::unique_ptr<const CodePointTable<uint8_t>> table =
      std::make_unique<CodePointTable<uint8_t>>(std::span(kBreakStarts, kBreakStartsSize),
                                                std::span(kBreakValues, kBreakValuesSize));
  return *table;
}

}  // namespace encode::unicode
