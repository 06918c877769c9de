#include "run_plan/input_scans.h"

#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <optional>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "base/host.h"
#include "base/json.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "store/run_files.h"

namespace encode {
namespace {

std::string rejected_line(const RejectedRow& row) {
  const Json line = {
      {"record", row.record}, {"file", row.file}, {"line", row.line}, {"reason", row.reason}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

ScannedInput scan_one(const StreamConfig& stream, const std::string& cache_dir) {
  const std::string path = RunFiles(cache_dir).rejected_rows(stream.name());
  std::optional<AtomicFile> rejected;
  ScannedInput result;
  result.scan = scan_texts(stream.input, [&](const RejectedRow& row) {
    if (cache_dir.empty()) return;
    if (!rejected) rejected.emplace(path, 0);
    const std::string line = rejected_line(row);
    rejected->write(line.data(), line.size());
  });
  if (rejected) {
    rejected->commit();
    result.rejected_path = path;
  } else if (!cache_dir.empty()) {
    remove_file(path);  // the list of an earlier run
  }
  return result;
}

std::string input_name(const InputScan& scan) {
  const std::string& first = scan.files.front().path;
  if (scan.files.size() == 1) return first;
  return fmt::format("{} files from {} to {}", format_count(std::ssize(scan.files)), first,
                     scan.files.back().path);
}

// A run without rows succeeds, and is seldom what was meant.
void warn_of_no_rows(const StreamConfig& stream, const InputScan& scan, RunLog& log) {
  std::string reason = "has no rows: check the path, and the format (--format)";
  if (scan.file_bytes() == 0) reason = "is empty: check the path";
  if (scan.rejected > 0)
    reason = fmt::format("has {}, and all were rejected: look at the list of them",
                         format_count(scan.rejected, "row", "rows"));
  log.warning("no_rows",
              fmt::format("{}: the matrix has no rows, because {} {}", stream.name(),
                          input_name(scan), reason),
              {{"stream", stream.name()},
               {"path", stream.input.path},
               {"file_bytes", scan.file_bytes()},
               {"rejected", scan.rejected}});
}

void report(const StreamConfig& stream, const ScannedInput& input, double seconds, RunLog& log) {
  const InputScan& scan = input.scan;
  std::string text =
      fmt::format("{}: {}, {} in {} ({})", stream.name(), format_count(scan.rows, "row", "rows"),
                  format_bytes(scan.file_bytes()), input_name(scan), format_duration(seconds));
  if (scan.empty > 0) text += fmt::format("; {} empty", format_count(scan.empty));
  if (scan.tokenized > 0) text += fmt::format("; {} of token ids", format_count(scan.tokenized));
  if (scan.rejected > 0) text += fmt::format("; {} rejected", format_count(scan.rejected));
  if (!input.rejected_path.empty()) text += fmt::format(", see {}", input.rejected_path);
  log.info("input_scanned", text,
           {{"stream", stream.name()},
            {"path", stream.input.path},
            {"files", std::ssize(scan.files)},
            {"rows_in", scan.rows_in},
            {"rows", scan.rows},
            {"rejected", scan.rejected},
            {"empty", scan.empty},
            {"tokenized", scan.tokenized},
            {"utf8_replaced", scan.utf8_replaced},
            {"file_bytes", scan.file_bytes()},
            {"sha256", scan.files.front().sha256}});
  if (scan.rows == 0) warn_of_no_rows(stream, scan, log);
  if (scan.utf8_replaced == 0) return;
  log.warning(
      "utf8_replaced",
      fmt::format("{}: bytes that are not UTF-8 are in {} of {}, and U+FFFD replaces them; "
                  "convert the file, for example with iconv, or refuse such rows with utf8: "
                  "error",
                  stream.name(), format_count(scan.utf8_replaced),
                  format_count(scan.rows, "row", "rows")),
      {{"stream", stream.name()}, {"rows", scan.utf8_replaced}});
}

}  // namespace

std::vector<ScannedInput> scan_inputs(const std::vector<StreamConfig>& streams,
                                      const std::string& cache_dir, RunLog& log) {
  std::vector<ScannedInput> results(streams.size());
  std::vector<std::exception_ptr> failures(streams.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < streams.size(); i = next++) {
      try {
        const Stopwatch watch;
        results[i] = scan_one(streams[i], cache_dir);
        report(streams[i], results[i], watch.seconds(), log);
      } catch (...) {
        failures[i] = std::current_exception();
        next = streams.size();  // no thread starts another scan
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    const size_t helpers = std::min(streams.size(), static_cast<size_t>(cpu_quota())) - 1;
    try {
      for (size_t i = 0; i < helpers; ++i) threads.emplace_back(work);
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): the system refused a
                                          // thread, and fewer threads are enough
    }
    work();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return results;
}

}  // namespace encode
