// What the store records of the rows of a chunk: plain values. Any thread may call the functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "encode/types.h"

namespace encode {

// Counts over a range of rows. The worker counts; the log of the chunks and the manifest record the
// counts.
struct RowStats {
  // The tokens that were encoded. With token embeddings it is the number of vectors: tokens of a
  // skip list have none.
  int64_t tokens = 0;
  int64_t truncated_rows = 0;
  int64_t lost_tokens = 0;      // the tokens that max_length cut off
  int64_t zero_token_rows = 0;  // rows without any token, which get a vector of zeros
  // Rows that were computed again in float32, because their 16-bit vectors were not finite.
  int64_t redone_rows = 0;
  int64_t set_aside_rows = 0;  // see SetAsideRow; such a row counts in no other field
  // The passages that have a vector, if StreamIdentity::passages is true. zero_token_rows then
  // counts the passages without any token.
  int64_t passages = 0;
  void add(const RowStats& other);
};

// A row that was cut to max_length tokens. A ledger is a file of JSON lines beside a matrix or a
// chunk that lists rows: the truncation ledger has one line for each truncated row.
struct TruncatedRow {
  int64_t row = 0;          // the row of the stream
  int64_t tokens = 0;       // the tokens that were encoded, special tokens included
  int64_t lost_tokens = 0;  // at least 1
};

// A passage that has a vector. The places are in the text of the row, in which U+FFFD has replaced
// invalid UTF-8. The file of the passages has these numbers in this order.
struct PassagePlace {
  int64_t row = 0;                       // the row of the stream
  int64_t passage = 0;                   // the number of the passage in its row, from 0
  int64_t byte_begin = 0, byte_end = 0;  // bytes of UTF-8
  int64_t char_begin = 0, char_end = 0;  // code points
  int64_t tokens = 0;                    // that were encoded, with the prompt and special tokens

  bool operator==(const PassagePlace&) const = default;
};

// A row that was set aside: it has no vector, because encoding it failed, and all other rows of the
// stream are encoded without it. The chunk of the row has zeros in its place and lists the row in a
// ledger. QuarantinePolicy decides what the final matrix has. The texts come from errors: escape
// them before they are shown.
struct SetAsideRow {
  int64_t row = 0;      // the row of the stream
  std::string code;     // ErrorDetail::code of the failure; a ledger keeps the first 100 bytes
  std::string message;  // one line without the text of the row; a ledger keeps the first 500 bytes

  bool operator==(const SetAsideRow&) const = default;
};

// The size and the hash that a file beside a matrix must have.
struct FileSeal {
  int64_t file_bytes = 0;
  std::string xxh3_128;  // the hash of the whole file, 32 hex digits
};

// The device and the software that computed a range of rows. The fingerprint does not have it: a
// run may continue on another machine, and the last bits of a result may differ there.
struct ChunkOrigin {
  std::string device;         // DeviceFacts::name: "cpu (amx)", "NVIDIA H100 80GB HBM3"
  std::string libtorch = {};  // the version; "" in records that are older than this field
  std::string driver = {};    // the version of the GPU's driver; "" on a CPU
  int64_t batch_tokens = 0;   // BatchPlan::budget_tokens; 0 in records older than this field
  // A hash of the algorithms of the matrix products, from versions that searched for them, or ""
  std::string products = {};
  std::string kernels = {};   // DeviceFacts::kernels; "" on a CPU and in records older than this
  int64_t cuda_numerics = 0;  // kCudaNumericsVersion (protocol/device_kind.h); 0 without `kernels`

  // Returns true if the device and the versions are the same.
  bool same_kind(const ChunkOrigin& other) const {
    return device == other.device && libtorch == other.libtorch && driver == other.driver;
  }
  // Returns false if the two origins show that equal rows may have got different bits.
  bool same_bits(const ChunkOrigin& other) const {
    if (!same_kind(other) || products != other.products) return false;
    return lacks_kernels(other) ||
           (kernels == other.kernels && cuda_numerics == other.cuda_numerics);
  }
  // Returns true if only one of the two says which CUDA kernels have computed.
  bool lacks_kernels(const ChunkOrigin& other) const {
    return kernels.empty() != other.kernels.empty();
  }
  bool operator==(const ChunkOrigin&) const = default;
};

// One committed chunk. chunks.log has one line for each of them.
struct ChunkRecord {
  int64_t index = 0;
  RowRange rows;
  int64_t file_bytes = 0;
  std::string xxh3_128;  // the hash of the whole chunk file, 32 hex digits
  RowStats stats;
  ChunkOrigin origin;
  std::optional<FileSeal> ledger = {};     // present if the chunk has truncated rows
  std::optional<FileSeal> offsets = {};    // present if StreamIdentity::has_offsets()
  std::optional<FileSeal> set_aside = {};  // present if the chunk has rows that were set aside
  std::optional<FileSeal> passages = {};   // present if the vectors are those of passages
};

}  // namespace encode
