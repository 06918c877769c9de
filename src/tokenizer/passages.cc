#include "tokenizer/passages.h"

#include <utility>

#include "tokenizer/late_windows.h"
#include "tokenizer/passage_room.h"
#include "tokenizer/passage_row.h"
#include "tokenizer/text_cutter.h"
#include "tokenizer/text_units.h"

namespace encode {

int64_t CutText::tokens(int64_t passage) const {
  if (spans.empty()) return std::ssize(sequences.row(passage));
  const TokenSpan& span = spans[static_cast<size_t>(passage)];
  return span.end - span.begin;
}

PassageCutter::PassageCutter(PassageSettings settings, const std::string& where)
    : settings_(std::move(settings)), room_(passage_room(settings_, where)) {}

CutText PassageCutter::cut(const FramedText& text) const {
  CutText cut;
  SentenceWindow sentences(text.text);
  if (settings_.rule.late()) {
    DocumentTokens document(settings_, text);
    cut_text({.passages = settings_.rule, .room = room_}, sentences, document, cut);
    document.add_windows(cut);
    return cut;
  }
  const bool framed = !text.before.empty() || !text.after.empty();
  const int64_t room = framed ? passage_room(settings_, text) : room_;
  PassageRow rows(settings_, text, sentences);
  cut_text({.passages = settings_.rule, .room = room}, sentences, rows, cut);
  cut.lost_tokens = cut.sequences.lost_tokens;
  return cut;
}

}  // namespace encode
