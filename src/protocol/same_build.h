// Makes sure that encode and encode-worker are of the same build. Their builds differ if only one
// of the programs was installed again, or if the package is upgraded during a run and then a worker
// is started.
//
// The job, and the greeting, which is the first line of a worker, have the protocol_id() of the
// program that wrote them. Each program compares it with its own before it reads anything else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "encode/job.h"
#include "encode/worker_event.h"

#include "base/json.h"

namespace encode {

// Return the names and the types of all fields of a job, and of the events of every kind.
std::string job_schema();
std::string event_schema();

// Returns the version of encode and a hash of both schemas. It changes whenever a field changes.
const std::string& protocol_id();

// The key of protocol_id() in a job and in a greeting.
inline constexpr const char* kProtocolKey = "protocol";

// Throws Error kConfig "job.protocol" for a message that does not name the protocol of this build.
void require_this_build(const Json& message);

// The largest job.json that is read. The blocks of rows make a job large; see packed_blocks.h.
inline constexpr int64_t kMaxJobBytes = int64_t{1} << 30;

// Does the same as job_spec_from_json(), and also throws what require_this_build() throws. For the
// worker that does the job.
JobSpec job_of_this_build(const std::string& json);

// Returns the first line that a worker writes into its event pipe. It ends in '\n'.
std::string greeting();

// Reads what one worker writes into its event pipe. Not thread-safe.
class EventReader {
 public:
  // Returns the event in a line, or nullopt for the greeting. Throws Error kInternal
  // "worker.garbage" for a line of other text, after which the next line can be read. Throws Error
  // kConfig "job.protocol" if the worker is of another build.
  std::optional<WorkerEvent> read(std::string_view line);

 private:
  bool greeted_ = false;
};

}  // namespace encode
