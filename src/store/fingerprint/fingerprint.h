// The fingerprint of a stream: all inputs that determine the numbers in its embeddings. Any thread
// may call the functions.
//
// Two runs may share chunks only if their fingerprints are equal. The device and the software
// versions that computed a chunk are not part of the fingerprint; ChunkOrigin records them for each
// chunk.
#pragma once

#include <cstdint>
#include <optional>
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

  InputOptions input;  // to_text() leaves out the paths, so that moved files keep their cache
  // The files of the input, in their order. to_text() writes their sizes, hashes and compressions.
  ScannedFiles input_files = {};
  // Takes the place of `input_files` if there are more than kMostUnlistedFiles.
  std::optional<FileList> input_list = {};
  std::string kept_xxh3_128 = {};     // InputScan::kept_xxh3_128
  std::vector<FileHash> model_files;  // every model file that can change a result
  // to_text() leaves out the paths and the tensors in `result`, because model_files has the hashes
  // of the files.
  EffectiveResult result;
};

// Returns StreamIdentity::fingerprint: JSON with sorted keys and no spaces. It names the effective
// format of the input, so that "auto" for texts.jsonl.gz equals "jsonl".
std::string to_text(const Fingerprint& fingerprint);

// The options of a run, read back from its fingerprint.
struct RecordedOptions {
  InputOptions input;  // without the paths, which a fingerprint does not have
  // The effective values, without the model and the revision. A fingerprint does not say whether
  // the options or the model directory gave a value. So `normalize` is nullopt, and `pooling` is
  // nullopt if there are several modes.
  ResultOptions result;
};

// Throws Error kData "store.damaged" if the text is not a fingerprint of Fingerprint::kVersion, for
// example if it is the fingerprint of a combined matrix.
RecordedOptions recorded_options(const std::string& text);

// One of the matrices (parts) whose columns a combined matrix has side by side.
struct CombinedPart {
  StreamIdentity identity;
  std::string xxh3_128;  // the checksum of the part's file
};
// Throws Error kData "store.damaged" if a fingerprint of a part is not a JSON object.
std::string combined_fingerprint(const std::vector<CombinedPart>& parts);

// Returns a fingerprint without its input: only the model, the result options and the tokenizer.
// Throws Error kData "store.damaged" if the text is not a JSON object.
std::string without_input(const std::string& text);

// Returns what decides the vector of a sequence of token ids: a fingerprint without its input and
// without its passages, whose vectors are those of rows with the same ids. Throws as
// without_input() does.
std::string of_sequences(const std::string& text);

// Returns the fingerprint of a shard: `text` with the hash of the shard's rows in place of the
// hashes of the input files. The options with which the rows were read stay. Throws as
// without_input() does.
std::string with_rows(const std::string& text, const std::string& blocks);

// Returns true if `text` is the fingerprint of a stream with the same `files`, read with the same
// options as in `input`. It does not look at the files that the filter reads, if it reads another
// input. Throws as without_input() does.
bool has_input(const std::string& text, const InputOptions& input, const ScannedFiles& files);

// Returns the sizes of the files of the input, in their order; empty for a combined matrix and for
// a list of files. Throws as without_input() does.
std::vector<int64_t> input_sizes(const std::string& text);

// Returns the Fingerprint::kVersion in the text. Returns 0 if the text has none, as the fingerprint
// of a combined matrix, or if it is not JSON.
int64_t version_of(std::string_view text);

// Returns true if the fingerprint says that every vector was scaled to norm 1. It also reads
// fingerprints of older versions. Throws as without_input() does.
bool says_normalized(const std::string& text);

// Returns true if the fingerprint says that the stream has a filter. For a combined matrix it
// returns false. Throws as without_input() does.
bool says_filtered(const std::string& text);

// Returns true if the fingerprint says that the filter of the stream read the input of another
// stream. Throws as without_input() does.
bool says_filtered_elsewhere(const std::string& text);

// Returns true if the fingerprint says that the Python code of the model was ignored. It also reads
// fingerprints of other versions. Throws as without_input() does.
bool says_custom_code_ignored(const std::string& text);

// The names of the model and of the input. (A fingerprint has only their hashes.) "" if a name is
// not known.
struct SourceNames {
  std::string model = {};
  std::string input = {};
};

// Returns a phrase that names the difference that people should look at first: "another max_length:
// 256 before, 128 now", "another model: a before, b now".
std::string first_difference(const StreamIdentity& cache, const StreamIdentity& run,
                             const SourceNames& before = {}, const SourceNames& now = {});

// Returns one line for each of the first eight fields that differ, and then "and 3 more" if there
// are more. A line has the path of the field: "result.max_length: cache has 256, this run has 128",
// or "input: other content than before (the checksum differs)" for a checksum. If the fingerprints
// have different versions, their fields cannot be compared, and the only line names the versions.
std::string describe_differences(const StreamIdentity& cache, const StreamIdentity& run);

}  // namespace encode
