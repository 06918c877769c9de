// What the log, status.json and `encode status` say about the embedding cache. Any thread may call
// these functions.
#pragma once

#include <string>
#include <string_view>

#include "encode/cache_counts.h"

#include "base/json.h"

namespace encode {

// "40.0% of 50,621 requests found in the embedding cache (L1 18,000, L2 2,000, disk 248), ...".
// If there were no requests, the text has only the number of rows that were equal to another row of
// their window. `one` is what the model encodes at once: "row", "passage" or "window".
std::string describe(const CacheCounts& counts, std::string_view one = "row");

Json to_json(const CacheCounts& counts);
// Throws Error kConfig of JsonFields for a field that is not valid; a missing one is 0.
CacheCounts cache_counts_from(const JsonFields& fields);

}  // namespace encode
