// Finds the format and the compression of an input file.
#pragma once

#include "encode/config.h"

#include "base/input_format.h"

namespace encode {

// Does what input_format() does, and throws Error (kConfig) "text.format" if neither the suffix nor
// `options.format` states a format, and for a compressed columnar file, because these formats have
// compression of their own. Without a format, also throws what refuse_foreign_input() throws.
InputFormat resolve_format(const InputOptions& options);

}  // namespace encode
