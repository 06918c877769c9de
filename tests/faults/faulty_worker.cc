// encode-worker with a device that fails. FAULTS says how (faulty_encoder.h), and FAULT_COUNTERS is
// a folder in which the faults are counted over all workers of a run.
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "faulty_encoder.h"
#include "job/worker.h"

namespace {

// Returns the number of the worker: 0 for ".../job.json", 7 for ".../job.7.json".
int64_t number_of(const std::string& job) {
  const std::string name = job.substr(job.rfind('/') + 1);
  return name == "job.json" ? 0 : std::stoll(name.substr(name.find('.') + 1));
}

}  // namespace

// Usage: encode-worker --job FILE --events FD
int main(int argc, char** argv) {
  if (argc != 5) return 64;
  const char* faults = std::getenv("FAULTS");
  const char* counters = std::getenv("FAULT_COUNTERS");
  const int64_t worker = number_of(argv[2]);
  encode::WrapEncoder wrap;
  if (faults != nullptr && counters != nullptr) {
    wrap = [&](std::unique_ptr<encode::Encoder> encoder) {
      std::vector<encode::testing::Fault> own = encode::testing::parse_faults(faults);
      std::erase_if(own, [worker](const encode::testing::Fault& fault) {
        return fault.worker >= 0 && fault.worker != worker;
      });
      return encode::testing::with_faults(std::move(encoder), std::move(own), counters);
    };
  }
  const int code = encode::run_worker(argv[2], std::stoi(argv[4]), wrap);
  std::fflush(nullptr);
  ::_exit(code);
}
