// Makes sure that encode and encode-worker are of one build. They are not if only one of them was
// installed again, or if a package is upgraded during a run and a worker is then started again.
//
// The job and the first line of a worker, its greeting, name the protocol of their build. Each of
// the two programs compares it with its own before it reads anything else of the other program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "encode/job.h"
#include "encode/worker_event.h"

#include "base/json.h"

namespace encode {

// The names and the types of all fields of a job, and of the events of every kind.
std::string job_schema();
std::string event_schema();

// The version of encode and a hash of both schemas. It changes whenever a field changes.
const std::string& protocol_id();

// The key of protocol_id() in a job and in a greeting.
inline constexpr const char* kProtocolKey = "protocol";

// Throws Error kConfig "job.protocol" for a message that does not name the protocol of this build.
void require_this_build(const Json& message);

// The largest job.json that is read. The blocks of rows make a job large; see packed_blocks.h.
inline constexpr int64_t kMaxJobBytes = int64_t{1} << 30;

// As job_spec_from_json(), for the worker that does the job. Throws what require_this_build()
// throws, too.
JobSpec job_of_this_build(const std::string& json);

// The first line that a worker writes into its event pipe. It ends in '\n'.
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
