// Publishes the final matrices of a run that works in an attempt (store/attempt_folders.h). For any
// other run its functions do nothing. Any thread may call publish(); the other functions must not
// run at the same time.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "encode/config.h"

#include "run_record/run_log.h"
#include "store/attempt_final.h"

namespace encode {

class AttemptFinals {
 public:
  // `options` and `log` must outlive the object.
  AttemptFinals(const StoreOptions& options, RunLog& log) : options_(options), log_(log) {}

  bool active() const { return !options_.shared_dir.empty(); }
  // Remembers what has the path of a final matrix. Must be called before the run decides from what
  // is there what it has to do. Throws what look_at_final() throws.
  void look_at(const std::string& final_path);
  // Says that the run makes this matrix anew, although it may be valid.
  void replace(const std::string& final_path) { replaced_.insert(final_path); }
  bool replaces(const std::string& final_path) const;

  // Publishes the matrix that the run has made at work_path_of(final_path). If another run has
  // published a matrix there since look_at(), this function deletes the matrix of this run as soon
  // as `is_wanted` accepts the other one. Throws Error kTempFail "store.taken" if `is_wanted` still
  // refuses it after a moment, and what `is_wanted` and move_final() throw.
  void publish(const std::string& final_path, const std::function<bool()>& is_wanted);

 private:
  void accept_other(const std::string& final_path, const std::function<bool()>& is_wanted);

  const StoreOptions& options_;
  RunLog& log_;
  std::map<std::string, FinalSeen> seen_;  // by path
  std::set<std::string> replaced_;
  mutable std::mutex mutex_;  // guards published_
  std::set<std::string> published_;
};

}  // namespace encode
