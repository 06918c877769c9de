// The findings of `encode preflight`, and how they are shown.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "encode/error.h"

namespace encode {

enum class Grade {
  kGreen,   // it works
  kYellow,  // a run works, but may be slow or interrupted, or gives an unexpected result
  kRed,     // a run would fail
};

// The steps of a run up to its first batch. A run ends with the error of the first step that fails.
enum class RunStep {
  kConfig,
  kCache,      // the cache directory and its lock
  kLog,        // the list of inputs, the log, other files of the cache directory
  kDevice,     // the presence of a driver
  kModels,     // the models and the options of the streams
  kOutputs,    // existing files at the paths of the outputs, and their directories
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
  // For kRed: the error with which a run would end, or an error of preflight itself.
  ErrorCode code;
  ExitCode exit_code = ExitCode::kOk;
  RunStep step = RunStep::kConfig;

  bool operator==(const PreflightFinding&) const = default;
};

// Collects findings in the order in which they are made. Not thread-safe.
class PreflightFindings {
 public:
  // Sets the step in which a run would notice the problems that are added from now on.
  void at(RunStep step) { step_ = step; }

  void green(std::string check, std::string found);
  void yellow(std::string check, std::string found, std::string next);
  // Adds the error unless it was added already: several streams may share a broken model.
  void red(std::string check, const ErrorDetail& error);

  // Calls `look`, and turns an exception into a red finding. Returns false after one.
  template <typename Look>
  bool guard(const std::string& check, const Look& look) {
    try {
      look();
      return true;
    } catch (const std::exception&) {
      red(check, current_error());
      return false;
    }
  }

  const std::vector<PreflightFinding>& all() const { return all_; }
  int64_t count(Grade grade) const;
  // Returns the code with which a run would end: kOk without a red finding, otherwise the exit code
  // of the first red finding of the earliest step.
  ExitCode exit_code() const;
  // Adds the findings of `more`, except for errors that were added already.
  void add(const PreflightFindings& more);
  // Turns red findings of this step and of later ones yellow. `why` is the reason for which a run
  // does not fail there.
  void forgive(RunStep first, const std::string& why);

 private:
  bool has_error(const PreflightFinding& red) const;

  RunStep step_ = RunStep::kConfig;
  std::vector<PreflightFinding> all_;
};

// Both escape text that comes from files. The text has a line for each finding, a line for the next
// step of each that is not green, and a line with the totals. The findings of a grade have the
// order in which they were made; the red ones come last, next to the prompt of the shell, and the
// green ones are there only if the user wants them (`verbose`). The text ends in '\n'. Lines are
// wrapped at `columns`, the width of the terminal; 0: the text is for a file or a program, and each
// finding is one line. The JSON is one line without a newline, and has all findings.
std::string render_text(const PreflightFindings& findings, double seconds, bool verbose,
                        size_t columns = 0);
std::string render_json(const PreflightFindings& findings, double seconds);

}  // namespace encode
