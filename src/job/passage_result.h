// The result of an encoded window whose rows are cut into passages. Any thread may call the
// functions. They throw no Error.
#pragma once

#include <set>
#include <vector>

#include "job/window_result.h"

namespace encode {

// Does what finish() does. If a passage of a row failed, the whole row is set aside. Without
// row_vectors in the parts, each row gets one vector, the mean of the vectors of its passages
// scaled to length 1, and the parts lose their passages; a row whose mean is 0 is also set aside.
WindowVectors finish_passages(Window window, WindowValues values,
                              std::vector<FailedSequence> failed, const std::set<int64_t>& redone);

// Lists a row that was set aside in its part, and removes its truncation from the counts.
void list_set_aside(const SetAsideRow& row, WindowPart& part);

}  // namespace encode
