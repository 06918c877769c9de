// Random numbers of the kernel, for names that no two processes on any machines share.
#pragma once

#include <string>

namespace encode {

// Returns 64 random bits as 16 hexadecimal digits. Any thread may call it. Throws Error kIoError
// "io.read" if the kernel gives no random bytes.
std::string random_hex();

}  // namespace encode
