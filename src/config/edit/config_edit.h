// Changes values in a config file and keeps everything else in it: comments, blanks, quotes, the
// order of the keys, line ends. Every change can be undone. Any thread may call these functions.
#pragma once

#include <span>
#include <string>

namespace encode {

// A new value for one key.
struct ConfigEdit {
  std::string key;    // such as "semantic.batch_tokens"; names in it are written as in Setting::key
  std::string value;  // a YAML scalar on one line, such as 4096, auto or "query: "
};

struct EditedConfig {
  // The file to edit. If the path that was given is a symbolic link, this is the file it leads to.
  std::string file;
  std::string old_text;
  std::string new_text;
  // The difference as `diff -u` shows it; "" if there is none. Characters that cannot be seen are
  // escaped, and carriage returns at the ends of lines are left out.
  std::string diff;
};

// Reads the config at `path` and makes the edits, one after the other. Writes nothing. A key that
// is missing is added at the end of its section, in the style of the file, and so are missing
// sections. Only the bytes of the old values change; a comment keeps its place. Throws Error:
// - what load_config() throws if the file is not valid by the schema,
// - kUsage "config.key", "config.type", "config.value" if an edit is not valid by the schema,
// - kConfig "config.edit" that names the key and the line if the value has a form that cannot be
//   replaced in place, such as a text in a block. The new text was parsed and compared, so a wrong
//   place is refused, too.
EditedConfig edit_config(const std::string& path, std::span<const ConfigEdit> edits);

// Writes the new text, with the owner and the permissions of the file; access lists and extended
// attributes are not kept, and another hard link keeps the old text. First the old text is stored
// beside the file as `<file>.backup-YYYYmmdd-HHMMSS-<hash>` (UTC; a number follows the time if the
// last backup is not older). <hash> is the hash of the new text. Both files are written as
// AtomicFile writes, and a backup replaces no file, so a kill at any moment leaves the old text or
// the new text, and never a part of one. A text that another program writes in the last
// milliseconds before the replacement is lost, because files have no locks that editors respect.
// Returns the path of the backup, or "" if there is nothing to change. Throws Error:
// - kTempFail "config.changed" if the file is no longer as it was read,
// - kNoPermission, kIoError or kCantCreate if the files cannot be written. The file is then as it
//   was.
std::string apply_edit(const std::string& path, const EditedConfig& edited);

// Restores the newest backup of the config at `path` byte for byte, and removes that backup, so
// that the next call goes one step further back. If an earlier call was killed after it had
// restored the text, this call removes the backup. Returns the path that the backup had. Throws
// Error:
// - kConfig "config.undo" if there is no backup, or if the config was changed after the edit,
// - kNoPermission, kIoError or kCantCreate if the file cannot be written.
std::string undo_edit(const std::string& path);

}  // namespace encode
