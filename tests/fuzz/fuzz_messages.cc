// Reads any bytes as what encode and encode-worker tell each other, or as what a run has written
// for people and for later runs: a job, an event, the records of faults, the memory of faults, a
// status. The first byte chooses the kind.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "encode/error.h"
#include "encode/job.h"
#include "encode/worker_event.h"

#include "require.h"
#include "run_record/run_status.h"
#include "sealed.h"
#include "supervisor/worker/fault_memory.h"

namespace {

// A cache directory in memory, which stays until the process ends.
const std::string& cache() {
  static const std::string directory = [] {
    std::string path = "/dev/shm/fuzz_messages_XXXXXX";
    require(::mkdtemp(path.data()) != nullptr, "a folder in memory can be made");
    return path;
  }();
  return directory;
}

std::string write(const char* name, std::string_view content) {
  const std::string path = cache() + "/" + name;
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
  return path;
}

void read_job(const std::string& text) {
  const std::string json = encode::to_json(encode::job_spec_from_json(text));
  require(encode::to_json(encode::job_spec_from_json(json)) == json,
          "a job survives the round trip");
}

void read_event(const std::string& text) {
  const std::string line = encode::to_json_line(encode::worker_event_from_json(text));
  require(line.find('\n') == line.size() - 1, "an event is one line");
  require(encode::to_json_line(encode::worker_event_from_json(line)) == line,
          "an event survives the round trip");
}

// No raw control byte may reach the terminal.
void require_printable(const std::string& text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    require(byte >= 0x20 || byte == '\n', "control bytes are escaped");
    require(byte != 0x7f, "DEL is escaped");
  }
}

void read_status() {
  const encode::RunStatus status =
      encode::read_run_status({.cache_dir = cache(), .streams = {}, .config_path = ""});
  require_printable(encode::render_text(status, encode::StatusDetail::kShort));
  require_printable(encode::render_text(status, encode::StatusDetail::kFull));
  require_printable(encode::render_json(status));
}

void read_faults(const std::string& text) {
  const std::string first_line = "{\"encode\":\"faults\",\"format\":1}\n";
  write("faults.jsonl", first_line + text);
  read_status();
}

void read_memory_log(const std::string& text) {
  const std::string first_line = "{\"encode\":\"memory\",\"format\":1}\n";
  write("memory.jsonl", first_line + text);
  read_status();
}

void read_status_file(const std::string& text) {
  write("status.json", text);
  read_status();
}

void read_attempts(const std::string& text) {
  const encode::FaultMemory memory(write("attempts.json", encode::testing::sealed(text)));
  memory.save();
  const encode::FaultMemory again(cache() + "/attempts.json");
  require(again.streams().size() == memory.streams().size(),
          "the memory of faults survives the round trip");
  read_status();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using Reader = void (*)(const std::string&);
  constexpr std::array<Reader, 6> kReaders = {read_job,        read_event,       read_faults,
                                              read_memory_log, read_status_file, read_attempts};
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    kReaders[data[0] % kReaders.size()](text);
  } catch (const encode::Error& error) {
    require(error.detail().code && !error.detail().what.empty(),
            "an Error has a code and says what happened");
  }
  return 0;
}
