// The cache directory: chunks that survive anything, and the final matrices made of them.
// docs/store-format.md is the format on disk. Only this module writes it; an audit reads it through
// store/audit.h too.
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

// A row that was cut to max_length tokens; one line of a truncation ledger.
struct TruncatedRow {
  int64_t row = 0;          // of the stream
  int64_t tokens = 0;       // encoded, special tokens included
  int64_t lost_tokens = 0;  // at least 1
};

// The size and the hash that a file beside a matrix must have.
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
  std::optional<FileSeal> ledger;   // present when the chunk has truncated rows
  std::optional<FileSeal> offsets;  // present when the stream has token embeddings
};

// An exclusive lock on a cache directory (an OFD lock on <cache>/LOCK), freed by the kernel when
// the last process that inherited it ends. The descriptor is passed on to the worker, so that no
// second run can start while a worker lives: it is opened close-on-exec, so hand it over on purpose
// (posix_spawn_file_actions_adddup2(actions, fd, fd)).
class CacheLock {
 public:
  // Creates the directory if it is missing. Throws Error: kTempFail when another run holds the lock
  // (the message names its process and host), kIoError when the file system has no locks,
  // kCantCreate, kNoPermission.
  static CacheLock acquire(const std::string& cache_dir);
  CacheLock(CacheLock&& other) noexcept;
  CacheLock& operator=(CacheLock&&) = delete;
  ~CacheLock();
  int fd() const { return fd_; }

 private:
  explicit CacheLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// Writes one .npy of float32 vectors in bounded memory. It writes a temporary file, syncs it,
// renames it and syncs the directory. A writer that is destroyed before it has published removes
// its temporary file and changes nothing else. One thread. A writer that has thrown cannot be used
// any more: destroy it and begin a new one.
class MatrixWriter {
 public:
  virtual ~MatrixWriter() = default;
  // `values` is a whole number of vectors, row-major. Throws Error kIoError (disk full, quota),
  // kData for a non-finite value, naming the row.
  virtual void append(std::span<const float> values) = 0;
  // The number of vectors that each of the next rows has. A stream of token embeddings needs it for
  // every row; other streams must not call it.
  virtual void append_lengths(std::span<const int32_t> lengths) = 0;
  // Rows that were truncated, for the ledger, in ascending order. All of them must be given before
  // commit() or publish().
  virtual void append_truncated(std::span<const TruncatedRow> rows) = 0;
  virtual int64_t rows_written() const = 0;  // with token embeddings: vectors written
};

class ChunkWriter : public MatrixWriter {
 public:
  // Publishes the ledger, if the chunk has one, and the chunk file. Then it appends the chunk's
  // record to chunks.log and syncs the log. On return the chunk survives power loss.
  virtual ChunkRecord commit(const RowStats& stats, const ChunkOrigin& origin) = 0;
};

class FinalWriter : public MatrixWriter {
 public:
  // Publishes the matrix, its ledger and, last, its manifest: the mark that the matrix is complete.
  virtual void publish(const RowStats& stats, const ChunkOrigin& origin) = 0;
};

// The chunks of one stream. The process must hold the CacheLock, or have inherited it. One thread,
// except that a ChunkWriter may be used on another thread. The ChunkWriter must not outlive the
// store, and committed() must not be called while it commits.
class ChunkStore {
 public:
  enum class Open { kResume, kFresh };

  // Creates the folder, or opens and checks it. The file of every record must be there with the
  // right size and hash. Chunks that fail the check are dropped, and dropped() reports them; files
  // without a record are deleted. An existing folder keeps its own chunk size. When the folder
  // belongs to another fingerprint, kResume throws Error kConfig that names the fields that differ,
  // and kFresh deletes the folder.
  static std::unique_ptr<ChunkStore> open(const std::string& cache_dir,
                                          const StreamIdentity& identity, int64_t chunk_rows,
                                          Open mode);
  virtual ~ChunkStore() = default;

  virtual int64_t chunk_rows() const = 0;
  virtual int64_t chunk_count() const = 0;
  virtual RowRange chunk(int64_t index) const = 0;
  virtual const std::vector<ChunkRecord>& committed() const = 0;  // by index
  virtual std::vector<int64_t> pending() const = 0;               // chunk indices, ascending
  // One sentence for each damaged chunk or stray file.
  virtual const std::vector<std::string>& dropped() const = 0;
  virtual std::string chunk_path(int64_t index) const = 0;

  virtual std::unique_ptr<ChunkWriter> begin(int64_t index) = 0;

  // Streams all chunks into the final matrix at final_path, checks each hash again, and publishes
  // the matrix with its manifest. It reads the chunks twice when the format needs the ranges of all
  // rows first. `on_chunk` is called after each chunk that was read. Throws Error: kData that names
  // a damaged chunk, kConfig "store.ranges".
  virtual void assemble(const std::string& final_path, const FinalFormat& format,
                        const std::function<void(int64_t)>& on_chunk) = 0;

  // Calls remove_chunks() for this stream: for a final that is published, when chunks are not kept.
  virtual void remove() = 0;
};

// Deletes what a ChunkStore or an interrupted remove() left for a stream; it is no error when there
// is nothing. If the folder holds files that the store did not write, those files and the folder
// stay. Requires the CacheLock.
void remove_chunks(const std::string& cache_dir, const std::string& stream_name);

// The paths of the files in a cache directory.
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
  bool ranges_given = false;         // true: the user gave the ranges; false: the rows gave them
  std::string ranges_xxh3_128 = {};  // of the ranges file beside the matrix; "" without ranges
  int64_t file_bytes = 0;
  std::string xxh3_128 = {};
  RowStats stats = {};
  std::vector<ChunkOrigin> origins = {};  // of its rows, each once, in the order of first use
  std::vector<std::string> parts = {};    // combined matrices: the finals they were made of
  std::optional<FileSeal> ledger = {};    // absent in a combined matrix: its parts have ledgers
  std::optional<FileSeal> offsets = {};   // present when the stream has token embeddings

  int64_t vectors() const { return identity.token_embeddings ? stats.tokens : identity.rows; }
};

// The manifest beside the matrix; nullopt when there is none. Throws Error kData when the manifest
// is damaged.
std::optional<Manifest> read_manifest(const std::string& matrix_path);

enum class FinalState { kAbsent, kValid, kForeign, kDamaged };
// Whether a final with this identity is there; a run asks this first when it resumes. kValid: the
// manifest and the size fit, and with check_hash the hash too. kDamaged: they do not fit, or the
// matrix has no manifest because it was never finished. kForeign: it has another identity.
FinalState final_state(const std::string& matrix_path, const StreamIdentity& identity,
                       bool check_hash);
// Whether the final that the manifest describes has this format.
bool has_format(const Manifest& manifest, const FinalFormat& format);
// The differences between a final and `identity`, one line for each field that differs:
// "model.sha256: cache has ab.., this run has cd..".
std::string explain_foreign(const std::string& matrix_path, const StreamIdentity& identity);

// Writes a final in one pass, without chunks (standard mode). It deletes what a crashed writer of
// the same path left beside the matrix, and so requires the CacheLock.
std::unique_ptr<FinalWriter> begin_final(const std::string& matrix_path,
                                         const StreamIdentity& identity);

// Makes a final of another format from a float32 final, whose hash it checks. The two paths may be
// equal. Throws Error: kData when the float32 final is missing or damaged, kConfig "store.ranges".
// Requires the CacheLock.
void reformat_final(const std::string& float32_path, const std::string& matrix_path,
                    const FinalFormat& format);

// The identity of the matrix that combine_finals() would make of these finals; final_state() tells
// with it whether that matrix is there already. The identity changes with every byte of a part.
// Only the manifests are read. Throws Error kData when a manifest is missing, or when the numbers
// of rows differ.
StreamIdentity combined_identity(const std::vector<std::string>& matrix_paths,
                                 const std::string& name);

// Writes the columns of finals with equal numbers of rows and of one type side by side, in bounded
// memory, and checks the hash of each part. The packed bits of a part begin at a byte. The combined
// matrix is published with a manifest that names the parts, and with their ranges side by side.
// Throws Error kData when a part is damaged, or when the types differ ("store.combine_type").
void combine_finals(const std::vector<std::string>& matrix_paths, const std::string& combined_path,
                    const std::string& name);

}  // namespace encode
