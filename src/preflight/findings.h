// What `encode preflight` has found, and how it is shown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "encode/error.h"

namespace encode {

enum class Grade {
  kGreen,   // it works
  kYellow,  // a run works, but may be slow, may be interrupted, or gives something unexpected
  kRed,     // a run would fail
};

// The steps of a run up to its first batch. A run ends with the error of the first step that fails.
enum class RunStep {
  kConfig,
  kCache,      // the cache directory and its lock
  kLog,        // the list of inputs, the log, other files of the cache directory
  kDevice,     // whether the machine has a driver
  kModels,     // the models and the options of the streams
  kOutputs,    // what has the paths of the outputs, and their directories
  kInputs,     // the inputs are read
  kPlan,       // columns, disk space, combined matrices, quarantine
  kResume,     // the results of earlier runs
  kWriting,    // the first files are written
  kTokenizer,  // the worker loads the tokenizer
  kWorker,     // the device and the model
  kRows,       // the first rows
};

struct PreflightFinding {
  Grade grade = Grade::kGreen;
  std::string check;  // what was looked at: "gpu 0", "input train_tc"
  std::string found;  // one sentence
  std::string next;   // what to do; "" if the grade is kGreen
  // Of kRed: the error with which a run would end, or that preflight itself has.
  ErrorCode code;
  ExitCode exit_code = ExitCode::kOk;
  RunStep step = RunStep::kConfig;

  bool operator==(const PreflightFinding&) const = default;
};

// Collects findings in the order in which they are made. Not thread-safe.
class PreflightFindings {
 public:
  // The step in which a run would find what is added from now on.
  void at(RunStep step) { step_ = step; }

  void green(std::string check, std::string found);
  void yellow(std::string check, std::string found, std::string next);
  // Leaves an error out that is there already: several streams may share a broken model.
  void red(std::string check, const ErrorDetail& error);

  // Calls `look`, and turns an Error into a red finding. Returns false after an Error.
  template <typename Look>
  bool guard(const std::string& check, const Look& look) {
    try {
      look();
      return true;
    } catch (const Error& error) {
      red(check, error.detail());
      return false;
    }
  }

  const std::vector<PreflightFinding>& all() const { return all_; }
  int64_t count(Grade grade) const;
  // The code with which a run would end: kOk without a red finding, otherwise the exit code of the
  // first red finding of the earliest step.
  ExitCode exit_code() const;
  // Adds the findings of `more`, without the errors that are there already.
  void add(const PreflightFindings& more);
  // Makes the red findings of the step and of all later ones yellow, with the reason `why` for
  // which a run does not fail there.
  void forgive(RunStep first, const std::string& why);

 private:
  bool has_error(const PreflightFinding& red) const;

  RunStep step_ = RunStep::kConfig;
  std::vector<PreflightFinding> all_;
};

// Both escape text that comes from files. The text has a line for each finding, a line for the next
// step of each that is not green, and a line with the totals. It ends in '\n'. Lines are wrapped at
// `columns`, the width of the terminal; 0: the text is for a file or a program, and each finding is
// one line. The JSON is one line without a newline.
std::string render_text(const PreflightFindings& findings, double seconds, size_t columns = 0);
std::string render_json(const PreflightFindings& findings, double seconds);

}  // namespace encode
