#include "run_plan/shard_blocks.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "run_plan/shard_plan.h"

namespace encode {
namespace {

// Returns the blocks of the scan that have these rows, as indices [begin, end).
std::pair<size_t, size_t> blocks_of(const InputScan& scan, RowRange rows) {
  const auto begins_after = [](int64_t row, const InputScan::Checkpoint& block) {
    return row < block.row;
  };
  const auto& blocks = scan.checkpoints;
  if (rows.size() == 0 || blocks.empty()) return {0, 0};
  const auto begin = std::upper_bound(blocks.begin(), blocks.end(), rows.begin, begins_after) - 1;
  const auto end = std::upper_bound(begin, blocks.end(), rows.end - 1, begins_after);
  return {static_cast<size_t>(begin - blocks.begin()), static_cast<size_t>(end - blocks.begin())};
}

}  // namespace

std::string hash_of_blocks(const InputScan& scan, RowRange rows) {
  Xxh3 hash;
  hash.update(&rows, sizeof rows);
  const auto [begin, end] = blocks_of(scan, rows);
  for (size_t i = begin; i < end; ++i) {
    const InputScan::Checkpoint& block = scan.checkpoints[i];
    hash.update(&block.row, sizeof block.row);
    hash.update(block.xxh3_128.data(), block.xxh3_128.size());
  }
  return hash.hex();
}

FieldBlocks field_blocks_of(const StreamPlan& stream, RowRange rows) {
  if (stream.field_blocks.empty()) return {};
  const auto [begin, end] = blocks_of(stream.scan, rows);
  const auto first = stream.field_blocks.begin();
  return {first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end)};
}

std::string hash_of_columns(const FieldBlocks& blocks) {
  if (blocks.empty()) return "";
  Xxh3 hash;
  for (const auto& block : blocks) hash.update(block.data(), block.size());
  return hash.hex();
}

InputScan scan_of_rows(const InputScan& scan, RowRange rows) {
  const auto [begin, end] = blocks_of(scan, rows);
  const auto share = [&](int64_t count) {  // of a count of the whole input
    return static_cast<int64_t>(static_cast<double>(count) * static_cast<double>(rows.size()) /
                                static_cast<double>(std::max<int64_t>(1, scan.rows)));
  };
  // The plan has reported the rejected and the empty rows of the whole input.
  InputScan part = {.rows_in = rows.size(),
                    .rows = rows.size(),
                    .tokenized = share(scan.tokenized),
                    .text_bytes = share(scan.text_bytes),
                    .frame_bytes = share(scan.frame_bytes),
                    .longest_bytes = scan.longest_bytes};
  part.checkpoints.assign(scan.checkpoints.begin() + static_cast<std::ptrdiff_t>(begin),
                          scan.checkpoints.begin() + static_cast<std::ptrdiff_t>(end));
  const bool is_last = end == scan.checkpoints.size();
  part.end_row = is_last ? scan.end_row : scan.checkpoints[end].row;
  if (begin == end) part.end_row = rows.begin;
  const int64_t first_file = begin == end ? 0 : part.checkpoints.front().file;
  int64_t last_file = first_file;
  if (begin < end)  // a block may end in the file in which the next one begins
    last_file = is_last ? std::ssize(scan.files) - 1 : scan.checkpoints[end].file;
  if (scan.listed)
    part.listed = {.list = scan.listed->list, .begin = first_file, .end = last_file + 1};
  for (int64_t file = first_file; file <= last_file; ++file)
    part.files.push_back(scan.files[static_cast<size_t>(file)]);
  for (InputScan::Checkpoint& block : part.checkpoints) block.file -= first_file;
  return part;
}

}  // namespace encode
