// The log of the faults of a run and of the reactions to them: <cache>/faults.jsonl.
// docs/store-format.md describes the file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "encode/types.h"

#include "base/names.h"
#include "run_record/record_file.h"

namespace encode {

enum class FaultType {
  kRunStarted,      // no fault: a run began; the records up to the next kRunStarted belong to it
  kOutOfMemory,     // the device had too little memory for a batch
  kDeviceFailure,   // the device reported an error after which its context cannot be used
  kCrash,           // the worker ended by a signal, or without a message
  kHang,            // no batch finished in time
  kHostMemory,      // the kernel killed the worker for lack of host memory
  kProtocol,        // the worker sent lines that are not events, or is of another build
  kError,           // the worker reported another error
  kBadRow,          // one row was found to cause the faults of its chunk
  kNonFinite,       // a vector was not finite
  kRestart,         // no fault: a worker was started in place of another
  kEmbeddingCache,  // the embedding cache failed, or has damaged records
  kRecycled,        // no fault: the worker was replaced as planned, or because its memory grew
};

enum class FaultAction {
  kNone,
  kBatchHalved,
  kRestarted,
  kRestartedWithoutExpandableSegments,
  kWindowHalved,
  kBisecting,     // parts of the window are encoded, to find the row that causes the fault
  kRowSetAside,   // the row has no vector for now; everything else is encoded
  kRowEncoded,    // a row that was set aside has its vector now
  kGaveUp,        // the run ended with this fault
  kWithoutCache,  // the run goes on without the embedding cache
  kDeviceLost,    // the run goes on without this device
};

inline constexpr NameTable<FaultType, 13> kFaultTypes = {
    {{"run_started", FaultType::kRunStarted},
     {"out_of_memory", FaultType::kOutOfMemory},
     {"device_failure", FaultType::kDeviceFailure},
     {"crash", FaultType::kCrash},
     {"hang", FaultType::kHang},
     {"host_memory", FaultType::kHostMemory},
     {"protocol", FaultType::kProtocol},
     {"error", FaultType::kError},
     {"bad_row", FaultType::kBadRow},
     {"non_finite", FaultType::kNonFinite},
     {"restart", FaultType::kRestart},
     {"embedding_cache", FaultType::kEmbeddingCache},
     {"recycled", FaultType::kRecycled}}};

inline constexpr NameTable<FaultAction, 11> kFaultActions = {
    {{"none", FaultAction::kNone},
     {"batch_halved", FaultAction::kBatchHalved},
     {"restarted", FaultAction::kRestarted},
     {"restarted_without_expandable_segments", FaultAction::kRestartedWithoutExpandableSegments},
     {"window_halved", FaultAction::kWindowHalved},
     {"bisecting", FaultAction::kBisecting},
     {"row_set_aside", FaultAction::kRowSetAside},
     {"row_encoded", FaultAction::kRowEncoded},
     {"gave_up", FaultAction::kGaveUp},
     {"without_cache", FaultAction::kWithoutCache},
     {"device_lost", FaultAction::kDeviceLost}}};

// True for the types that record no fault: kRunStarted, kRestart, kRecycled.
bool is_notice(FaultType type);

// One line of the file. `message` must not contain the text of a row. Texts are cut to a bounded
// length.
struct FaultRecord {
  FaultType type = FaultType::kError;
  FaultAction action = FaultAction::kNone;
  std::string stream = {};   // "" if no stream is concerned
  int64_t chunk = -1;        // -1: none
  RowRange rows = {};        // rows of the stream; empty if they are not known
  std::string code = {};     // ErrorDetail::code
  std::string message = {};  // ErrorDetail::what
  std::string config_path = {};
  std::string model_path = {};
  std::string dtype = {};
  std::string device = {};
  int64_t time = 0;  // seconds since 1970; add() sets it
};

// Not thread-safe. See RecordFile for the size, for failures to write and for the lock.
class FaultLog {
 public:
  // `path` is RunFiles::faults(). `on_problem` gets one sentence, at most once, if the records
  // cannot be written.
  FaultLog(const std::string& path, std::function<void(const std::string&)> on_problem);

  // Appends a record with the present time. Throws no Error.
  void add(const FaultRecord& fault);

 private:
  RecordFile file_;
};

struct FaultHistory {
  std::vector<FaultRecord> records;   // oldest first
  bool dropped = false;               // true: older records were dropped to limit the size
  std::vector<std::string> problems;  // one sentence for each thing that cannot be read
};

// Reads the records while a run may be writing them. A missing file has no records. Both throw no
// Error.
FaultHistory read_faults(const std::string& path);
Records read_fault_records(const std::string& path);
// `path` is for messages. Throws no Error.
FaultHistory fault_history(Records records, const std::string& path);

// The faults with the same type and code.
struct FaultSummary {
  FaultType type = FaultType::kError;
  std::string code;
  int64_t count = 0;
  FaultRecord last;
};

// Returns the faults of all runs, the most frequent first.
std::vector<FaultSummary> summarize(const std::vector<FaultRecord>& records);

// Returns the last fault of the last run; nullopt if it had none. `records` are oldest first.
std::optional<FaultRecord> last_fault(const std::vector<FaultRecord>& records);

}  // namespace encode
