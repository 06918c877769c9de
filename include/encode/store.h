// The cache directory: chunks that survive anything, and the final matrices made of them.
// docs/store-format.md is the format on disk; this header is its only reader and writer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encode/types.h"

namespace encode {

// What a stream's chunks belong to. Two runs share chunks exactly when `fingerprint` is byte-equal.
struct StreamIdentity {
  std::string
      name;  // "train_tc": chunks in <cache>/train_tc_chunks, final <cache>/train_tc_embeddings.npy
  std::string fingerprint;  // canonical JSON (sorted keys, no spaces): inputs, model, tokenizer,
                            // result options
  int64_t rows = 0;         // N, texts
  int64_t dim = 0;          // columns, float32
  // True: a row has a vector for each of its tokens. The matrix is [tokens of all rows, dim], and
  // the offsets beside it, int64 [N + 1], say where the vectors of a row begin.
  bool token_embeddings = false;
};

// Facts of a range of rows that are carried from the encoder to the manifest.
struct RowStats {
  int64_t tokens = 0;  // tokens encoded
  int64_t truncated_rows = 0;
  int64_t lost_tokens = 0;      // cut off by max_length
  int64_t zero_token_rows = 0;  // rows without any token: their vector is zero
  int64_t redone_rows = 0;      // not finite in a 16-bit type: computed in float32
  void add(const RowStats& other);
};

// A row that max_length cut; one line of a truncation ledger.
struct TruncatedRow {
  int64_t row = 0;          // of the stream
  int64_t tokens = 0;       // encoded, special tokens included
  int64_t lost_tokens = 0;  // at least 1
};

// What a file beside a matrix must look like.
struct FileSeal {
  int64_t file_bytes = 0;
  std::string xxh3_128;  // 32 hex digits, of the whole file
};

// What computed a range of rows. It is recorded and is no part of the fingerprint: a run may go on
// with its chunks on another machine, which may round the last bits in another way.
struct ChunkOrigin {
  std::string device;         // DeviceFacts::name: "cpu (amx)", "NVIDIA H100 80GB HBM3"
  std::string libtorch = {};  // version; "" in records that are older than this field
  std::string driver = {};    // version of the GPU's driver, "" on a CPU
  int64_t batch_tokens = 0;   // BatchPlan::budget_tokens; 0 in older records

  // The same device and the same versions: then the same row has the same bits.
  bool same_kind(const ChunkOrigin& other) const {
    return device == other.device && libtorch == other.libtorch && driver == other.driver;
  }
  bool operator==(const ChunkOrigin&) const = default;
};

// One committed chunk; one line of chunks.log.
struct ChunkRecord {
  int64_t index = 0;
  RowRange rows;
  int64_t file_bytes = 0;
  std::string xxh3_128;  // 32 hex digits, of the whole chunk file
  RowStats stats;
  ChunkOrigin origin;
  std::optional<FileSeal> ledger;   // of its truncated rows; none where it has none
  std::optional<FileSeal> offsets;  // exactly with token_embeddings
};

// An exclusive lock on a cache directory (an OFD lock on <cache>/LOCK), freed by the kernel when
// the last process that inherited it ends. The descriptor is passed on to the worker, so that no
// second run can start while a worker lives: it is opened close-on-exec, so hand it over on purpose
// (posix_spawn_file_actions_adddup2(actions, fd, fd)).
class CacheLock {
 public:
  // Creates the directory where needed. Throws Error: kTempFail where another run holds it (naming
  // its pid and host), kIoError where the file system has no locks, kCantCreate, kNoPermission.
  static CacheLock acquire(const std::string& cache_dir);
  CacheLock(CacheLock&& other) noexcept;
  CacheLock& operator=(CacheLock&&) = delete;
  ~CacheLock();
  int fd() const { return fd_; }

 private:
  explicit CacheLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// Writes one .npy of float32 vectors in bounded memory and publishes it by temp file, fsync,
// rename, fsync of the directory. Destroyed before it is published: the temp file is removed and
// nothing was changed. One thread. After a throw the writer is of no more use: destroy it and begin
// again.
class MatrixWriter {
 public:
  virtual ~MatrixWriter() = default;
  // `values` is a whole number of vectors, row-major. Throws Error kIoError (disk full, quota),
  // kData for a non-finite value, naming the row.
  virtual void append(std::span<const float> values) = 0;
  // How many vectors each of the next rows has; only, and for every row, with token_embeddings.
  virtual void append_lengths(std::span<const int32_t> lengths) = 0;
  // Rows that were truncated, for the ledger; in ascending order, all before the end.
  virtual void append_truncated(std::span<const TruncatedRow> rows) = 0;
  virtual int64_t rows_written() const = 0;  // vectors of them, with token_embeddings
};

class ChunkWriter : public MatrixWriter {
 public:
  // Publishes the ledger, if it has one, and the file, then appends its record to chunks.log and
  // syncs that. On return the chunk survives power loss.
  virtual ChunkRecord commit(const RowStats& stats, const ChunkOrigin& origin) = 0;
};

class FinalWriter : public MatrixWriter {
 public:
  // Publishes the matrix, its ledger, then its manifest (the mark that it is complete).
  virtual void publish(const RowStats& stats, const ChunkOrigin& origin) = 0;
};

// The chunks of one stream. Requires that the process holds the CacheLock (or inherited it). One
// thread, except that a ChunkWriter may live on another one; it must not outlive the store, and
// committed() must not be read meanwhile.
class ChunkStore {
 public:
  enum class Open { kResume, kFresh };

  // Creates the folder, or opens it and checks it: every record's file must be there with the right
  // size and hash; chunks that fail are dropped (and reported by dropped()), files without a record
  // deleted. An existing folder keeps its own chunk size. Throws Error kConfig where it belongs to
  // another fingerprint, naming the fields that differ; Open::kFresh deletes it instead.
  static std::unique_ptr<ChunkStore> open(const std::string& cache_dir,
                                          const StreamIdentity& identity, int64_t chunk_rows,
                                          Open mode);
  virtual ~ChunkStore() = default;

  virtual int64_t chunk_rows() const = 0;
  virtual int64_t chunk_count() const = 0;
  virtual RowRange chunk(int64_t index) const = 0;
  virtual const std::vector<ChunkRecord>& committed() const = 0;  // by index
  virtual std::vector<int64_t> pending() const = 0;               // chunk indices, ascending
  virtual const std::vector<std::string>& dropped()
      const = 0;  // one sentence per damaged chunk or stray file
  virtual std::string chunk_path(int64_t index) const = 0;

  virtual std::unique_ptr<ChunkWriter> begin(int64_t index) = 0;

  // Streams all chunks, each hash checked again, into the final matrix at final_path and publishes
  // it with its manifest; twice where the format needs the ranges of all rows first. `on_chunk` is
  // called after each chunk that was read. Throws Error: kData naming a damaged chunk, kConfig
  // "store.ranges".
  virtual void assemble(const std::string& final_path, const FinalFormat& format,
                        const std::function<void(int64_t)>& on_chunk) = 0;

  // remove_chunks() of this stream. Called once the final is published and chunks are not kept.
  virtual void remove() = 0;
};

// Deletes what a ChunkStore left for a stream (an interrupted remove() too); nothing there is no
// error. Files of other origin in the folder, and then the folder, stay. Requires the CacheLock.
void remove_chunks(const std::string& cache_dir, const std::string& stream_name);

// Where things are.
std::string chunks_dir(const std::string& cache_dir, const std::string& stream_name);
std::string final_path(const std::string& cache_dir,
                       const std::string& stream_name);     // ..._embeddings.npy
std::string manifest_path(const std::string& matrix_path);  // ....npy.manifest.json
std::string ledger_path(const std::string& matrix_path);    // x.npy -> x.truncated.jsonl
std::string offsets_path(const std::string& matrix_path);   // x.npy -> x.offsets.npy
std::string ranges_path(const std::string& matrix_path);    // ....npy.ranges.npy

// The manifest beside a published matrix.
struct Manifest {
  StreamIdentity identity;
  OutputType type = OutputType::kFloat32;
  int64_t columns = 0;               // of the file: identity.dim, or bytes of packed bits
  bool ranges_given = false;         // has_ranges(type): by the user, not taken from the rows
  std::string ranges_xxh3_128 = {};  // of the file beside the matrix that holds them, or ""
  int64_t file_bytes = 0;
  std::string xxh3_128 = {};
  RowStats stats = {};
  std::vector<ChunkOrigin> origins = {};  // of its rows, each once, in the order of first use
  std::vector<std::string> parts = {};    // combined matrices: the finals they were made of
  std::optional<FileSeal> ledger = {};    // none for combined matrices: their parts have theirs
  std::optional<FileSeal> offsets = {};   // exactly with token_embeddings

  int64_t vectors() const { return identity.token_embeddings ? stats.tokens : identity.rows; }
};

// No manifest there -> nullopt. Throws Error kData where it is damaged.
std::optional<Manifest> read_manifest(const std::string& matrix_path);

enum class FinalState { kAbsent, kValid, kForeign, kDamaged };
// Level one of the resume: is there a final with this identity? kValid means manifest, size and
// (check_hash) hash fit. kDamaged: they do not, or the matrix is there without a manifest: it was
// not finished.
FinalState final_state(const std::string& matrix_path, const StreamIdentity& identity,
                       bool check_hash);
// Is the final that is there, and valid, of this format?
bool has_format(const Manifest& manifest, const FinalFormat& format);
// For FinalState::kForeign: "model.sha256: cache has ab.., this run has cd..", one line per field
// that differs.
std::string explain_foreign(const std::string& matrix_path, const StreamIdentity& identity);

// Writes a final in one pass, without chunks (standard mode). Requires the CacheLock: it deletes
// what a crashed writer of the same path left beside it.
std::unique_ptr<FinalWriter> begin_final(const std::string& matrix_path,
                                         const StreamIdentity& identity);

// Makes a final of another format of a float32 one, whose hash is checked; the paths may be equal.
// Throws Error: kData where the float32 one is missing or damaged, kConfig "store.ranges". Requires
// the CacheLock.
void reformat_final(const std::string& float32_path, const std::string& matrix_path,
                    const FinalFormat& format);

// What combine_finals() would make of these finals: ask final_state() with it whether that is there
// already. It changes with every byte of a part. Reads manifests only; throws Error kData where one
// is missing, or N differs.
StreamIdentity combined_identity(const std::vector<std::string>& matrix_paths,
                                 const std::string& name);

// Writes the columns of finals of equal N and type side by side, streaming, each part's hash
// checked; publishes it with a manifest naming the parts, and their ranges side by side. Packed
// bits of a part begin at a byte. Throws Error kData where a part is damaged, or types differ
// ("store.combine_type").
void combine_finals(const std::vector<std::string>& matrix_paths, const std::string& combined_path,
                    const std::string& name);

}  // namespace encode
