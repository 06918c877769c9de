#include "base/input_error_codes.h"

namespace encode {

std::vector<ErrorCodes> input_error_codes() {
  return {
      {{"gzip.corrupt", "gzip.truncated", "zstd.corrupt", "zstd.truncated"},
       "65",
       "a compressed input is damaged or cut off"},
      {{"json.array"},
       "65",
       "a .json file is not an array, or its structure is damaged, so that it is unknown where the "
       "next element begins"},
      {{"jsonl.blank", "jsonl.depth", "jsonl.syntax", "jsonl.type", "jsonl.input_ids"},
       "65",
       "a line, or an element of a JSON array, is not a JSON object, or its field is neither a "
       "string nor a list of token ids"},
      {{"jsonl.duplicate"}, "65", "the field appears twice in one object"},
      {{"jsonl.missing"}, "65", "the field is missing"},
      {{"jsonl.pointer"}, "78", "`field` is not a valid JSON pointer"},
      {{"text.changed"},
       "74",
       "an input changed during the run: its rows are not the ones that were read when the run "
       "began. Committed chunks are kept, and no chunk of the changed rows is added"},
      {{"text.empty"}, "65", "a row is empty, and the config has `empty_row: error`"},
      {{"text.encoding"}, "65", "the input is not UTF-8 text, but UTF-16 or binary data"},
      {{"text.field"}, "78", "a text file of lines has no fields"},
      {{"text.files"},
       "66, 78 (77, 74)",
       "a pattern has no match, a folder is not one that `datasets.save_to_disk` wrote, or an "
       "input "
       "has too many files"},
      {{"text.format"},
       "78",
       "the file name does not state the format, or a Parquet or Arrow file has the suffix .gz or "
       ".zst"},
      {{"text.lfs_pointer"},
       "65",
       "an input is a Git LFS pointer: its real content was not fetched"},
      {{"text.max_row_bytes"}, "78", "`max_row_bytes` is out of range"},
      {{"text.open"}, "66 (77)", "an input is missing or not a regular file"},
      {{"text.prompt_and_ids"}, "78", "a prompt cannot be put before rows of token ids"},
      {{"text.record_limit", "text.too_long"}, "65", "a row is longer than allowed"},
      {{"text.seek", "text.stdin"}, "70", "a defect of `encode`"},
      {{"text.utf8"}, "65", "a row is not valid UTF-8, and the config has `utf8: error`"},
      {{"zstd.window"},
       "65",
       "a zstd file has a window that is too large for the memory of the host "
       "([inputs.md](inputs.md"
       "#compressed-files))"},
  };
}

}  // namespace encode
