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
// tried: ../lib beside the program's folder (a build), the private folder of an installation (for
// encode), and the program's folder (for encode-worker in the private folder). Throws Error
// kOsError "os.self".
std::array<std::string, 3> plugin_places(const std::string& file_name);

}  // namespace encode
