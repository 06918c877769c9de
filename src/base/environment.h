// The environment of this process, and the place of its program.
#pragma once

#include <array>
#include <string>

namespace encode {

// Returns the value of an environment variable; "" if it is not set. Not thread-safe while another
// thread changes the environment.
std::string environment_variable(const char* name);

// Return the path and the folder of the program that runs. Throw Error kOsError "os.self".
std::string program_path();
std::string program_folder();

// The folder that has encode-worker and the plugins in an installation, relative to the folder of
// encode.
inline constexpr const char* kPrivateFolder = "../lib/encode";

// Returns the paths at which a shared library of encode may be, in the order in which they are
// tried: in the folder lib of a build, in kPrivateFolder of an installation, and beside the
// program. encode-worker is itself in the private folder, so the last path is for encode-worker.
// Throws Error kOsError "os.self".
std::array<std::string, 3> plugin_places(const std::string& file_name);

}  // namespace encode
