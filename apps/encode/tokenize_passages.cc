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

// `encoded` is what the passage is encoded as, without the prompt; "" if it is the text alone.
std::string passage_line(const NumberedPassage& passage, std::string_view text,
                         std::string_view encoded) {
  const Passage& place = passage.place;
  return fmt::format(
      "{{\"row\":{},\"passage\":{},\"byte_begin\":{},\"byte_end\":{},\"char_begin\":{},"
      "\"char_end\":{},\"tokens\":{},\"lost_tokens\":{},\"text\":{}{}}}\n",
      passage.row, passage.number, place.byte_begin, place.byte_end, place.char_begin,
      place.char_end, passage.tokens, passage.lost_tokens, Json(text).dump(),
      encoded.empty() ? "" : fmt::format(",\"encoded\":{}", Json(encoded).dump()));
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

PassageCounts write_passages(const PassageSource& source, LineOutput& output,
                             TokenStatistics& statistics) {
  SteadyClock::duration cutting{};
  PassageCounts counts;
  CutText passages;
  Text text;
  std::string encoded;
  while (source.reader.next(text)) {
    require_text(text);
    const SteadyClock::time_point start = SteadyClock::now();
    try {
      passages = source.cutter.cut(text.framed());
    } catch (const Error& error) {
      if (!refuses_row(error.detail().code)) throw naming_row(error, text.place());
      if (counts.refused++ == 0) counts.first_refusal = naming_row(error, text.place()).detail();
      continue;
    }
    cutting += SteadyClock::now() - start;
    ++counts.rows;
    const auto& [before, cut, after] = text.framed();
    for (size_t i = 0; i < passages.passages.size(); ++i) {
      const Passage& place = passages.passages[i];
      const auto bytes = static_cast<size_t>(place.byte_end - place.byte_begin);
      const auto piece = cut.substr(static_cast<size_t>(place.byte_begin), bytes);
      if (source.framed) encoded.assign(before).append(piece).append(after);
      const int64_t tokens = passages.tokens(static_cast<int64_t>(i));
      const int32_t lost = passages.lost_tokens[i];
      statistics.add(tokens, lost, std::ssize(piece));
      output.write(passage_line({text.row, i, place, tokens, lost}, piece, encoded));
    }
  }
  counts.seconds = std::chrono::duration<double>(cutting).count();
  return counts;
}

}  // namespace encode
