// What a run remembers about failures, so that the next worker, and the next start of the same run,
// avoid them: <cache>/attempts.json. Throws no Error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "encode/store.h"

namespace encode {

// A window that failed and was not committed since.
struct SuspectWindow {
  RowRange rows;
  int64_t failures = 0;
  bool searched = false;  // a search found no row in it that fails alone
};

struct StreamFaults {
  std::vector<SuspectWindow> suspects = {};
  // The rows among which the supervisor searches for the row that makes workers fail; empty: there
  // is no search.
  RowRange search = {};
  RowRange probe = {};                      // the part of `search` that is left
  int64_t alone_failures = 0;               // how often `probe` has failed when it was a single row
  std::vector<SetAsideRow> set_aside = {};  // ascending
  // By DeviceFacts::name: the most tokens in a batch, after the device was out of memory.
  std::map<std::string, int64_t> budgets = {};

  void set_row_aside(const SetAsideRow& row);  // does nothing if the row is in `set_aside`
};

// The results do not depend on the file, except that rows stay set aside. It is therefore written
// without fsync, and a file that is damaged or cannot be read counts as empty. A file that cannot
// be written is not reported. Not thread-safe.
class FaultMemory {
 public:
  explicit FaultMemory(std::string path);  // "": nothing is kept on disk

  // Sets the StreamIdentity::fingerprint of the stream, and forgets the failures that were recorded
  // for another fingerprint. Must be called before of() is called for the stream.
  void bind(const std::string& stream, const std::string& fingerprint);
  // The reference is valid until forget_all() or bind().
  StreamFaults& of(const std::string& stream) { return streams_[stream]; }
  const std::map<std::string, StreamFaults>& streams() const { return streams_; }
  // Adds what another run of the same stream has learned: for each window the larger number of
  // failures, for each device the smaller budget, and all rows that were set aside. A search that
  // went on in the other run begins anew.
  void inherit(const std::string& stream, const StreamFaults& other);
  // Must be called after changes.
  void save() const;
  void forget_all();

 private:
  std::string path_;
  std::map<std::string, StreamFaults> streams_;
  std::map<std::string, std::string> fingerprints_;  // the XXH3-128 of each stream's fingerprint
};

}  // namespace encode
