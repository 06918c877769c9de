#include "cache/lmdb_store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <lmdb.h>
#include <mutex>
#include <shared_mutex>
#include <sys/stat.h>
#include <unistd.h>

#include "encode/error.h"

#include "base/file_system.h"
#include "base/system_call.h"

namespace encode {
namespace {

constexpr unsigned int kMaxTables = 3;
constexpr unsigned int kMaxReaders = 512;
constexpr mdb_mode_t kMode = 0666;
// How often mapping the file is tried, because another process may enlarge the file meanwhile.
constexpr int kMapAttempts = 100;
constexpr int64_t kRoomBytes = 128 << 20;  // the room for a change, if there is no limit
constexpr int kViewAttempts = 100;

// LMDB reports a short write as EIO. A full disk causes short writes, so EIO may mean ENOSPC.
int reason_of(int result, const std::string& path) {
  constexpr int64_t kFullBytes = 1 << 20;
  FileSystem disk;
  const bool full =
      result == EIO && find_file_system(path, disk) == 0 && disk.usable_bytes < kFullBytes;
  return full ? ENOSPC : result;
}

bool is_damage(int result) {
  constexpr auto kDamage = std::to_array<int>(
      {MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID, MDB_VERSION_MISMATCH, MDB_PANIC, MDB_BAD_TXN,
       MDB_INCOMPATIBLE, MDB_CURSOR_FULL, MDB_PAGE_FULL, MDB_KEYEXIST, EFAULT});
  return std::find(kDamage.begin(), kDamage.end(), result) != kDamage.end();
}

}  // namespace

LmdbStore::LmdbStore(CacheFolder folder, int64_t limit_bytes, Access access, StoreStalled stalled)
    : folder_(std::move(folder)), watch_(folder_, std::move(stalled)) {
  try {
    open_environment(limit_bytes, access);
    open_tables(access);
  } catch (...) {
    mdb_env_close(environment_);
    throw;
  }
}

LmdbStore::~LmdbStore() { mdb_env_close(environment_); }

void LmdbStore::open_environment(int64_t limit_bytes, Access access) {
  const StoreWatch::Step step(watch_, "opens it");
  // Checked here, because LMDB would use a damaged file silently, and would report a misleading
  // errno for an empty file that it may not write.
  const int64_t bytes = file_bytes();
  const bool unfinished = bytes > 0 && LmdbPages::may_be_unfinished(folder_);
  if (!unfinished && (bytes > 0 || access == Access::kRead)) pages_.emplace(folder_);
  if (const int result = mdb_env_create(&environment_); result != MDB_SUCCESS)
    fail(result, "begin to open");
  mdb_env_set_maxdbs(environment_, kMaxTables);
  mdb_env_set_maxreaders(environment_, kMaxReaders);
  // The map size in the file is not used, because a flipped bit could make it any number.
  map_bytes_ = static_cast<size_t>(limit_bytes > 0 ? limit_bytes : file_bytes() + kRoomBytes);
  mdb_env_set_mapsize(environment_, map_bytes_);
  // MDB_NOMETASYNC: a power cut may undo the last change, but never tears it. MDB_NOTLS: a reader
  // belongs to its object and not to its thread.
  unsigned int flags = MDB_NOTLS | MDB_NOMETASYNC;
  if (access == Access::kRead) flags |= MDB_RDONLY;
  const int result = mdb_env_open(environment_, folder_.path.c_str(), flags, kMode);
  if (result != MDB_SUCCESS) fail(result, "open");
  if (!pages_) pages_.emplace(folder_);
  // Frees the reader slots of processes that were killed.
  int dead = 0;
  mdb_reader_check(environment_, &dead);
}

// If the tables do not exist yet, takes the writer lock and creates them. It may have to wait for
// the lock.
void LmdbStore::open_tables(Access access) {
  int result = open_tables(begin_checked(MDB_RDONLY, Reading::Check::kNothing), 0);
  if (result == MDB_NOTFOUND && access == Access::kRead) return;
  if (result == MDB_NOTFOUND)
    result = open_tables(begin_checked(0, Reading::Check::kNothing), MDB_CREATE);
  if (result != MDB_SUCCESS) fail(result, "open the tables of");
  tables_.exist = true;
}

// Opens the tables, with MDB_CREATE also makes them, and ends the transaction. Returns the result
// of LMDB.
int LmdbStore::open_tables(MDB_txn* transaction, unsigned int flags) {
  const auto open = [&](const char* name, unsigned int table_flags, MDB_dbi& table) {
    return mdb_dbi_open(transaction, name, table_flags | flags, &table);
  };
  int result = open("blocks", MDB_INTEGERKEY, tables_.blocks);
  if (result == MDB_SUCCESS) result = open("index", 0, tables_.index);
  if (result == MDB_SUCCESS) result = open("uses", MDB_INTEGERKEY, tables_.uses);
  if (result == MDB_SUCCESS) {
    result = mdb_txn_commit(transaction);
    tables_.mapping.unlock_shared();
  } else {
    end(transaction);
  }
  return result;
}

// Returns a transaction, and holds Tables::mapping shared for it.
MDB_txn* LmdbStore::begin(unsigned int flags) {
  // Waiting counts as progress while other writers finish their changes.
  const StoreWatch::Step step(watch_, "waits for its turn", [this] {
    const std::shared_lock mapped(tables_.mapping, std::try_to_lock);
    if (!mapped) return int64_t{-1};  // the code below maps the file again
    MDB_envinfo info = {};
    mdb_env_info(environment_, &info);
    return static_cast<int64_t>(info.me_last_txnid);
  });
  MDB_txn* transaction = nullptr;
  tables_.mapping.lock_shared();
  int result = mdb_txn_begin(environment_, nullptr, flags, &transaction);
  for (int attempt = 1; result == MDB_MAP_RESIZED && attempt < kMapAttempts; ++attempt) {
    tables_.mapping.unlock_shared();
    {
      const std::unique_lock alone(tables_.mapping);
      mdb_env_set_mapsize(environment_, map_bytes_);  // LMDB maps more if the file is larger
    }
    tables_.mapping.lock_shared();
    result = mdb_txn_begin(environment_, nullptr, flags, &transaction);
  }
  if (result == MDB_SUCCESS) return transaction;
  tables_.mapping.unlock_shared();
  fail(result, "begin to use");
}

void LmdbStore::end(MDB_txn* transaction) {
  mdb_txn_abort(transaction);
  tables_.mapping.unlock_shared();
}

// Does the same as begin(), and checks the pages that the transaction begins with.
MDB_txn* LmdbStore::begin_checked(unsigned int flags, Reading::Check check) {
  const bool writes = (flags & MDB_RDONLY) == 0;
  for (int attempt = 1;; ++attempt) {
    MDB_txn* transaction = begin(flags);
    const StoreWatch::Step step(watch_, "checks its pages", [this] { return pages_->reads(); });
    try {
      const bool found = pages_->turn_to(mdb_txn_id(transaction) - (writes ? 1 : 0));
      if (!found && attempt == kViewAttempts) throw damaged_store(folder_, "no such transaction");
      if (found) {
        if (writes) pages_->check_free_pages();
        if (check == Reading::Check::kUses) pages_->check_table(LmdbTable::kUses);
        if (check == Reading::Check::kAll) pages_->check_all();
        return transaction;
      }
    } catch (...) {
      end(transaction);
      throw;
    }
    end(transaction);  // two later changes have replaced the state that it began with
  }
}

void LmdbStore::fail(int result, const char* action) const {
  if (is_damage(result)) throw damaged_store(folder_, mdb_strerror(result));
  if (result > 0)
    throw system_error("cache.store", action, folder_.data(), reason_of(result, folder_.path));
  throw Error({.code = "cache.store",
               .what = fmt::format("cannot {} the store of the embedding cache", action),
               .where = folder_.data(),
               .expected = "a store that can be used",
               .found = mdb_strerror(result),
               .hint = "run without the cache, or with a larger one (--set "
                       "semantic.embedding_cache.disk=SIZE)"});
}

int64_t LmdbStore::file_bytes() const {
  struct stat file = {};
  if (retried([&] { return ::stat(folder_.data().c_str(), &file); }) != 0) return 0;
  return file.st_size;
}

int64_t LmdbStore::page_bytes() const {
  MDB_stat stat = {};
  mdb_env_stat(environment_, &stat);
  return stat.ms_psize;
}

void LmdbStore::write_compacted() {
  const std::string path = folder_.compacted();
  remove_file(path);
  const UniqueFd fd(
      retried([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode); }));
  if (!fd) throw system_error("cache.store", "create", path, errno);
  int result = MDB_SUCCESS;
  {
    const StoreWatch::Step step(watch_, "writes a copy", [&fd] {
      struct stat file = {};
      return ::fstat(fd.get(), &file) == 0 ? int64_t{file.st_size} : 0;
    });
    result = mdb_env_copyfd2(environment_, fd.get(), MDB_CP_COMPACT);
  }
  // The sync is not watched: it shows no progress, and takes minutes for a large file.
  if (result == MDB_SUCCESS && retried([&] { return ::fsync(fd.get()); }) == 0) return;
  const int reason = result != MDB_SUCCESS ? result : errno;
  ::unlink(path.c_str());
  fail(reason, "copy");
}

}  // namespace encode
