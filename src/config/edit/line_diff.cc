#include "config/edit/line_diff.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <vector>

#include "base/utf8.h"

namespace encode {
namespace {

constexpr size_t kContextLines = 3;

using Lines = std::vector<std::string_view>;

struct DiffLine {
  char mark = ' ';  // ' ': in both texts, '-': only before, '+': only after
  std::string_view text;
};

// Each line keeps its line end, so that a last line without one differs from a line with one.
Lines split(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// E. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986). A diagonal k
// holds the points (x, y) with x - y = k, of x lines before and y lines after. reached_[d] has, for
// the diagonals -d to d, the largest x that d changes reach.
class Script {
 public:
  Script(const Lines& before, const Lines& after) : before_(before), after_(after) {
    while (!extend()) {
    }
  }

  std::vector<DiffLine> lines() const {
    std::vector<DiffLine> reversed;
    auto x = std::ssize(before_);
    auto y = std::ssize(after_);
    for (int64_t d = std::ssize(reached_) - 1; d > 0; --d) {
      const bool adds = step_adds(d, x - y);
      const int64_t diagonal = adds ? x - y + 1 : x - y - 1;
      const int64_t from_x = reached(d - 1, diagonal);
      const int64_t from_y = from_x - diagonal;
      for (; x > from_x && y > from_y; --x, --y)
        reversed.push_back({.mark = ' ', .text = at(before_, x - 1)});
      reversed.push_back(adds ? DiffLine{.mark = '+', .text = at(after_, from_y)}
                              : DiffLine{.mark = '-', .text = at(before_, from_x)});
      x = from_x;
      y = from_y;
    }
    for (; x > 0; --x) reversed.push_back({.mark = ' ', .text = at(before_, x - 1)});
    std::reverse(reversed.begin(), reversed.end());
    return reversed;
  }

 private:
  static std::string_view at(const Lines& lines, int64_t index) {
    return lines[static_cast<size_t>(index)];
  }

  int64_t reached(int64_t changes, int64_t diagonal) const {
    return reached_[static_cast<size_t>(changes)][static_cast<size_t>(diagonal + changes)];
  }

  // Returns true if the last of the `changes` changes that lead to the diagonal adds a line.
  bool step_adds(int64_t changes, int64_t diagonal) const {
    if (diagonal == -changes) return true;
    return diagonal != changes &&
           reached(changes - 1, diagonal - 1) < reached(changes - 1, diagonal + 1);
  }

  // Allows one more change. Returns true if the ends of both texts are reached.
  bool extend() {
    const int64_t changes = std::ssize(reached_);
    std::vector<int64_t> row(static_cast<size_t>(2 * changes + 1));
    bool done = false;
    for (int64_t diagonal = -changes; diagonal <= changes && !done; diagonal += 2) {
      int64_t x = 0;
      if (changes > 0) {
        x = step_adds(changes, diagonal) ? reached(changes - 1, diagonal + 1)
                                         : reached(changes - 1, diagonal - 1) + 1;
      }
      while (x < std::ssize(before_) && x - diagonal < std::ssize(after_) &&
             at(before_, x) == at(after_, x - diagonal)) {
        ++x;
      }
      row[static_cast<size_t>(diagonal + changes)] = x;
      done = x >= std::ssize(before_) && x - diagonal >= std::ssize(after_);
    }
    reached_.push_back(std::move(row));
    return done;
  }

  const Lines& before_;
  const Lines& after_;
  std::vector<std::vector<int64_t>> reached_;
};

std::string shown(const DiffLine& line) {
  std::string_view text = line.text;
  const bool complete = text.ends_with('\n');
  if (complete) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return fmt::format("{}{}\n{}", line.mark, printable(text),
                     complete ? "" : "\\ No newline at end of file\n");
}

// The lines [begin, end) of a script. `before` and `after` are the numbers of lines in front of it.
struct Hunk {
  size_t begin = 0;
  size_t end = 0;
  size_t before = 0;
  size_t after = 0;
};

std::string range(size_t lines_in_front, size_t count) {
  const size_t first = count == 0 ? lines_in_front : lines_in_front + 1;
  return count == 1 ? fmt::to_string(first) : fmt::format("{},{}", first, count);
}

std::string shown(const std::vector<DiffLine>& script, const Hunk& hunk) {
  std::string body;
  size_t before = 0;
  size_t after = 0;
  for (size_t i = hunk.begin; i < hunk.end; ++i) {
    body += shown(script[i]);
    if (script[i].mark != '+') ++before;
    if (script[i].mark != '-') ++after;
  }
  return fmt::format("@@ -{} +{} @@\n{}", range(hunk.before, before), range(hunk.after, after),
                     body);
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, const std::string& name) {
  if (before == after) return "";
  const Lines old_lines = split(before);
  const Lines new_lines = split(after);
  const std::vector<DiffLine> script = Script(old_lines, new_lines).lines();
  std::string text = fmt::format("--- {0}\n+++ {0} (new)\n", printable(name));
  Hunk hunk;
  size_t old_count = 0;
  size_t new_count = 0;
  for (size_t i = 0; i < script.size(); ++i) {
    if (script[i].mark != ' ') {
      const size_t context = std::min(i, kContextLines);
      if (hunk.end == 0 || i - context > hunk.end) {
        if (hunk.end > 0) text += shown(script, hunk);
        hunk = {.begin = i - context, .before = old_count - context, .after = new_count - context};
      }
      hunk.end = std::min(i + 1 + kContextLines, script.size());
    }
    if (script[i].mark != '+') ++old_count;
    if (script[i].mark != '-') ++new_count;
  }
  return text + shown(script, hunk);
}

}  // namespace encode
