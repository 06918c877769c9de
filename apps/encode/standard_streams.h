// Checks of the standard input, output and error.
#pragma once

namespace encode {

// Opens /dev/null for each of the three that is closed. Otherwise the next file that is opened
// would get its number, and a message would be written into that file. Writing to a descriptor that
// was closed still fails.
void fill_standard_descriptors();

// Writes what is buffered to the standard output. Throws Error kIoError "io.stdout" if a part of
// the output could not be written, because the disk is full or the reader is gone.
void flush_standard_output();

}  // namespace encode
