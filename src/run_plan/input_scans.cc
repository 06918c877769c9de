#include "run_plan/input_scans.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string_view>

#include "base/empty_rows.h"
#include "base/file.h"
#include "base/host.h"
#include "base/json.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "run_plan/leavings.h"
#include "store/run_files.h"
#include "text/encodings.h"

namespace encode {
namespace {

std::string rejected_line(const RejectedRow& row, std::string_view file) {
  const Json line = {
      {"record", row.record}, {"file", file}, {"line", row.line}, {"reason", row.reason}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// `list` is the path of the list of rejected rows, or "".
ScannedInput scan_one(const StreamPlan& stream, const std::string& list) {
  const Stopwatch watch;
  std::optional<AtomicFile> rejected;
  ScannedInput result;
  result.scan = scan_texts(stream.config.input, [&](const RejectedRow& row) {
    if (list.empty()) return;
    if (!rejected) rejected.emplace(list, 0);
    const std::string line =
        rejected_line(row, stream.standard_input ? kStandardInputName : row.file);
    rejected->write(line.data(), line.size());
  });
  if (rejected) {
    rejected->commit();
    result.rejected_path = list;
  } else if (!list.empty()) {
    remove_file(list);  // deletes the list of an earlier run
  }
  result.seconds = watch.seconds();
  return result;
}

std::string name_of_input(const StreamPlan& stream, const InputScan& scan) {
  const std::string& first = scan.files.front().path;
  if (stream.standard_input) return kStandardInputName;
  if (scan.files.size() == 1) return first;
  return fmt::format("{} files from {} to {}", format_count(std::ssize(scan.files)), first,
                     scan.files.back().path);
}

// Warns, because a run without rows succeeds, but is hardly ever intended.
void warn_of_no_rows(const StreamPlan& stream, const InputScan& scan, RunLog& log) {
  std::string reason = "has no rows: check the path, and the format (--format)";
  if (scan.file_bytes() == 0)
    reason = stream.standard_input ? "is empty: the command in front of the pipe printed nothing"
                                   : "is empty: check the path";
  if (scan.filtered > 0)
    reason = fmt::format("has {}, and the filter keeps none of them: {}",
                         format_count(scan.rows_in, "record", "records"),
                         preview(stream.config.input.filter.where));
  else if (scan.rejected > 0)
    reason = fmt::format("has {}, and all were rejected: look at the list of them",
                         format_count(scan.rejected, "row", "rows"));
  log.warning("no_rows",
              fmt::format("{}: the matrix has no rows, because {} {}", stream.config.name(),
                          name_of_input(stream, scan), reason),
              {{"stream", stream.config.name()},
               {"path", stream.config.input.path},
               {"file_bytes", scan.file_bytes()},
               {"rejected", scan.rejected}});
}

// Warns of fields of the filter that may be misspelled: a missing field is null there.
void warn_of_unseen_filter_fields(const StreamPlan& plan, RunLog& log) {
  const StreamConfig& stream = plan.config;
  const std::vector<std::string> fields = unseen_filter_fields(stream.input, plan.scan);
  if (fields.empty()) return;
  log.warning(
      "unseen_fields",
      fmt::format(
          "{}: no row at the beginning of {} has '{}', so it is null in the filter; the first "
          "row has {}",
          stream.name(), name_of_input(plan, plan.scan),
          preview(fmt::format("{}", fmt::join(fields, "', '")), 200), list_fields(stream.input)),
      {{"stream", stream.name()}, {"fields", fields}});
}

// Warns of fields that may be misspelled: where missing fields are empty, no row is refused.
void warn_of_unseen_fields(const StreamPlan& plan, RunLog& log) {
  const StreamConfig& stream = plan.config;
  const std::vector<std::string> fields = unseen_fields(stream.input, plan.scan);
  if (fields.empty()) return;
  const std::string names = preview(fmt::format("{}", fmt::join(fields, "', '")), 200);
  const std::string known = list_fields(stream.input);
  log.warning(
      "unseen_fields",
      fmt::format("{}: no row at the beginning of {} has '{}', so nothing stands in its place "
                  "in the text; the first row has {}",
                  stream.name(), name_of_input(plan, plan.scan), names, known),
      {{"stream", stream.name()}, {"fields", fields}});
}

void warn_of_replaced_bytes(const StreamConfig& stream, const InputScan& scan, RunLog& log) {
  if (scan.utf8_replaced == 0) return;
  const ReplacedRows replaced = describe_replaced_rows(stream.input, scan);
  log.warning("utf8_replaced",
              fmt::format("{}: {}; {}", stream.name(), replaced.what, replaced.advice),
              {{"stream", stream.name()}, {"rows", scan.utf8_replaced}});
}

void warn_of_empty_rows(const std::string& name, const InputScan& scan, RunLog& log) {
  const EmptyRows rows = {.empty = scan.empty, .blank = scan.blank};
  if (!rows.any()) return;
  log.warning("empty_rows",
              fmt::format("{}: {}; such rows are encoded like others. To leave them out, {}", name,
                          describe(rows), empty_rows_advice(rows)),
              {{"stream", name}, {"empty", scan.empty}, {"blank", scan.blank}});
}

// Says what the filter has dropped: "the filter left out 12 of 20 records, 3 of them because a
// field of the filter is missing or null".
std::string in_words(const InputScan& scan) {
  std::string text = fmt::format("the filter left out {} of {}", format_count(scan.filtered),
                                 format_count(scan.rows_in, "record", "records"));
  if (scan.filter_unknown > 0)
    text += fmt::format(", {} of them because a field of the filter is missing or null",
                        format_count(scan.filter_unknown));
  return text;
}

// `list` is where the list of rejected rows is when the run has ended; "" if there is none.
void report(const StreamPlan& stream, const ScannedInput& input, const std::string& list,
            RunLog& log) {
  const InputScan& scan = input.scan;
  const std::string name = stream.config.name();
  std::string text = fmt::format(
      "{}: {}, {} in {} ({})", name, format_count(scan.rows, "row", "rows"),
      format_bytes(scan.file_bytes()), name_of_input(stream, scan), format_duration(input.seconds));
  if (scan.empty > 0) text += fmt::format("; {} empty", format_count(scan.empty));
  if (scan.tokenized > 0) text += fmt::format("; {} of token ids", format_count(scan.tokenized));
  if (scan.rejected > 0) text += fmt::format("; {} rejected", format_count(scan.rejected));
  if (stream.config.input.filter.any()) text += "; " + in_words(scan);
  if (!list.empty()) text += fmt::format(", listed in {} when the run has ended", list);
  log.info("input_scanned", text,
           {{"stream", name},
            {"path", stream.config.input.path},
            {"files", std::ssize(scan.files)},
            {"rows_in", scan.rows_in},
            {"rows", scan.rows},
            {"rejected", scan.rejected},
            {"filtered", scan.filtered},
            {"filter_unknown", scan.filter_unknown},
            {"empty", scan.empty},
            {"blank", scan.blank},
            {"tokenized", scan.tokenized},
            {"utf8_replaced", scan.utf8_replaced},
            {"file_bytes", scan.file_bytes()},
            {"sha256", scan.files.front().sha256}});
  if (scan.rows == 0) warn_of_no_rows(stream, scan, log);
}

}  // namespace

void warn_of_rows(const StreamPlan& stream, RunLog& log) {
  warn_of_unseen_fields(stream, log);
  warn_of_unseen_filter_fields(stream, log);
  warn_of_replaced_bytes(stream.config, stream.scan, log);
  warn_of_empty_rows(stream.config.name(), stream.scan, log);
}

Error naming_standard_input(const Error& error, const std::vector<StreamPlan>& streams) {
  const auto stream = std::find_if(streams.begin(), streams.end(), [](const StreamPlan& candidate) {
    return candidate.standard_input;
  });
  return stream == streams.end() ? error : naming_standard_input(error, stream->config.input);
}

std::vector<ScannedInput> scan_inputs(const std::vector<StreamPlan>& streams,
                                      const StoreOptions& store, PlanPurpose purpose, RunLog& log) {
  const auto list_of = [&](const StreamPlan& stream) {
    return purpose != PlanPurpose::kAudit
               ? RunFiles(store.cache_dir).rejected_rows(stream.config.name())
               : "";
  };
  std::vector<ScannedInput> results(streams.size());
  std::vector<std::exception_ptr> failures(streams.size());
  std::atomic<bool> failed = false;  // no thread begins a further scan
  share_calls(std::ssize(streams), cpu_quota(), [&](int64_t number) {
    const auto i = static_cast<size_t>(number);
    if (failed) return;
    try {
      results[i] = scan_one(streams[i], list_of(streams[i]));
      report(streams[i], results[i], lasting_list(store, results[i].rejected_path), log);
    } catch (...) {
      failures[i] = std::current_exception();
      failed = true;
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (!failure) continue;
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      throw naming_standard_input(error, streams);
    }
  }
  return results;
}

}  // namespace encode
