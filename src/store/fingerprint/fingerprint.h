// The fingerprint of a stream: all inputs that determine the numbers in its embeddings.
//
// Two runs may share chunks only if their fingerprints are equal. The device and the software
// versions that computed a chunk are not part of the fingerprint; ChunkOrigin records them for each
// chunk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"
#include "encode/store.h"
#include "encode/text.h"

namespace encode {

struct Fingerprint {
  // Must be increased if a new version of encode computes other bits from the same fields.
  static constexpr int64_t kVersion = 9;
  // Must be increased if a new version of encode computes other bits from the same token ids. The
  // keys of the embedding cache have it.
  static constexpr int64_t kNumericsVersion = 1;

  InputOptions input;  // the paths do not count, so that moved files keep their cache
  // The files of the input, in their order. Their sizes, hashes and suffixes of compression count.
  std::vector<InputScan::File> input_files;
  std::vector<FileHash> model_files;  // every model file that can change a result
  // to_text() leaves out the paths and the tensors in `result`, because model_files has the hashes
  // of the files.
  EffectiveResult result;
  // The external library that tokenizes. It is "", because encode itself tokenizes for every model
  // directory. Older programs wrote "sentencepiece 0.1.97" for a directory with a .model file.
  std::string tokenizer_library = {};
};

// Returns StreamIdentity::fingerprint: JSON with sorted keys and no spaces. It names the effective
// format of the input, so that "auto" for texts.jsonl.gz equals "jsonl".
std::string to_text(const Fingerprint& fingerprint);

// One of the matrices (parts) that a combined matrix has side by side.
struct CombinedPart {
  StreamIdentity identity;
  std::string xxh3_128;  // the checksum of the part's file
};
// Throws Error kData "store.damaged" if a fingerprint of a part is not a JSON object.
std::string combined_fingerprint(const std::vector<CombinedPart>& parts);

// Returns a fingerprint without its input: only the model, the result options and the tokenizer.
// Throws Error kData "store.damaged" if the text is not a JSON object.
std::string without_input(const std::string& text);

// Returns true if the fingerprint `text` is of these rows: `input` reads `files` in the same way.
// Throws as without_input() does.
bool has_input(const std::string& text, const InputOptions& input,
               const std::vector<InputScan::File>& files);

// Returns the Fingerprint::kVersion in the text, or 0 if the text has none, for example the
// fingerprint of a combined matrix. A text that is not JSON has none.
int64_t version_of(std::string_view text);

// Returns whether the last step scales every vector to norm 1. It also reads fingerprints of older
// versions. Throws as without_input() does.
bool says_normalized(const std::string& text);

// Returns whether the Python code of the model was ignored. It also reads fingerprints of other
// versions. Throws as without_input() does.
bool says_custom_code_ignored(const std::string& text);

// Returns one line for each field that differs, at most 20 lines. A line has the path of the field:
// "result.max_length: cache has 256, this run has 128", or "input: other content than before (the
// checksum differs)" for a checksum. If the fingerprints have different versions, their fields
// cannot be compared, and the only line names the versions.
std::string describe_differences(const StreamIdentity& cache, const StreamIdentity& run);

}  // namespace encode
