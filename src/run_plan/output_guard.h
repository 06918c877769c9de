// Keeps a command from destroying files that are not its own.
#pragma once

#include <string>
#include <sys/stat.h>
#include <vector>

#include "encode/model_directory.h"

namespace encode {

// The checks for the outputs of a command. A check does nothing if the path does not exist. It
// throws Error kCantCreate
// - "output.protected", even with `overwrite`, if the path is a directory, a device, a file that
//   the command reads, a file of a model, or a file of a cache or a link that encode did not write;
// - "output.exists" if any other file exists that encode did not write for this purpose. With
//   `overwrite` this is not an error.
// It also throws the Error of a failed system call. Not thread-safe.
class OutputGuard {
 public:
  explicit OutputGuard(bool overwrite) : overwrite_(overwrite) {}

  // Adds a file that the command reads. `what` says what it is: "an input". Does nothing if the
  // file does not exist, because the command then fails when it opens the file.
  void protect(const std::string& path, const std::string& what);
  // Adds the files of a model, and everything in its directory.
  void protect(const ModelDirectory& model);
  void protect_directory(const std::string& path);  // everything in a model's directory

  // Checks a final matrix and the files beside it. See foreign_final_file().
  void check_final(const std::string& matrix_path) const;
  // Checks a log file, to which the run appends. Refuses a link, and a file with other text than
  // the lines of a log, even with `overwrite`.
  void check_log(const std::string& path) const;
  // Checks a file beside an output that the run may replace. `foreign` says that encode did not
  // write the file.
  void check_beside(const std::string& path, bool foreign) const;
  // Checks a file that the command always writes anew.
  void check_new(const std::string& path) const;

 private:
  struct Protected {
    dev_t device = 0;
    ino_t inode = 0;
    std::string what;
  };

  enum class Kind { kNothing, kFile, kLink };

  // Throws Error for a directory, a device and a protected file. Looks at the target of a link.
  Kind kind_of(const std::string& path) const;
  void refuse_foreign(const std::string& path, const std::string& found) const;

  bool overwrite_;
  std::vector<Protected> files_;
  std::vector<std::string> model_directories_;
};

}  // namespace encode
