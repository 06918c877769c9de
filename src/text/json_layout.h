// Recognises files that are called JSONL, by their name or the config, but have another layout of
// JSON. Any thread may call it.
#pragma once

#include "encode/config.h"

#include "text/byte_window.h"

namespace encode {

// Looks at the first 64 KiB of a file of JSONL. Throws Error kConfig "text.format" under every row
// policy if the file is one JSON array of texts or objects, or if its first document goes over
// several lines: every line would be a bad row. `window` stands at the beginning of the file, and
// stays there.
void refuse_other_json(ByteWindow& window, const InputOptions& options);

}  // namespace encode
