// The fingerprint of a stream: everything that decides the bits of its embeddings, in one value.
//
// Two runs may share chunks exactly when their fingerprints are equal. What they were computed on
// is not part of it: ChunkOrigin records that chunk by chunk.
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
  // Grows by one whenever the same fields would give other bits. 7: the fields of today.
  static constexpr int64_t kVersion = 7;

  InputOptions input;        // `path` is left out, so that a file that was moved keeps its cache
  int64_t input_bytes = 0;   // of the file as it lies on disk
  std::string input_sha256;  // of the same bytes, in hexadecimal digits
  std::vector<FileHash> model_files;  // of every file that can change a result
  // Paths are left out, and what the model's files decide stands in their hashes.
  EffectiveResult result;
  // The library that turns texts into ids when it is not ours: "sentencepiece 0.1.97", or "".
  std::string tokenizer_library;
};

// StreamIdentity::fingerprint: JSON with sorted keys and no spaces. The input's format is the one
// in effect, so that "auto" for texts.jsonl.gz equals "jsonl".
std::string to_text(const Fingerprint& fingerprint);

// The fingerprint of a matrix that has the columns of others side by side.
struct CombinedPart {
  StreamIdentity identity;
  std::string xxh3_128;  // of the part's file
};
std::string combined_fingerprint(const std::vector<CombinedPart>& parts);

// What the text says of the vectors whatever the input is: its model, result options and tokenizer.
std::string without_input(const std::string& text);

// Fingerprint::kVersion of the program that wrote the text; 0 for a text that states none, as a
// combined matrix's.
int64_t version_of(std::string_view text);

// Does the text say that the last step makes every vector's norm 1? Texts of older versions do too.
bool says_normalized(const std::string& text);

// One line for each field that differs, its path in dots: "input.sha256: cache has ab.., this run
// has cd..". For texts of two versions one line that says so: their fields cannot be compared.
std::string describe_differences(const StreamIdentity& cache, const StreamIdentity& run);

}  // namespace encode
