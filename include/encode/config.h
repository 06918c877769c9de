// What a run is: read from YAML and flags by the config module, plain data from there on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/types.h"

namespace encode {

// How bytes become rows. `kAuto` goes by the file name, a compression suffix (.gz, .zst) taken off
// first.
enum class TextFormat { kAuto, kLines, kJsonl, kCsv, kTsv };
enum class BadRowPolicy { kError, kReject };  // kReject: dropped, listed in <name>.rejected.jsonl
enum class EmptyRowPolicy { kKeep, kReject, kError };
// kReplace: U+FFFD per maximal invalid subpart, counted. kError: such a row is a bad row.
enum class Utf8Policy { kReplace, kError };

struct InputOptions {
  std::string path;   // "-" is standard input
  std::string field;  // JSONL: name or JSON pointer ("/a/b"); CSV and TSV: column name; txt: empty
  TextFormat format = TextFormat::kAuto;
  BadRowPolicy bad_row = BadRowPolicy::kError;
  EmptyRowPolicy empty_row = EmptyRowPolicy::kKeep;
  Utf8Policy utf8 = Utf8Policy::kReplace;
  int64_t max_row_bytes = 1 << 20;  // 1 to 64 MiB; a longer row is a bad row
  int64_t limit_rows = 0;           // 0: all

  bool operator==(const InputOptions&) const = default;
};

// Everything that changes the numbers. Part of the fingerprint, every field; a test enumerates
// them. An empty optional means "as the model directory says".
struct ResultOptions {
  std::string model;  // directory, or hub id found in the local Hugging Face cache
  std::optional<std::string> revision;  // hub id only
  std::optional<PoolingMode> pooling;
  std::optional<bool> normalize;
  std::optional<int64_t> truncate_dim;     // columns that are kept (Matryoshka models)
  std::optional<int64_t> max_length;       // tokens, special tokens included
  std::optional<std::string> prompt;       // literal text put before every row
  std::optional<std::string> prompt_name;  // a name in the model's `prompts`
  std::optional<bool> causal;              // overrides config.json's is_causal for decoder models
  ComputeType dtype = ComputeType::kFloat32;
  MatmulPrecision float32_matmul_precision = MatmulPrecision::kHighest;  // for dtype float32

  bool operator==(const ResultOptions&) const = default;
};

// Everything that changes only the speed and the memory. Never part of the fingerprint.
struct SpeedOptions {
  // A budget of tokens in the form that users know: a batch takes at most as many tokens as this
  // many rows of max_length, filled with as many shorter rows as fit. 0: no such limit.
  int64_t batch_size = 0;
  int64_t batch_tokens = 0;              // tokens in a batch at most; 0: chosen for the device
  int64_t threads = 0;                   // compute threads on CPU; 0: the container's CPU quota
  int64_t tokenizer_threads = 0;         // 0: chosen
  int64_t prefetch_bytes = 256LL << 20;  // host memory for texts and ids read ahead

  bool operator==(const SpeedOptions&) const = default;
};

// One stream of one split: one input, one final matrix.
struct StreamConfig {
  std::string split;   // "train"
  std::string stream;  // "tc"
  InputOptions input;
  ResultOptions result;
  SpeedOptions speed;

  std::string name() const { return split.empty() ? stream : split + "_" + stream; }  // "train_tc"

  bool operator==(const StreamConfig&) const = default;
};

// A matrix made of the columns of several streams of one split, in this order.
struct CombineConfig {
  std::string split;
  std::vector<std::string> streams;

  bool operator==(const CombineConfig&) const = default;
};

// Rows in a chunk when the user gives no number, or 0.
inline constexpr int64_t kDefaultChunkRows = 1000;

struct StoreOptions {
  std::string cache_dir;  // holds chunks, logs, status and, where `output` is empty, the finals
  std::string output;     // `encode run --output FILE`: the one final's own path; else empty
  bool use_chunked_encoding = true;
  int64_t chunk_size = kDefaultChunkRows;  // rows; 0: kDefaultChunkRows
  bool save_chunks = true;
  bool keep_chunk_cache = false;
  FinalFormat final_format;  // changes the finals only, never the chunks
  bool fresh = false;        // throw away what an earlier, different run left

  bool operator==(const StoreOptions&) const = default;
};

struct HardwareOptions {
  std::string device = "auto";  // auto | cpu | cuda | cuda:N
  // Refuses to go on with chunks of another kind of device or another version of LibTorch or the
  // driver, whose last bits may differ; false: a warning.
  bool strict_numerics = false;
  bool expandable_segments = true;
  std::string allocator_conf;  // merged over the above, PyTorch's PYTORCH_ALLOC_CONF syntax
  int64_t max_restarts = 5;    // of a worker without progress

  bool operator==(const HardwareOptions&) const = default;
};

struct LogOptions {
  std::string level = "info";  // trace | debug | info | warning | error
  std::string file;            // empty: <cache_dir>/encode.log
  bool json = false;           // JSON lines on standard output instead of text
  bool progress = true;

  bool operator==(const LogOptions&) const = default;
};

struct RunConfig {
  std::string config_path;            // empty: flags only
  std::vector<StreamConfig> streams;  // in the order in which they are encoded
  std::vector<CombineConfig> combine;
  StoreOptions store;
  HardwareOptions hardware;
  LogOptions log;

  bool operator==(const RunConfig&) const = default;
};

}  // namespace encode
