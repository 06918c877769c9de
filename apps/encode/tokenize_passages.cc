#include "tokenize_passages.h"

#include <chrono>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"

#include "base/json.h"

namespace encode {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct NumberedPassage {
  int64_t row;
  size_t number;
  Passage place;
  int64_t tokens;
  int64_t lost_tokens;
};

std::string passage_line(const NumberedPassage& passage, std::string_view utf8) {
  const Passage& place = passage.place;
  const std::string_view text = utf8.substr(static_cast<size_t>(place.byte_begin),
                                            static_cast<size_t>(place.byte_end - place.byte_begin));
  return fmt::format(
      "{{\"row\":{},\"passage\":{},\"byte_begin\":{},\"byte_end\":{},\"char_begin\":{},"
      "\"char_end\":{},\"tokens\":{},\"lost_tokens\":{},\"text\":{}}}\n",
      passage.row, passage.number, place.byte_begin, place.byte_end, place.char_begin,
      place.char_end, passage.tokens, passage.lost_tokens, Json(text).dump());
}

}  // namespace

void require_text(const Text& text) {
  if (!text.tokenized) return;
  throw Error({.code = "tokenize.input_ids",
               .what = "a row consists of token ids already",
               .where = text.place(),
               .expected = "a text",
               .found = fmt::format("{} ids", text.input_ids.size()),
               .hint = "encode run accepts token ids, but encode tokenize needs texts"});
}

PassageCounts write_passages(TextReader& reader, const PassageCutter& cutter, LineOutput& output,
                             TokenStatistics& statistics) {
  SteadyClock::duration cutting{};
  PassageCounts counts;
  std::vector<Passage> passages;
  TokenizedRows rows;
  Text text;
  while (reader.next(text)) {
    require_text(text);
    passages.clear();
    rows.clear();
    const SteadyClock::time_point start = SteadyClock::now();
    try {
      cutter.cut(text.utf8, passages, rows);
    } catch (const Error& error) {
      throw naming_row(error, text.place());
    }
    cutting += SteadyClock::now() - start;
    ++counts.rows;
    for (size_t i = 0; i < passages.size(); ++i) {
      const auto tokens = static_cast<int64_t>(rows.row(static_cast<int64_t>(i)).size());
      statistics.add(tokens, rows.lost_tokens[i], passages[i].byte_end - passages[i].byte_begin);
      output.write(
          passage_line({text.row, i, passages[i], tokens, rows.lost_tokens[i]}, text.utf8));
    }
  }
  counts.seconds = std::chrono::duration<double>(cutting).count();
  return counts;
}

}  // namespace encode
