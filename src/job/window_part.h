// Makes the parts of windows: what is counted and listed of their rows before they are encoded. Any
// thread may call the functions. They throw no Error.
#pragma once

#include "job/slice_tokenizer.h"
#include "job/window_producer.h"

namespace encode {

// Returns the part of rows that are one sequence each, without its chunk. `set_aside` of the rows
// were set aside and so have no tokens.
WindowPart part_of_rows(RowRange rows, const TokenizedRows& sequences, int64_t set_aside);

// Returns the part of rows that are cut into passages, without its chunk.
WindowPart part_of_passages(RowRange rows, const TokenizedTexts& texts, RowVector row_vector);

}  // namespace encode
