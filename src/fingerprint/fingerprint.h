// The fingerprint of a stream holds everything that decides the numbers in its embeddings.
//
// Two runs may share chunks only if their fingerprints are equal. The device and the versions that
// computed a chunk are not part of the fingerprint; ChunkOrigin records them for each chunk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"
#include "encode/store.h"

namespace encode {

struct Fingerprint {
  // Increased by one whenever a new version computes other bits from the same fields.
  static constexpr int64_t kVersion = 7;

  InputOptions input;        // without `path`, so that the cache of a moved file stays valid
  int64_t input_bytes = 0;   // the size of the input file on disk, before any decompression
  std::string input_sha256;  // the SHA-256 of the same bytes, 64 hex digits
  std::vector<FileHash> model_files;  // every model file that can change a result
  // The text leaves out the paths and tensors in it, because model_files has the hashes of the
  // files.
  EffectiveResult result;
  // The external library that tokenizes, "sentencepiece 0.1.97"; "" if encode itself tokenizes.
  std::string tokenizer_library;
};

// Returns StreamIdentity::fingerprint: JSON with sorted keys and no spaces. It names the effective
// format of the input, so that "auto" for texts.jsonl.gz equals "jsonl".
std::string to_text(const Fingerprint& fingerprint);

// One part of a combined matrix, which has the columns of its parts side by side.
struct CombinedPart {
  StreamIdentity identity;
  std::string xxh3_128;  // the checksum of the part's file
};
// Throws nlohmann::json::parse_error if a fingerprint of a part is not JSON.
std::string combined_fingerprint(const std::vector<CombinedPart>& parts);

// Returns a fingerprint without its input: only the model, the result options and the tokenizer.
// Throws nlohmann::json::parse_error if the text is not JSON.
std::string without_input(const std::string& text);

// Returns the Fingerprint::kVersion in the text, or 0 if the text has none, for example the
// fingerprint of a combined matrix. A text that is not JSON has none.
int64_t version_of(std::string_view text);

// Returns whether the last step scales every vector to norm 1. It also reads fingerprints of older
// versions. Throws as without_input() does.
bool says_normalized(const std::string& text);

// Returns one line for each field that differs, at most 20, with its path in dots: "input.sha256:
// cache has ab.., this run has cd..". Fields of two versions cannot be compared, so fingerprints of
// two versions give one line that names the versions.
std::string describe_differences(const StreamIdentity& cache, const StreamIdentity& run);

}  // namespace encode
