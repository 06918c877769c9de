// The description of a run: plain data. The config module makes it from YAML and flags; all other
// modules only read it. The member functions throw no Error. docs/config.md describes every setting
// for users.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/device.h"
#include "encode/types.h"

namespace encode {

// How the bytes of an input become rows. kAuto chooses by the suffix of the file name, after a
// compression suffix (.gz, .zst) is removed.
enum class TextFormat { kAuto, kLines, kJsonl, kJson, kCsv, kTsv, kParquet, kArrow };
// What happens to a row that cannot be read. kError ends the run. kReject drops the row and lists
// it in <name>.rejected.jsonl.
enum class BadRowPolicy { kError, kReject };
enum class EmptyRowPolicy { kKeep, kReject, kError };
// What happens to invalid UTF-8. kReplace puts U+FFFD in place of each maximal invalid subpart, and
// counts the row. kError makes the row a bad row.
enum class Utf8Policy { kReplace, kError };
// What happens if a record does not have the field of the text or a field of its template, or if it
// is null. kError makes the row a bad row. With kEmpty the text is empty, or has nothing in place
// of the field.
enum class MissingFieldPolicy { kError, kEmpty };

// The filter of the rows: only records for which it is true become rows. All streams of a split
// have the same filter, so that they keep the same records.
struct InputFilter {
  std::string where = {};  // see WhereFilter in base/where_filter.h; "": every record becomes a row
  // The input whose fields the filter names, which has a record for each record of this input.
  // Empty: this input. The members below belong to it.
  std::vector<std::string> paths = {};
  TextFormat format = TextFormat::kAuto;
  Utf8Policy utf8 = Utf8Policy::kReplace;
  int64_t max_row_bytes = 0;

  bool any() const { return !where.empty(); }
  bool reads_other_input() const { return !paths.empty(); }
  bool operator==(const InputFilter&) const = default;
};

struct InputOptions {
  // A file, a folder that datasets.save_to_disk wrote, or a pattern such as data/part-*.jsonl; see
  // input_files(); "-": standard input.
  std::string path;
  // Further paths of this kind, which follow `path`. All files have the same format.
  std::vector<std::string> more_paths = {};
  // The field that holds the text of a row. JSONL: a name or a JSON pointer ("/a/b"). JSON: the
  // same, or empty if each element of the array is a text. CSV, TSV, Parquet and Arrow: a column
  // name. Lines: empty.
  std::string field;
  // A template of the text of a row, such as "{title}: {/body/main}"; see TextTemplate in
  // base/text_template.h. "": the text is `field`. One of the two is empty.
  std::string text_template = {};
  // The field of the template whose text is cut into passages. The text around it is put around
  // every passage. "": the whole text is cut.
  std::string passage_field = {};
  MissingFieldPolicy missing_field = MissingFieldPolicy::kError;
  TextFormat format = TextFormat::kAuto;
  BadRowPolicy bad_row = BadRowPolicy::kError;
  EmptyRowPolicy empty_row = EmptyRowPolicy::kKeep;
  Utf8Policy utf8 = Utf8Policy::kReplace;
  int64_t max_row_bytes = 1 << 20;  // 1 byte to 64 MiB; a longer row is a bad row
  int64_t limit_rows = 0;           // the most rows that are accepted; 0: no limit
  InputFilter filter = {};

  bool is_standard_input() const { return path == "-"; }
  bool names_fields() const { return !field.empty() || !text_template.empty(); }
  bool operator==(const InputOptions&) const = default;
};

// The passages that the rows of a stream are cut into.
struct PassageOptions {
  // nullopt: as many as a row of the model may have; with PassageVectors::kLate half of them
  std::optional<int64_t> max_tokens;
  int64_t overlap = 0;            // as in PassageRule
  std::optional<PassageUnit> by;  // nullopt: sentence
  PassageVectors vectors = PassageVectors::kAlone;
  RowVector row_vector = RowVector::kNone;
  bool none = false;  // true: the rows are not cut, whatever the other options say

  // False: the rows are not cut.
  bool cuts() const { return !none && (max_tokens || by); }
  bool operator==(const PassageOptions&) const = default;
};

// Everything that changes the numbers of a result. Every field is part of the fingerprint, and a
// test checks that none is missing there. An empty optional means "as the model directory says".
struct ResultOptions {
  std::string model;  // a directory, or a hub id that is in the local Hugging Face cache
  std::optional<std::string> revision;  // only for a hub id
  std::optional<PoolingMode> pooling;
  std::optional<bool> normalize;
  std::optional<int64_t> truncate_dim;     // the number of columns to keep (Matryoshka models)
  std::optional<int64_t> max_length;       // in tokens, special tokens included
  std::optional<std::string> prompt;       // literal text that is put before every row
  std::optional<std::string> prompt_name;  // a name in the model's `prompts`
  std::optional<bool> causal;              // overrides config.json's is_causal for decoder models
  ComputeType dtype = ComputeType::kFloat32;
  MatmulPrecision float32_matmul_precision = MatmulPrecision::kHighest;  // only for float32
  VectorPrecision vector_precision = VectorPrecision::kFloat32;
  SpecialTokensRule special_tokens = SpecialTokensRule::kByClass;
  // True: a directory that names Python code of its own is encoded as if it named none.
  bool ignore_custom_code = false;
  PassageOptions passages = {};

  bool operator==(const ResultOptions&) const = default;
};

// The batch_size of a config that does not give one. SpeedOptions without a config has no limit.
inline constexpr int64_t kDefaultBatchSize = 32;

// Everything that changes only the speed and the memory. It is never part of the fingerprint.
struct SpeedOptions {
  // Limits a batch to batch_size x max_length tokens. A batch of shorter rows may therefore have
  // more rows than batch_size. 0: no such limit.
  int64_t batch_size = 0;
  // The most tokens in a batch; 0: a number that suits every device of the kind.
  int64_t batch_tokens = 0;
  int64_t threads = 0;                   // compute threads on a CPU; 0: the container's CPU quota
  int64_t tokenizer_threads = 0;         // 0: chosen by the program
  int64_t prefetch_bytes = 256LL << 20;  // host memory for texts and ids that are read ahead

  bool operator==(const SpeedOptions&) const = default;
};

// The limits of a batch that the config leaves to the run (`auto`). The run chooses them when it
// starts. Until then they are 0 in SpeedOptions.
struct AutoBatch {
  bool size = false;    // SpeedOptions::batch_size
  bool tokens = false;  // SpeedOptions::batch_tokens

  bool any() const { return size || tokens; }
  bool operator==(const AutoBatch&) const = default;
};

// One stream of one split. It has one input and one final matrix.
struct StreamConfig {
  std::string split;   // "train"; "" if the run has only `input`
  std::string stream;  // for example "tc"
  InputOptions input;
  ResultOptions result;
  SpeedOptions speed;
  AutoBatch auto_batch = {};

  std::string name() const { return split.empty() ? stream : split + "_" + stream; }  // "train_tc"

  bool operator==(const StreamConfig&) const = default;
};

// A matrix that holds the columns of several streams of one split side by side, in this order.
struct CombineConfig {
  std::string split;
  std::vector<std::string> streams;

  bool operator==(const CombineConfig&) const = default;
};

// If the user gives no chunk size, or 0, a chunk has 1/kDefaultChunks of the rows of its stream,
// but at least kLeastDefaultChunkRows and at most kMostDefaultChunkRows. So an interruption costs a
// small part of the stream, and a stream of few rows has few files.
inline constexpr int64_t kDefaultChunks = 20;
inline constexpr int64_t kLeastDefaultChunkRows = 50;
inline constexpr int64_t kMostDefaultChunkRows = 1000;
// The value of StoreOptions::chunk_size for `auto`: the run chooses a size for each stream.
inline constexpr int64_t kAutoChunkRows = -1;

// How `encode merge` publishes the rows of shards: as many files, a part for each shard, or as one
// .npy file.
enum class OutputParts { kMany, kOne };

struct StoreOptions {
  std::string cache_dir;  // holds chunks, logs, status and, if `output` is empty, final matrices
  std::string output;     // `encode run --output FILE`: the path of the only final matrix; or ""
  // The cache directory of the user, which gets the final matrices, if the run works in a directory
  // of its own (supervisor/own_attempt.h). `cache_dir` is then this own directory. Otherwise "".
  std::string shared_dir = {};
  bool use_chunked_encoding = true;  // false: the standard mode, one pass without chunk files
  int64_t chunk_size = 0;            // in rows; 0: see kDefaultChunks; or kAutoChunkRows
  bool save_chunks = true;           // false: also selects the standard mode
  bool keep_chunk_cache = false;     // true: the chunks of a finished stream are kept
  FinalFormat final_format;          // changes only the final matrices, never the chunks
  OutputParts parts = OutputParts::kMany;
  // What a final matrix has in place of a row that could not be encoded. The chunks do not depend
  // on it.
  QuarantinePolicy quarantine = QuarantinePolicy::kError;
  bool fresh = false;  // true: the run deletes what an earlier run left, and starts over
  // True: at the paths of its outputs, the run may also replace files that encode did not write.
  bool overwrite = false;

  // Returns the directory of the final matrices if `output` is empty.
  const std::string& matrix_dir() const { return shared_dir.empty() ? cache_dir : shared_dir; }
  // False: the standard mode.
  bool chunked() const { return use_chunked_encoding && save_chunks; }
  // Returns the number of rows in a chunk of a stream with `rows` rows. With kAutoChunkRows the run
  // later replaces it by a number of its own choice.
  int64_t chunk_rows(int64_t rows) const {
    if (chunk_size > 0) return chunk_size;
    const int64_t part = rows / kDefaultChunks + (rows % kDefaultChunks > 0 ? 1 : 0);
    return std::clamp(part, kLeastDefaultChunkRows, kMostDefaultChunkRows);
  }
  bool operator==(const StoreOptions&) const = default;
};

// The embedding cache: vectors that later rows, streams and runs use again. It never changes a
// result.
struct EmbeddingCacheOptions {
  std::string dir;  // the folder of the cache on disk; "": there is no embedding cache
  int64_t memory_bytes = 256'000'000;   // for the tiers in memory
  int64_t disk_bytes = 10'000'000'000;  // the most that the file on disk takes

  bool operator==(const EmbeddingCacheOptions&) const = default;
};

// If HardwareOptions::worker_chunks gives no number, a worker on a GPU is replaced after
// kLeastGpuChunks chunks, but not before its encoding has taken kStartsPerRetirement times as long
// as its start, so that starts cost at most 1 % of the time. After kMostGpuChunks chunks it is
// always replaced.
inline constexpr int64_t kLeastGpuChunks = 50;
inline constexpr int64_t kStartsPerRetirement = 100;
inline constexpr int64_t kMostGpuChunks = 100'000;

struct HardwareOptions {
  DeviceChoice device = {};
  // A run has one worker for each of these devices, which must be of one kind and are not "auto".
  // Empty: `device`.
  std::vector<DeviceChoice> devices = {};
  bool all_devices = false;  // true: every CUDA device that the process sees; `devices` is empty
  // True: the run fails if the cache has chunks from another kind of device, or from another
  // version of LibTorch or the driver, because their last bits may differ. False: the run warns.
  bool strict_numerics = false;
  bool expandable_segments = true;
  // Settings of the CUDA allocator in the syntax of PyTorch's PYTORCH_ALLOC_CONF. They override
  // that environment variable and `expandable_segments`.
  std::string allocator_conf;
  // True: every CUDA kernel ends before the next one starts (CUDA_LAUNCH_BLOCKING=1), so that an
  // error names the call that caused it. The run is slower; the results are the same.
  bool synchronous_launches = false;
  int64_t max_restarts = 5;  // the most restarts of the worker without progress between them
  // A new worker replaces the old one after this number of chunks, so that leaked memory cannot
  // pile up; 0: never. nullopt: on a GPU as kLeastGpuChunks says, and never on a CPU.
  std::optional<int64_t> worker_chunks = {};
  int64_t memory_limit_bytes = 0;  // host memory of the run; 0: what the container or machine has
  // The run tries to stay below this percentage of its host memory (job/pressure_guard.h). 0: it
  // does not look at the memory.
  int64_t memory_pressure_percent = 85;

  bool operator==(const HardwareOptions&) const = default;
};

struct LogOptions {
  std::string level = "info";  // trace | debug | info | warning | error
  std::string file = {};       // "": <cache_dir>/encode.log
  bool json = false;           // true: standard output gets JSON lines instead of text
  bool progress = true;

  bool operator==(const LogOptions&) const = default;
};

struct RunConfig {
  std::string config_path;            // "": the run has no config file
  std::vector<StreamConfig> streams;  // in the order in which they are encoded
  std::vector<CombineConfig> combine;
  PaddingPolicy padding = PaddingPolicy::kNone;  // changes nothing but a note in the log
  StoreOptions store;
  EmbeddingCacheOptions embedding_cache;
  HardwareOptions hardware;
  LogOptions log;
  // A sentence for each given key that only earlier versions had.
  std::vector<std::string> retired_keys;

  bool operator==(const RunConfig&) const = default;
};

}  // namespace encode
