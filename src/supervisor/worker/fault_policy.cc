#include "supervisor/worker/fault_policy.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "base/units.h"
#include "supervisor/worker/oom_watch.h"

namespace encode {
namespace {

constexpr double kMaxDelaySeconds = 60;

bool overlap(RowRange a, RowRange b) { return a.begin < b.end && b.begin < a.end; }

// Takes rows off the list of rows that were set aside.
void forgive(std::vector<SetAsideRow>& set_aside, RowRange rows) {
  std::erase_if(set_aside, [rows](const SetAsideRow& row) {
    return row.row >= rows.begin && row.row < rows.end;
  });
}

// Returns the window with one of these rows that has failed before, or a new one.
SuspectWindow& suspect_in(StreamFaults& faults, RowRange rows) {
  for (SuspectWindow& suspect : faults.suspects) {
    if (overlap(suspect.rows, rows)) return suspect;
  }
  return faults.suspects.emplace_back(SuspectWindow{.rows = rows});
}

// Suspects the next window of a worker. A window that has failed before is not counted here,
// because a worker that knows of the failure encodes this window alone on its device.
void suspect_ahead(StreamFaults& faults, RowRange ahead) {
  const bool known =
      overlap(faults.search, ahead) ||
      std::any_of(faults.suspects.begin(), faults.suspects.end(),
                  [ahead](const SuspectWindow& other) { return overlap(other.rows, ahead); });
  if (ahead.size() > 0 && !known) faults.suspects.push_back({.rows = ahead, .failures = 1});
}

Error gave_up(ErrorCode code, std::string what, const FaultPolicy::Failure& failure,
              std::string hint) {
  const ErrorDetail& cause = failure.cause;
  return Error({.code = code,
                .exit_code = ExitCode::kInternal,
                .what = std::move(what),
                .where = cause.where,
                .expected = "rows that a worker completes",
                .found = cause.found.empty() ? cause.what : cause.what + "\n" + cause.found,
                .hint = std::move(hint)});
}

}  // namespace

ErrorDetail after_last_restart(ErrorDetail cause) {
  const bool memory = cause.code == kOomKill || cause.code == "host.memory";
  if (memory) cause.exit_code = ExitCode::kOsError;
  return cause;
}

void FaultPolicy::window_started(const std::string& stream, size_t worker) {
  StreamFaults& faults = memory_.of(stream);
  if (faults.search.size() == 0 || !searches(stream, worker)) return;
  // A worker starts a normal window only after it has encoded all parts of the probe. So no row of
  // the probe failed.
  for (SuspectWindow& suspect : faults.suspects) {
    if (overlap(suspect.rows, faults.search)) suspect.searched = true;
  }
  end_search(stream);
  memory_.save();
}

void FaultPolicy::rows_set_aside(const std::string& stream, const std::vector<SetAsideRow>& rows) {
  for (const SetAsideRow& row : rows) memory_.of(stream).set_row_aside(row);
  memory_.save();
}

void FaultPolicy::committed(const std::string& stream, RowRange rows, size_t worker) {
  counts_[worker].restarts = 0;
  StreamFaults& faults = memory_.of(stream);
  const bool suspected = std::erase_if(faults.suspects, [rows](const SuspectWindow& suspect) {
                           return overlap(suspect.rows, rows);
                         }) > 0;
  const bool innocent = faults.probe.size() > 0 && rows.begin <= faults.probe.begin &&
                        faults.probe.end <= rows.end && !searches(stream, worker);
  if (innocent) {
    // The search is over, because another worker has encoded these rows.
    forgive(faults.set_aside, rows);
    end_search(stream);
  }
  if (suspected || innocent) memory_.save();
}

void FaultPolicy::worker_ended(size_t worker) {
  std::erase_if(searchers_, [worker](const auto& entry) { return entry.second == worker; });
}

void FaultPolicy::finished(const std::string& stream) {
  StreamFaults& faults = memory_.of(stream);
  faults = {.budgets = std::move(faults.budgets)};
  searchers_.erase(stream);
  handed_over_.erase(stream);
  memory_.save();
}

FaultPolicy::Decision FaultPolicy::decide(const Failure& failure) {
  if (failure.stream.empty()) return {.delay_seconds = restart(failure.cause, failure.worker)};
  if (failure.probing) return narrow(failure);
  StreamFaults& faults = memory_.of(failure.stream);
  // The worker began before the search, so it did not know that it must avoid these rows.
  if (overlap(faults.search, failure.rows))
    return {.delay_seconds = restart(failure.cause, failure.worker)};
  suspect_ahead(faults, failure.ahead);
  SuspectWindow& suspect = suspect_in(faults, failure.rows);
  suspect.rows = failure.rows;
  ++suspect.failures;
  if (suspect.failures == kSearchAfterFailures) suspect.searched = false;
  // A worker that began before the second failure may fail in this window before any search has
  // begun.
  if (suspect.failures >= kMaxWindowFailures && suspect.searched) {
    suspect = {.rows = failure.rows};
    memory_.save();
    throw gave_up(
        "worker.poison_chunk",
        fmt::format("rows {} to {} of {} failed {} times, and no single row fails",
                    failure.rows.begin, failure.rows.end - 1, failure.stream, kMaxWindowFailures),
        failure,
        "look at these rows of the input and at the device; all committed chunks are "
        "kept");
  }
  const bool search =
      suspect.failures >= kSearchAfterFailures && !suspect.searched && faults.search.size() == 0;
  if (search) faults.search = faults.probe = failure.rows;
  memory_.save();
  return {.delay_seconds = restart(failure.cause, failure.worker), .searching = search};
}

// After a failure in a part of the probe, continues the search in this part.
FaultPolicy::Decision FaultPolicy::narrow(const Failure& failure) {
  StreamFaults& faults = memory_.of(failure.stream);
  // Another device may have encoded the rows meanwhile.
  if (faults.search.size() == 0) return {.delay_seconds = restart(failure.cause, failure.worker)};
  Decision decision = {.searching = true};
  if (failure.rows.size() > 1 || !(faults.probe == failure.rows)) {
    faults.alone_failures = 0;
    handed_over_.erase(failure.stream);
  }
  faults.probe = failure.rows;
  if (failure.rows.size() == 1 && ++faults.alone_failures >= kMaxAloneFailures) {
    const bool confirmed = handed_over_.contains(failure.stream) || devices_ == 1;
    if (confirmed) {
      decision.culprit = blame(faults, failure);
    } else {
      handed_over_[failure.stream] = failure.worker;
    }
  }
  memory_.save();
  decision.delay_seconds = restart(failure.cause, failure.worker);
  counts_[failure.worker].restarts = 0;  // to narrow the search is progress
  return decision;
}

std::optional<SetAsideRow> FaultPolicy::blame(StreamFaults& faults, const Failure& failure) {
  if (++counts_[failure.worker].culprits >= kMaxCulprits) {
    // So many rows cannot all be bad: the rows before this one were blamed wrongly.
    forgive(faults.set_aside, faults.search);
    suspect_in(faults, faults.search) = {.rows = faults.search};
    end_search(failure.stream);
    memory_.save();
    throw gave_up(
        "worker.every_row",
        fmt::format("{} rows of {} failed alone, and none succeeded", kMaxCulprits, failure.stream),
        failure,
        "the device or the model fails, not a row: look at the log and at the device "
        "(nvidia-smi, dmesg); all committed chunks are kept");
  }
  SetAsideRow culprit = {.row = failure.rows.begin,
                         .code = std::string(failure.cause.code.name()),
                         .message = failure.cause.what};
  faults.set_row_aside(culprit);
  faults.probe = faults.search;  // searches on, because other rows of the window may fail too
  suspect_in(faults, faults.search).failures = 0;
  faults.alone_failures = 0;
  handed_over_.erase(failure.stream);
  return culprit;
}

double FaultPolicy::restart(const ErrorDetail& cause, size_t worker) {
  int64_t& restarts = counts_[worker].restarts;
  if (restarts >= max_restarts_) {
    ErrorDetail detail = after_last_restart(cause);
    detail.what += fmt::format(" (gave up after {} without progress)",
                               format_count(restarts, "restart", "restarts"));
    throw Error(std::move(detail));
  }
  const double delay = first_delay_seconds_ * std::exp2(static_cast<double>(restarts));
  ++restarts;
  return std::min(delay, kMaxDelaySeconds);
}

void FaultPolicy::prepare(const std::string& stream, JobUnit& unit, size_t worker) {
  if (!memory_.streams().contains(stream)) return;
  StreamFaults& faults = memory_.of(stream);
  unit.set_aside = faults.set_aside;
  unit.budget_limits = faults.budgets;
  for (const SuspectWindow& suspect : faults.suspects) {
    unit.alone.push_back(suspect.rows);
    if (suspect.failures < kSearchAfterFailures || suspect.searched) continue;
    if (faults.search.size() == 0) faults.search = faults.probe = suspect.rows;
    if (!overlap(suspect.rows, faults.search)) unit.avoid.push_back(suspect.rows);
  }
  if (faults.search.size() == 0) return;
  const auto handed = handed_over_.find(stream);
  const bool must_wait = handed != handed_over_.end() && handed->second == worker && devices_ > 1;
  if (must_wait || searched_by_other(stream, worker)) {
    unit.avoid.push_back(faults.search);
  } else {
    searchers_[stream] = worker;
    unit.probe = faults.probe;
  }
}

int64_t FaultPolicy::restarts(size_t worker) const {
  const auto found = counts_.find(worker);
  return found == counts_.end() ? 0 : found->second.restarts;
}

void FaultPolicy::end_search(const std::string& stream) {
  StreamFaults& faults = memory_.of(stream);
  faults.search = faults.probe = {};
  faults.alone_failures = 0;
  searchers_.erase(stream);
  handed_over_.erase(stream);
}

bool FaultPolicy::searches(const std::string& stream, size_t worker) const {
  const auto found = searchers_.find(stream);
  return found != searchers_.end() && found->second == worker;
}

bool FaultPolicy::searched_by_other(const std::string& stream, size_t worker) const {
  const auto found = searchers_.find(stream);
  return found != searchers_.end() && found->second != worker;
}

}  // namespace encode
