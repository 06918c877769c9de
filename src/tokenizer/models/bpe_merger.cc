#include "tokenizer/models/bpe_merger.h"

#include <algorithm>
#include <bit>

namespace encode {
namespace {

constexpr size_t kShort = 32;    // the largest number of symbols for merge_short()
constexpr size_t kWindow = 512;  // the number of symbols in a window of a long word
// The number of tokens at the end of a window that the next window merges again. They may be wrong,
// because the merges did not see the symbols after the window.
constexpr size_t kTokensToRedo = 2;
// A word is merged as a whole if its windows together have more symbols than this number times the
// size of the word. Real vocabularies need up to 4, if tokens are longer than a window.
constexpr size_t kMaxMergeWork = 16;
constexpr uint32_t kNoNode = UINT32_MAX;

}  // namespace

PairTable::PairTable(const std::vector<BpeMerge>& merges) {
  const size_t slots = std::bit_ceil(std::max<size_t>(merges.size() * 2, 16));
  shift_ = 64 - std::countr_zero(slots);
  slots_.resize(slots);
  uint32_t rank = 0;
  for (const BpeMerge& merge : merges) {
    const uint64_t key = make_key(merge.left, merge.right);
    size_t at = hash(key) >> shift_;
    while (at < slots_.size() && slots_[at].key != kFree && slots_[at].key != key) ++at;
    if (at == slots_.size()) slots_.emplace_back();
    slots_[at] = {key, {rank++, merge.merged}};
  }
  slots_.emplace_back();  // the last slot is free, so every probe ends
}

int32_t* BpeMerger::merge(std::span<const int32_t> symbols, int32_t* out) {
  if (symbols.size() <= kShort) return merge_short(symbols, out);
  for (const Token& token : merge_ranged(symbols)) *out++ = token.id;
  return out;
}

std::span<const BpeMerger::Token> BpeMerger::merge_ranged(std::span<const int32_t> symbols) {
  // Merges a long word in windows. This gives the same tokens as merging the whole word: BPE gives
  // the tokens t1 .. tn for a text if and only if, for each pair of neighbours, it gives ti, ti+1
  // for the text of this pair. Proof: suppose that BPE of the whole text merges two symbols on both
  // sides of the border between ti and ti+1. The first merge of this kind also happens if BPE
  // merges the text of ti and ti+1 alone, because the symbols outside the pair only add candidates
  // with a lower priority.
  //
  // So the tokens before a window and the tokens of the window are right if joins() is true for the
  // two tokens at the border between them. If joins() is false, a larger window begins at the token
  // before the border. If tokens are much longer than a window, this could be repeated without end.
  // So after kMaxMergeWork symbols for each symbol of the word, the word is merged as a whole.
  tokens_.clear();
  window_.clear();
  uint32_t begin = 0;
  size_t size = kWindow;
  size_t work = 0;
  while (begin < symbols.size()) {
    size = std::min(size, symbols.size() - begin);
    work += size + (tokens_.empty() ? 0 : begin - tokens_.back().begin);
    if (work > kMaxMergeWork * (symbols.size() + kWindow)) return merge_whole(symbols);
    next_window(symbols, begin, size);
    const auto window_end = static_cast<uint32_t>(begin + size);
    const uint32_t first_end = window_.size() > 1 ? window_[1].begin : window_end;
    if (!tokens_.empty() && !joins(symbols, tokens_.back(), window_.front(), first_end)) {
      begin = tokens_.back().begin;
      tokens_.pop_back();
      size = size * 2 + kWindow;
      continue;
    }
    const bool last = window_end == symbols.size();
    if (!last && window_.size() <= kTokensToRedo) {
      size *= 2;
      continue;
    }
    const size_t kept = last ? window_.size() : window_.size() - kTokensToRedo;
    tokens_.insert(tokens_.end(), window_.begin(), window_.begin() + static_cast<ptrdiff_t>(kept));
    if (last) break;
    begin = window_[kept].begin;
    size = kWindow;
  }
  return tokens_;
}

std::span<const BpeMerger::Token> BpeMerger::merge_whole(std::span<const int32_t> symbols) {
  tokens_.clear();
  merge_window(symbols, 0, tokens_);
  return tokens_;
}

// Fills window_ with the tokens of the next window. If the next window has the same symbols as the
// last window (in a long run of one character), the same tokens are used with new begins.
void BpeMerger::next_window(std::span<const int32_t> symbols, uint32_t begin, size_t size) {
  const auto here = symbols.subspan(begin, size);
  if (!window_.empty() && size == window_size_ &&
      std::ranges::equal(here, symbols.subspan(window_.front().begin, size))) {
    const uint32_t moved = begin - window_.front().begin;
    for (Token& token : window_) token.begin += moved;
    return;
  }
  window_.clear();
  window_size_ = size;
  merge_window(here, begin, window_);
}

bool BpeMerger::joins(std::span<const int32_t> symbols, const Token& left, const Token& right,
                      uint32_t right_end) {
  const auto both = symbols.subspan(left.begin, right_end - left.begin);
  const uint32_t border = right.begin - left.begin;
  if (border == joined_border_ && std::ranges::equal(both, joined_symbols_)) return true;
  joined_.clear();
  merge_window(both, left.begin, joined_);
  const bool stand = joined_.size() == 2 && joined_[1].begin == right.begin &&
                     joined_[0].id == left.id && joined_[1].id == right.id;
  if (stand) {
    joined_symbols_.assign(both.begin(), both.end());
    joined_border_ = border;
  }
  return stand;
}

// Finds the pair with the lowest rank and merges it, again and again. The arrays are short, so
// their elements can be moved for each merge.
int32_t* BpeMerger::merge_short(std::span<const int32_t> symbols, int32_t* out) {
  int32_t ids[kShort + 1];
  PairTable::Merge pairs[kShort + 1];
  size_t n = symbols.size();
  std::copy(symbols.begin(), symbols.end(), ids);
  for (size_t i = 0; i + 1 < n; ++i) pairs[i] = pairs_.find(ids[i], ids[i + 1]);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i) best = pairs[i].rank < pairs[best].rank ? i : best;
    if (pairs[best].rank == PairTable::kNone) break;
    ids[best] = pairs[best].merged;
    std::copy(ids + best + 2, ids + n, ids + best + 1);
    // This also moves the last pair, pairs[n - 1], which is never read.
    std::copy(pairs + best + 2, pairs + n, pairs + best + 1);
    --n;
    if (best > 0) pairs[best - 1] = pairs_.find(ids[best - 1], ids[best]);
    if (best + 1 < n) pairs[best] = pairs_.find(ids[best], ids[best + 1]);
  }
  return std::copy(ids, ids + n, out);
}

// Does the same as merge_short() for any number of symbols, with a heap of candidates and a linked
// list.
void BpeMerger::merge_window(std::span<const int32_t> symbols, uint32_t base,
                             std::vector<Token>& tokens) {
  const auto n = static_cast<uint32_t>(symbols.size());
  nodes_.resize(n);
  heap_.clear();
  for (uint32_t i = 0; i < n; ++i) {
    nodes_[i] = {symbols[i], i == 0 ? kNoNode : i - 1, i + 1 == n ? kNoNode : i + 1,
                 PairTable::kNone, -1};
  }
  for (uint32_t i = 0; i + 1 < n; ++i) rank_pair(i);
  while (!heap_.empty()) {
    const Candidate best = pop();
    const Node& node = nodes_[best.position];
    if (node.id >= 0 && node.rank == best.rank) merge_at(best.position);
  }
  for (uint32_t i = 0; i != kNoNode && i < n; i = nodes_[i].next)
    tokens.push_back({nodes_[i].id, base + i});
}

void BpeMerger::merge_at(uint32_t position) {
  Node& node = nodes_[position];
  Node& right = nodes_[node.next];
  node.id = node.merged;
  node.next = right.next;
  right.id = -1;
  if (node.next != kNoNode) nodes_[node.next].previous = position;
  rank_pair(position);
  if (node.previous != kNoNode) rank_pair(node.previous);
}

void BpeMerger::rank_pair(uint32_t position) {
  Node& node = nodes_[position];
  node.rank = PairTable::kNone;
  if (node.next == kNoNode) return;
  const PairTable::Merge merge = pairs_.find(node.id, nodes_[node.next].id);
  node.rank = merge.rank;
  node.merged = merge.merged;
  if (merge.rank != PairTable::kNone) push({merge.rank, position});
}

void BpeMerger::push(Candidate candidate) {
  heap_.push_back(candidate);
  std::push_heap(heap_.begin(), heap_.end(), [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  });
}

BpeMerger::Candidate BpeMerger::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  });
  const Candidate best = heap_.back();
  heap_.pop_back();
  return best;
}

void BpeMerger::shrink(size_t max_bytes) {
  if (nodes_.capacity() * sizeof(Node) > max_bytes) std::vector<Node>().swap(nodes_);
  if (heap_.capacity() * sizeof(Candidate) > max_bytes) std::vector<Candidate>().swap(heap_);
  for (auto* tokens : {&tokens_, &window_, &joined_}) {
    if (tokens->capacity() * sizeof(Token) > max_bytes) std::vector<Token>().swap(*tokens);
  }
}

}  // namespace encode
