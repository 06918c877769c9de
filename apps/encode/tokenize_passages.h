// The passages that `encode tokenize --passages` writes.
#pragma once

#include "encode/error.h"
#include "encode/text.h"

#include "line_output.h"
#include "token_statistics.h"
#include "tokenizer/passages.h"

namespace encode {

// The rows whose passages are written.
struct PassageSource {
  TextReader& reader;
  const PassageCutter& cutter;
  bool framed = false;  // the input has InputOptions::passage_field
};

struct PassageCounts {
  int64_t rows = 0;     // with passages
  int64_t refused = 0;  // without: a run sets them aside (refuses_row())
  ErrorDetail first_refusal = {};
  double seconds = 0;  // of cutting and tokenizing
};

// Writes a line for each passage of each row: its row, its number in the row, its place, its tokens
// and its text, and with InputOptions::passage_field (`framed`) also the text that is encoded. Adds
// the passages to `statistics`. Writes nothing for a row that a run would set aside. Throws what
// TextReader, PassageCutter and LineOutput throw, and Error kData "tokenize.input_ids" for a row of
// token ids.
PassageCounts write_passages(const PassageSource& source, LineOutput& output,
                             TokenStatistics& statistics);

// Throws Error kData "tokenize.input_ids" if the row consists of token ids.
void require_text(const Text& text);

}  // namespace encode
