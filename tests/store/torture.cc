#include "store/torture.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "encode/error.h"

#include "store/audit.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

std::string drain(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  return text;
}

// Parses lines such as "ack 3" (the commit of chunk 3). The text after these lines is the message
// of an Error.
void parse_events(const std::string& text, ChildResult& result) {
  size_t at = 0;
  while (text.compare(at, 4, "ack ") == 0) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) return;
    result.acked.push_back(std::stoll(text.substr(at + 4, end - at - 4)));
    at = end + 1;
  }
  result.message = text.substr(at);
}

void tell(int fd, const std::string& text) {
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(97);
}

}  // namespace

uint32_t soak_round() {
  const char* round = std::getenv("STORE_SOAK");
  return round == nullptr ? 0 : static_cast<uint32_t>(std::strtoul(round, nullptr, 10));
}

FaultPlan fault_plan(const std::string& root, FaultMode mode, int64_t at) {
  FaultPlan plan;
  plan.mode = mode;
  plan.at = at;
  std::strncpy(plan.root, root.c_str(), sizeof plan.root - 1);
  return plan;
}

ChildResult run_child(const std::function<void(const std::function<void(int64_t)>& ack)>& action,
                      const FaultPlan& plan) {
  int ends[2] = {};
  if (::pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    ::close(ends[0]);
    set_fault_plan(plan);
    try {
      action([&ends](int64_t index) { tell(ends[1], fmt::format("ack {}\n", index)); });
      ::_exit(0);
    } catch (const Error& error) {
      tell(ends[1], error.what());
      ::_exit(static_cast<int>(error.exit_code()));
    }
  }
  ::close(ends[1]);
  ChildResult result;
  parse_events(drain(ends[0]), result);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.killed = result.signal == SIGKILL;
  return result;
}

ChildResult run_child(const std::string& cache_dir, const FakeJob& job, const FaultPlan& plan) {
  return run_child(
      [&](const std::function<void(int64_t)>& ack) { run_fake_job(cache_dir, job, ack); }, plan);
}

std::string torn_file(const std::string& cache_dir, const FakeJob& job) {
  const auto torn = [](const std::string& path, const std::string& whole) {
    return std::filesystem::exists(path) && read_bytes(path) != whole;
  };
  const std::string final_path = job.final_path(cache_dir);
  if (torn(final_path, expected_final(job))) return "torn " + final_path;
  for (int64_t index = 0; index * job.chunk_rows < job.identity.rows; ++index) {
    const std::string path = job.chunk_path(cache_dir, index);
    const RowRange rows = {.begin = index * job.chunk_rows,
                           .end = std::min(job.identity.rows, (index + 1) * job.chunk_rows)};
    if (torn(path, expected_matrix(job, rows))) return "torn " + path;
  }
  return "";
}

std::string resume_problem(const std::string& cache_dir, const FakeJob& job,
                           const std::vector<int64_t>& acked) {
  const std::string path = job.final_path(cache_dir);
  if (const std::string foreign = foreign_final_file(path); !foreign.empty())
    return "a file of the final is not known as one of encode: " + foreign;
  try {
    for (const int64_t index : run_fake_job(cache_dir, job)) {
      const bool was_acked = std::find(acked.begin(), acked.end(), index) != acked.end();
      if (was_acked) return fmt::format("chunk {} was committed and then encoded again", index);
    }
  } catch (const Error& error) {
    return error.what();
  }
  if (!std::filesystem::exists(path)) return "the final is missing";
  if (read_bytes(path) != expected_final(job)) return "the final differs";
  const std::string ledger = expected_ledger(job);
  if (ledger.empty() ? std::filesystem::exists(ledger_path(path))
                     : read_bytes(ledger_path(path)) != ledger)
    return "the ledger differs";
  if (!job.set_aside.empty() && read_bytes(set_aside_path(path)) != expected_set_aside(job))
    return "the ledger of rows set aside differs";
  if (job.identity.has_offsets() && read_bytes(offsets_path(path)) != expected_offsets(job))
    return "the offsets differ";
  if (job.identity.passages && read_bytes(passages_path(path)) != expected_passages(job))
    return "the passages differ";
  const bool filtered = job.identity.fingerprint == filtered_job().identity.fingerprint;
  if (filtered ? read_bytes(source_rows_path(path)) != expected_source_rows(job)
               : std::filesystem::exists(source_rows_path(path)))
    return "the source rows differ";
  if (final_state(path, job.identity, true) != FinalState::kValid)
    return "the manifest does not fit";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache_dir)) {
    if (entry.path().filename().string().find(".tmp.") != std::string::npos)
      return "a temporary file is left: " + entry.path().string();
  }
  return "";
}

}  // namespace encode::testing
