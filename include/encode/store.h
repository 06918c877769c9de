// The cache directory: chunks that survive a crash, and the final matrices that are made of them.
// docs/store-format.md describes the format on disk. Only this module writes it. An audit also
// reads it through store/audit.h. Any thread may call the free functions. A class says which
// threads may use it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encode/chunk_record.h"
#include "encode/scanned_files.h"
#include "encode/types.h"

namespace encode {

// One file of a stream's input.
struct InputPart {
  std::string path;       // as the run found it
  int64_t first_row = 0;  // the row of the stream that is the first one of the file

  bool operator==(const InputPart&) const = default;
};

// The identity of a stream's matrix. Two runs share chunks exactly if `name`, `fingerprint`,
// `first_row`, `rows` and `dim` are equal. The fingerprint determines `token_embeddings` and
// `passages`.
struct StreamIdentity {
  // "train_tc": the chunks are in <cache>/train_tc_chunks, and the final matrix is
  // <cache>/train_tc_embeddings.npy.
  std::string name;
  // Canonical JSON (sorted keys, no spaces) of the input, the model, the tokenizer and the result
  // options.
  std::string fingerprint;
  int64_t rows = 0;  // N, the number of texts
  int64_t dim = 0;   // the number of columns
  // True: a row has a vector for each of its tokens. The matrix is [tokens of all rows, dim], and
  // an offsets file beside it, int64 [N + 1], says where the vectors of a row begin.
  bool token_embeddings = false;
  // True: a row has a vector for each of its passages. Beside the offsets there is a file with the
  // places of all passages (PassagePlace). Excludes token_embeddings.
  bool passages = false;
  // Above 0 only for a shard (run_plan/shard_plan.h), which has the rows [first_row, first_row +
  // rows) of a stream. Ranges of rows, ledgers and columns of row numbers have the numbers of the
  // stream.
  int64_t first_row = 0;
  // The files of the input, in order. Only the manifest records them, because files may be moved.
  std::vector<InputPart> inputs = {};
  std::optional<FileList> input_list = {};  // in place of `inputs`, see kMostUnlistedFiles
  // The directory of the model, absolute; "" if it is not known, and for a combined matrix. Only
  // the manifest records it, because a directory may be moved.
  std::string model = {};
  // The records that the filter of the input has left out. Only the manifest records it; 0 for a
  // shard.
  int64_t filtered = 0;

  RowRange range() const { return {.begin = first_row, .end = first_row + rows}; }
  // True if a row may have several vectors, or none.
  bool has_offsets() const { return token_embeddings || passages; }
  // Returns the number of vectors of `count` rows of the stream that have these counts.
  int64_t vectors_of(const RowStats& stats, int64_t count) const {
    if (token_embeddings) return stats.tokens;
    return passages ? stats.passages : count;
  }
};

// An exclusive lock on a cache directory: an OFD lock on the file <cache>/LOCK. The kernel frees it
// when the last process that inherited the descriptor ends. The supervisor passes the descriptor to
// the worker, so that no second run can start while a worker lives. The descriptor is
// close-on-exec. A child inherits it only after posix_spawn_file_actions_adddup2(actions, fd, fd).
// One thread at a time may use it.
class CacheLock {
 public:
  // What happens if the file system has no locks. kRequired: acquire() throws Error kIoError.
  // kIfPossible: the lock then excludes nobody. This is only for a directory that no other process
  // writes to, or for work that does no harm if it is done twice at the same time.
  enum class Need { kRequired, kIfPossible };

  // Creates the directory if it is missing. Throws Error: kTempFail if another run holds the lock
  // (the message names its process and host), kIoError if the file system has no locks,
  // kCantCreate, kNoPermission. Waits a moment for a holder that is about to end.
  static CacheLock acquire(const std::string& cache_dir, Need need = Need::kRequired);
  CacheLock(CacheLock&& other) noexcept;
  CacheLock& operator=(CacheLock&&) = delete;
  ~CacheLock();
  int fd() const { return fd_; }
  // A random number that the file LOCK has, see require_lock().
  const std::string& token() const { return token_; }
  bool excludes() const { return excludes_; }  // false: the file system has no locks

 private:
  CacheLock(int fd, std::string token, bool excludes)
      : fd_(fd), token_(std::move(token)), excludes_(excludes) {}
  int fd_ = -1;
  std::string token_;
  bool excludes_ = true;
};

// Throws Error kTempFail "store.taken" if the lock file of the directory has another token, because
// another run has taken the lock as well. On some file systems, the locks of one machine are
// unknown to the others (Lustre with localflock, a directory that is mounted twice). There this
// check ends the earlier of two runs before its next commit. It cannot prove that no other run is
// at work: a run may commit in the moment before the other one writes its token. Also throws what
// reading the file throws. A lock file that is absent or has no token is no error. Any thread may
// call it.
void require_lock(const std::string& cache_dir, const std::string& token);

// Writes one .npy of float32 vectors in bounded memory. It writes a temporary file, syncs it,
// renames it and syncs the directory. A writer that is destroyed before it has published removes
// its temporary file and changes nothing else. One thread at a time. A writer that has thrown
// cannot be used any more: destroy it and begin a new one.
class MatrixWriter {
 public:
  virtual ~MatrixWriter() = default;
  // Appends a whole number of vectors, row-major. Throws Error: kIoError (disk full, quota), kData
  // that names the row if a value is not finite, kInternal for a part of a vector or for more rows
  // than the matrix has.
  virtual void append(std::span<const float> values) = 0;
  // Says how many vectors each of the next rows has. It must be called for every row of a stream
  // with StreamIdentity::has_offsets(), and never for other streams. Throws Error kIoError, and
  // kInternal for more rows than the matrix has.
  virtual void append_lengths(std::span<const int32_t> lengths) = 0;
  // Says which passages the next vectors belong to. It must be called for every vector of a stream
  // with StreamIdentity::passages, and never for other streams. Throws Error kIoError.
  virtual void append_passages(std::span<const PassagePlace> passages) = 0;
  // Adds truncated rows to the ledger, in ascending order. It must get all of them before commit()
  // or publish(). Throws Error kIoError.
  virtual void append_truncated(std::span<const TruncatedRow> rows) = 0;
  virtual int64_t rows_written() const = 0;  // with has_offsets(): the number of vectors
};

class ChunkWriter : public MatrixWriter {
 public:
  // Adds rows that were set aside, in ascending order. It must get all of them before commit(). The
  // vectors that append() gets for them are zeros; with StreamIdentity::has_offsets() they have no
  // vector. Throws Error kIoError.
  virtual void append_set_aside(std::span<const SetAsideRow> rows) = 0;
  // Commits this chunk and no other. See ChunkStore::commit().
  virtual ChunkRecord commit(const RowStats& stats, const ChunkOrigin& origin) = 0;
};

// A chunk that has all its rows and is not committed yet.
struct WrittenChunk {
  std::unique_ptr<ChunkWriter> writer;
  RowStats stats;
  ChunkOrigin origin;
};

class FinalWriter : public MatrixWriter {
 public:
  // Publishes the matrix, its ledger and, last, its manifest. A matrix with a manifest is complete.
  // Throws Error kIoError, and kInternal if rows are missing.
  virtual void publish(const RowStats& stats, const ChunkOrigin& origin) = 0;
};

// Reads the values of columns that come from the input (FinalFormat::columns, apart from kRowColumn
// and kSourceRowSource), for a final matrix that is a table, and the numbers of the records. It
// reads every row of the stream once, in order.
class ColumnSource {
 public:
  virtual ~ColumnSource() = default;
  // Replaces `values` by those of the next row, in the order of the columns; nullopt: the row has
  // no value. Throws Error if the input cannot be read, or has changed since the scan.
  virtual void next(std::vector<std::optional<std::string>>& values) = 0;
  // Returns the number of the record that the row of the last next() was made from.
  virtual int64_t source_row() const = 0;
  // Is called after the last row, before the final matrix is published. Throws Error kIoError
  // "text.changed" if the input may have changed since the scan.
  virtual void finish() = 0;
};
using ColumnOpener = std::function<std::unique_ptr<ColumnSource>()>;

// The input of a final matrix, apart from the vectors.
struct FinalContent {
  FinalFormat format;
  QuarantinePolicy quarantine = QuarantinePolicy::kError;
  // The rows that the policy applies to, ascending. They contain ChunkStore::set_aside(). With
  // kDrop they can also contain rows that were set aside in another stream of the split.
  std::vector<SetAsideRow> set_aside = {};
  // Must be set if a column of the format comes from the input, and for a stream with a filter.
  ColumnOpener columns = {};
};

// The chunks of one stream. The process must hold the CacheLock, or have inherited it. One thread
// at a time, except that a ChunkWriter may be used on another thread. The ChunkWriter must not
// outlive the store, and committed() must not be called while it commits.
class ChunkStore {
 public:
  enum class Open { kResume, kFresh, kJoin };

  // Creates the folder, or opens and checks it. The file of every record must exist with the right
  // size and hash. Chunks that fail the check are dropped, and dropped() reports them. Files
  // without a record are deleted. An existing folder keeps its own chunk size. If the folder
  // belongs to another fingerprint, kResume throws Error kConfig that names the fields that differ.
  // kFresh deletes an existing folder first. kJoin is for a folder that was opened with kResume
  // since the CacheLock was taken, and to which several processes may write now: it repairs, checks
  // and deletes nothing, and trusts the log, so a worker that starts does not read every chunk
  // again. It returns null if the folder has no log, because the stream is finished and its chunks
  // are removed. Also throws Error kConfig "store.format" and "store.stream_name", kCantCreate,
  // kNoPermission, kIoError, and kInternal if `chunk_rows` is below 1.
  static std::unique_ptr<ChunkStore> open(const std::string& cache_dir,
                                          const StreamIdentity& identity, int64_t chunk_rows,
                                          Open mode);
  virtual ~ChunkStore() = default;

  virtual int64_t chunk_rows() const = 0;
  virtual int64_t chunk_count() const = 0;
  // `index` is in [0, chunk_count()).
  virtual RowRange chunk(int64_t index) const = 0;
  virtual const std::vector<ChunkRecord>& committed() const = 0;  // in the order of their indices
  virtual std::vector<int64_t> pending() const = 0;               // the other indices, ascending
  // May be called only after kJoin. Takes the chunk for this store: no other store can take it
  // until this store has committed it or is destroyed, or its process has ended. Returns false if
  // another store has taken or committed the chunk. May be called while a ChunkWriter is used on
  // another thread. Throws Error kIoError.
  virtual bool claim(int64_t index) = 0;
  // Returns one sentence for each damaged chunk or stray file that open() removed.
  virtual const std::vector<std::string>& dropped() const = 0;
  virtual std::string chunk_path(int64_t index) const = 0;

  // Begins the chunk `index`. Throws Error kInternal if the stream has no such chunk or it is
  // committed (after kJoin a chunk may be committed twice, with the same bytes), and the errors of
  // creating a file: kCantCreate, kNoPermission, kIoError.
  virtual std::unique_ptr<ChunkWriter> begin(int64_t index) = 0;

  // Commits chunks that begin() has begun. Syncs and publishes the files of all of them, and syncs
  // the folder. Then appends their records to chunks.log, in this order, and syncs the log. On
  // return the chunks survive power loss. Several chunks share the last two syncs, so they take
  // less time than one by one; a crash before the end may leave some of them committed. May be
  // called on the thread that uses the ChunkWriters. Throws Error kIoError, and kInternal if rows
  // are missing.
  virtual std::vector<ChunkRecord> commit(std::span<const WrittenChunk> chunks) = 0;

  // Returns the rows of the committed chunks that were set aside, ascending. Throws Error kData if
  // a ledger does not fit its record, and kIoError.
  virtual std::vector<SetAsideRow> set_aside() const = 0;
  // Deletes committed chunks, which are pending again on return. Throws Error kIoError, and
  // kInternal for a chunk that is not committed.
  virtual void discard(const std::vector<int64_t>& indices) = 0;

  // Streams all chunks into the final matrix at `final_path`, checks each hash again, and publishes
  // the matrix with its manifest. It reads the chunks twice if the format needs the ranges of all
  // rows first. It calls `on_chunk` with the index of each chunk that it has read. Throws Error:
  // kData that names a damaged chunk, kConfig "store.ranges", kIoError, and kInternal if a chunk is
  // pending, if a row was set aside and the policy is kError, or if rows with several vectors are
  // to be dropped. Passes on what `on_chunk` throws, and then publishes nothing.
  virtual void assemble(const std::string& final_path, const FinalContent& content,
                        const std::function<void(int64_t)>& on_chunk) = 0;

  // Calls remove_chunks() for this stream. A run does so after it has published the final matrix,
  // unless the chunks are kept. Throws what remove_chunks() throws.
  virtual void remove() = 0;
};

// Returns the number of rows in the committed chunks, or nullopt if the folder has no log. Trusts
// the log as ChunkStore::Open::kJoin does, and keeps one bit for each chunk in memory. Throws Error
// kConfig "store.foreign", and what kJoin throws.
std::optional<int64_t> committed_rows(const std::string& cache_dir, const StreamIdentity& identity);

// Reads rows of a stream from its committed chunks: row-major [rows.size(), dim]. Returns nullopt
// if there are no chunks of this stream, or if a row is in none of them. `rows` are rows of the
// stream, best in ascending order; the stream does not have StreamIdentity::has_offsets(). Needs no
// lock and trusts the log: it compares no hash. Throws Error kData "store.damaged" if a chunk does
// not have the shape in its record, kIoError, and what reading stream.json and chunks.log throws.
std::optional<std::vector<float>> read_committed_rows(const std::string& cache_dir,
                                                      const StreamIdentity& identity,
                                                      std::span<const int64_t> rows);

// Deletes the chunks of a stream, also after an interrupted remove(). Does nothing if there are
// none. If the folder holds files that the store did not write, those files and the folder stay. A
// link to a folder stays, too. Requires the CacheLock. Throws Error kIoError or kNoPermission.
void remove_chunks(const std::string& cache_dir, const std::string& stream_name);

// Takes over the committed chunks of a stream from other cache directories, to which other runs may
// be writing: `to` gets hard links, or copies where the file system has no links. Nothing in `from`
// changes, and no hash is compared: ChunkStore::open() with kResume does that. The process must
// hold the CacheLock of `to`, which has no chunks of the stream. Returns the number of chunks.
// Throws Error kIoError, kCantCreate and kNoPermission.
int64_t adopt_chunks(const std::vector<std::string>& from, const std::string& to,
                     const StreamIdentity& identity);

// These functions return the paths of the files in a cache directory: <cache>/<stream>_chunks,
// <cache>/<stream>_embeddings.npy (.parquet, .arrow), and the files beside a matrix.
std::string chunks_dir(const std::string& cache_dir, const std::string& stream_name);
std::string final_path(const std::string& cache_dir, const std::string& stream_name,
                       MatrixFormat format = MatrixFormat::kNpy);
std::string manifest_path(const std::string& matrix_path);  // x.npy -> x.npy.manifest.json
// x.npy -> x.truncated.jsonl, and x.parquet -> x.parquet.truncated.jsonl, so that final matrices of
// two formats have different files beside them. offsets_path(), set_aside_path(), passages_path()
// and source_rows_path() also keep the suffix of a table.
std::string ledger_path(const std::string& matrix_path);
std::string offsets_path(const std::string& matrix_path);      // x.npy -> x.offsets.npy
std::string ranges_path(const std::string& matrix_path);       // x.npy -> x.npy.ranges.npy
std::string set_aside_path(const std::string& matrix_path);    // x.npy -> x.set_aside.jsonl
std::string passages_path(const std::string& matrix_path);     // x.npy -> x.passages.npy
std::string source_rows_path(const std::string& matrix_path);  // x.npy -> x.source_rows.npy
// x.npy -> x.npy.publishing.json, which exists only while a final matrix is replaced
std::string publishing_path(const std::string& matrix_path);
// Returns the paths of the matrix and of all these files, in the order in which they may be
// deleted. manifest_path() and publishing_path() are the last two, because they prove that encode
// wrote the others.
std::vector<std::string> final_files(const std::string& matrix_path);

// The manifest beside a published matrix.
struct Manifest {
  StreamIdentity identity;
  OutputType type = OutputType::kFloat32;
  int64_t columns = 0;  // the columns of the file: identity.dim, or the bytes of packed bits
  MatrixFormat file = MatrixFormat::kNpy;
  std::vector<TableColumn> table_columns = {};  // FinalFormat::columns
  bool ranges_given = false;         // true: the user gave the ranges; false: the rows gave them
  std::string ranges_xxh3_128 = {};  // the hash of the ranges file beside the matrix; or ""
  int64_t file_bytes = 0;
  std::string xxh3_128 = {};  // the hash of the matrix file
  RowStats stats = {};
  std::vector<ChunkOrigin> origins = {};  // where its rows were computed, each origin once
  std::vector<std::string> parts = {};    // the file names of the parts of a combined matrix
  std::optional<FileSeal> ledger = {};    // absent in a combined matrix: its parts have ledgers
  std::optional<FileSeal> offsets = {};   // present if identity.has_offsets()
  // Present if the stream has a filter: an int64 vector with an entry for each row of the matrix,
  // the number of the record of the input that the row was made from.
  std::optional<FileSeal> source_rows = {};
  // What the matrix has in place of the rows that were set aside. kError if there are none.
  QuarantinePolicy quarantine = QuarantinePolicy::kError;
  std::optional<FileSeal> set_aside = {};  // the ledger of these rows; absent in a combined matrix
  int64_t dropped_rows = 0;  // the number of rows that were set aside with kDrop, else 0
  std::optional<FileSeal> passages = {};  // present if identity.passages
  // Of a matrix that was made of the parts of shards: a hash of the hashes of these parts; or "".
  std::string made_from = {};

  int64_t vectors() const { return identity.vectors_of(stats, identity.rows - dropped_rows); }
  // False if rows were set aside and the matrix treats them in another way than `policy` says.
  bool fits(QuarantinePolicy policy) const {
    return quarantine == QuarantinePolicy::kError || quarantine == policy;
  }
};

// Reads the manifest beside the matrix. Returns nullopt if it does not exist. Throws Error: kData
// if it is damaged, kConfig "store.format" if this version cannot read its format, kIoError,
// kNoPermission.
std::optional<Manifest> read_manifest(const std::string& matrix_path);

enum class FinalState { kAbsent, kValid, kForeign, kDamaged };
// Tells whether the final matrix exists and has this identity. A run that resumes asks this first.
// - kAbsent: there is no matrix.
// - kValid: the matrix and the files beside it fit the manifest. The hash of the matrix is compared
//   only if `check_hash` is true.
// - kForeign: the matrix has another identity.
// - kDamaged: a file does not fit the manifest, or there is no manifest because the matrix was
//   never finished.
// Throws what read_manifest() throws, except that kData becomes kDamaged.
FinalState final_state(const std::string& matrix_path, const StreamIdentity& identity,
                       bool check_hash);
// Returns the rows of the final matrix that were set aside, ascending; for a combined matrix none.
// Throws Error kData if the ledger does not fit the manifest, also in the number of its rows, and
// kIoError. encode/vector_rows.h says which rows the vectors belong to if these rows were dropped.
std::vector<SetAsideRow> set_aside_rows(const std::string& matrix_path, const Manifest& manifest);
// Returns true if the final matrix that the manifest describes has this format. Throws Error if
// `format` has a ranges file that cannot be used: kNoInput, kData, kConfig "store.ranges".
bool has_format(const Manifest& manifest, const FinalFormat& format);
// Returns the differences between a final matrix and `identity`, one line for each field that
// differs: "model.sha256: cache has ab.., this run has cd..". Throws what read_manifest() throws.
std::string explain_foreign(const std::string& matrix_path, const StreamIdentity& identity);

// Begins a final matrix that is written in one pass, without chunks (the standard mode). Deletes
// the temporary files that a crashed writer of the same path left. Requires the CacheLock. Throws
// Error kConfig "store.stream_name", kCantCreate, kNoPermission, kIoError.
std::unique_ptr<FinalWriter> begin_final(const std::string& matrix_path,
                                         const StreamIdentity& identity);

// Makes a final matrix of another format from a float32 final matrix, after it has checked the
// hash. The two paths may be equal. Throws Error: kData if the float32 matrix is missing or
// damaged, kConfig "store.ranges". Requires the CacheLock. Also throws what read_manifest(),
// MatrixWriter and `columns` throw. `columns` must be set if a column of the format comes from the
// input, and for a stream with a filter.
void reformat_final(const std::string& float32_path, const std::string& matrix_path,
                    const FinalFormat& format, const ColumnOpener& columns);

// Returns the identity of the matrix that combine_finals() would make of these final matrices. With
// it, final_state() tells whether that matrix exists already. The identity changes with every byte
// of a part. Only the manifests are read. Throws Error kData if a manifest is missing, or if the
// numbers of rows differ. Also throws what read_manifest() throws.
StreamIdentity combined_identity(const std::vector<std::string>& matrix_paths,
                                 const std::string& name);

// Writes the columns of final matrices side by side to a .npy file, in bounded memory, and checks
// the hash of each part. The parts may be tables, whose other columns are left out. The parts have
// the same rows and the same type. The packed bits of a part begin at a byte. The combined matrix
// gets a manifest that names the parts, and their ranges side by side. Throws Error kData if a part
// is damaged, if the types differ ("store.combine_type"), or if the parts do not have the same rows
// ("store.combine_rows"). Also throws what read_manifest() and MatrixWriter throw. Requires the
// CacheLock.
void combine_finals(const std::vector<std::string>& matrix_paths, const std::string& combined_path,
                    const std::string& name);

}  // namespace encode
