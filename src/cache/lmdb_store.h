// The tables of the embedding cache in LMDB. This is the only header that knows LMDB's handles.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <span>
#include <utility>

#include "cache/embedding_key.h"
#include "cache/folder.h"
#include "cache/lmdb_pages.h"
#include "cache/store_watch.h"

struct MDB_env;
struct MDB_txn;
struct MDB_val;

namespace encode {

// The place of the record of a key.
struct RecordPlace {
  uint64_t block = 0;
  uint32_t offset = 0;  // where the record begins in the block, in bytes
  uint32_t bytes = 0;
};

// Thrown when the store has reached its size limit in the middle of a change.
struct StoreFull {};

// One LMDB environment with the tables
//   blocks  number of a block -> its records,
//   index   key -> RecordPlace,
//   uses    number of a block -> the time of its last use, in seconds since 1970.
// Any number of processes may open it, but each process only once. All functions that read or write
// throw Error "cache.store" with the exit code of exit_code_for_errno(), or kData "cache.damaged".
class LmdbStore {
 public:
  enum class Access { kRead, kWrite };
  // The caller holds the folder (hold_folder()). `limit_bytes` is the largest size of the file; a
  // file that is already larger keeps its size. With 0, the file may grow only by the room for a
  // change. With kWrite, a missing or empty file becomes a new store. A StoreWatch watches each
  // step, and calls `stalled` if a step does not end.
  LmdbStore(CacheFolder folder, int64_t limit_bytes, Access access,
            StoreStalled stalled = end_stalled_process);
  LmdbStore(const LmdbStore&) = delete;
  LmdbStore& operator=(const LmdbStore&) = delete;
  ~LmdbStore();

  // A snapshot of the store. Spans that it returns are valid until it is destroyed. While a
  // snapshot exists, writers cannot reuse freed space, so it must not be kept for long. One thread
  // at a time may use it.
  //
  // With kNothing, LMDB trusts its file: if the file is damaged, a signal may end the process. With
  // kUses, the pages of the table of uses are checked first, and with kAll all pages. Only one
  // thread at a time may have a snapshot with kUses or kAll, or a Writing.
  class Reading {
   public:
    enum class Check { kNothing, kUses, kAll };
    explicit Reading(LmdbStore& store, Check check = Check::kNothing);
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading();

    std::optional<RecordPlace> place(const EmbeddingKey& key) const;
    std::optional<std::span<const std::byte>> block(uint64_t number) const;
    // Returns the first block whose number is at least `number`.
    std::optional<std::pair<uint64_t, std::span<const std::byte>>> next_block(
        uint64_t number) const;
    // Returns the entry of the index with the least key above `after`; nullopt: the first entry.
    std::optional<std::pair<EmbeddingKey, RecordPlace>> next_place(
        const std::optional<EmbeddingKey>& after) const;
    // Returns the first block whose number is at least `number`, and the time of its last use.
    std::optional<std::pair<uint64_t, int64_t>> next_use(uint64_t number) const;

    int64_t rows() const;
    int64_t blocks() const;
    int64_t live_bytes() const;  // the size of all pages in use, without pages that can be reused

   private:
    friend class LmdbStore;
    enum class Seek { kEqual, kAtLeast, kAbove, kFirst, kLast };
    std::optional<MDB_val> get(unsigned int table, MDB_val& name, Seek seek) const;
    uint64_t risen(const MDB_val& name, uint64_t number) const;
    Reading(LmdbStore& store, MDB_txn* transaction, const char* action);
    void note_progress() const;
    LmdbStore& store_;
    MDB_txn* transaction_;
    mutable std::atomic<int64_t> operations_ = 0;
    StoreWatch::Step step_;
  };

  // A write transaction: commit() makes all its changes at once, and without commit() there are
  // none. Only one process at a time has a write transaction; others wait. The pages that LMDB is
  // about to change are checked first, because LMDB copies them to memory and moves their entries
  // there: with a damaged page it would write out of bounds.
  class Writing {
   public:
    explicit Writing(LmdbStore& store);
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    ~Writing();

    const Reading& reading() const { return reading_; }
    // Does the same as reading().block(), and also checks the size of the block.
    std::optional<std::span<const std::byte>> block(uint64_t number) const;
    // The functions below also throw StoreFull.
    uint64_t add_block(std::span<const std::byte> records);  // returns the number of the block
    void set_place(const EmbeddingKey& key, const RecordPlace& place);
    void set_use(uint64_t block, int64_t seconds);
    void remove_place(const EmbeddingKey& key);
    void remove_block(uint64_t number);  // and its entry in the table of uses
    void commit();

   private:
    void check(int result, const char* action) const;
    void put(unsigned int table, MDB_val name, MDB_val value, unsigned int flags = 0);
    void remove(unsigned int table, MDB_val name);
    void check_path(LmdbTable table, LmdbKey key, LmdbPages::Extent extent) const;
    LmdbStore& store_;
    MDB_txn* transaction_;
    Reading reading_;
    bool open_ = true;
  };

  int64_t file_bytes() const;  // the size of the file
  // The size of a page of the file. When LMDB makes the file, it takes the size of a page of
  // memory, but at most 32 kB.
  int64_t page_bytes() const;
  const CacheFolder& folder() const { return folder_; }
  // Writes a copy without unused pages to CacheFolder::compacted() and syncs it.
  void write_compacted();

 private:
  struct Tables {
    unsigned int blocks = 0;  // MDB_dbi
    unsigned int index = 0;
    unsigned int uses = 0;
    bool exist = false;  // false: nothing was ever written, and the store is open for reading only
    // A transaction holds it shared. It is held exclusively while the file is mapped again, after
    // another process has enlarged the file.
    std::shared_mutex mapping;
  };
  MDB_txn* begin(unsigned int flags);
  MDB_txn* begin_checked(unsigned int flags, Reading::Check check);
  void end(MDB_txn* transaction);
  int open_tables(MDB_txn* transaction, unsigned int flags);
  void open_environment(int64_t limit_bytes, Access access);
  void open_tables(Access access);
  [[noreturn]] void fail(int result, const char* action) const;

  const CacheFolder folder_;
  StoreWatch watch_;
  MDB_env* environment_ = nullptr;
  size_t map_bytes_ = 0;
  std::optional<LmdbPages> pages_;
  Tables tables_;
};

}  // namespace encode
