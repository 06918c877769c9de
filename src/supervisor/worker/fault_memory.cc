#include "supervisor/worker/fault_memory.h"

#include <algorithm>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json_values.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr ErrorCode kAttemptsCode = "records.damaged";  // never shown

Json to_json(const StreamFaults& faults) {
  Json rows = Json::array();
  for (const SetAsideRow& row : faults.set_aside)
    rows.push_back({{"row", row.row}, {"code", row.code}, {"message", row.message}});
  Json suspects = Json::array();
  for (const SuspectWindow& suspect : faults.suspects) {
    suspects.push_back({{"rows", rows_json(suspect.rows)},
                        {"failures", suspect.failures},
                        {"searched", suspect.searched}});
  }
  return {{"suspects", suspects},
          {"search", rows_json(faults.search)},
          {"probe", rows_json(faults.probe)},
          {"set_aside", rows},
          {"alone_failures", faults.alone_failures},
          {"budgets", faults.budgets}};
}

StreamFaults faults_of(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, kAttemptsCode);
  StreamFaults faults = {.search = rows_from(fields, "search"),
                         .probe = rows_from(fields, "probe"),
                         .alone_failures = fields.integer("alone_failures", 0, kMaxInteger)};
  for (const Json& suspect : fields.array("suspects")) {
    const JsonFields suspect_fields(suspect, where, kAttemptsCode);
    faults.suspects.push_back({.rows = rows_from(suspect_fields, "rows"),
                               .failures = suspect_fields.integer("failures", 0, kMaxInteger),
                               .searched = suspect_fields.boolean_or("searched", false)});
  }
  for (const Json& row : fields.array("set_aside")) {
    const JsonFields row_fields(row, where, kAttemptsCode);
    faults.set_aside.push_back({.row = row_fields.integer("row", 0, kMaxInteger),
                                .code = row_fields.string("code"),
                                .message = row_fields.string("message")});
  }
  const Json& budgets = fields.object("budgets");
  const JsonFields budget_fields(budgets, where, kAttemptsCode);
  for (const auto& [device, tokens] : budgets.items())
    faults.budgets[device] = budget_fields.integer(device, 1, kMaxInteger);
  return faults;
}

}  // namespace

void StreamFaults::set_row_aside(const SetAsideRow& row) {
  const auto place = std::ranges::lower_bound(set_aside, row.row, {}, &SetAsideRow::row);
  if (place == set_aside.end() || place->row != row.row) set_aside.insert(place, row);
}

FaultMemory::FaultMemory(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  try {
    std::string text = read_file(path_, kMaxSealedBytes, kAttemptsCode);
    if (text.ends_with('\n')) text.pop_back();
    const Json document = unseal(text, path_);
    const JsonFields fields(document, path_, kAttemptsCode);
    const Json& fingerprints = fields.object("fingerprints");
    const JsonFields fingerprint_fields(fingerprints, path_, kAttemptsCode);
    for (const auto& [stream, entry] : fields.object("streams").items()) {
      streams_[stream] = faults_of(entry, path_);
      fingerprints_[stream] = fingerprint_fields.string_or(stream, "");
    }
  } catch (const Error&) {
    streams_.clear();
    fingerprints_.clear();
  }
}

void FaultMemory::bind(const std::string& stream, const std::string& fingerprint) {
  std::string& known = fingerprints_[stream];
  const std::string now = xxh3_hex(fingerprint);
  if (known == now) return;
  known = now;
  streams_.erase(stream);
}

void FaultMemory::forget_all() {
  if (streams_.empty()) return;
  streams_.clear();
  save();
}

void FaultMemory::inherit(const std::string& stream, const StreamFaults& other) {
  StreamFaults& own = streams_[stream];
  for (const SuspectWindow& suspect : other.suspects) {
    const auto known = std::ranges::find(own.suspects, suspect.rows, &SuspectWindow::rows);
    if (known == own.suspects.end()) {
      own.suspects.push_back(suspect);
    } else {
      known->failures = std::max(known->failures, suspect.failures);
      known->searched = known->searched || suspect.searched;
    }
  }
  for (const SetAsideRow& row : other.set_aside) own.set_row_aside(row);
  for (const auto& [device, tokens] : other.budgets) {
    const auto [place, is_new] = own.budgets.emplace(device, tokens);
    if (!is_new) place->second = std::min(place->second, tokens);
  }
}

void FaultMemory::save() const {
  if (path_.empty()) return;
  Json streams = Json::object();
  for (const auto& [stream, faults] : streams_) streams[stream] = to_json(faults);
  const Json document = {{"fingerprints", fingerprints_}, {"streams", streams}};
  try {
    write_file_without_sync(path_, seal(document) + "\n");
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the next run learns it again
  }
}

}  // namespace encode
