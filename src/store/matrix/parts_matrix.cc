#include "store/matrix/parts_matrix.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/named_path.h"
#include "store/parts_list.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

using Parts = std::vector<std::unique_ptr<Matrix>>;

class PartsMatrix final : public Matrix {
 public:
  PartsMatrix(std::string list_path, Manifest manifest, Parts parts)
      : Matrix(std::move(list_path), std::move(manifest)), parts_(std::move(parts)) {
    for (const auto& part : parts_)
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + part->rows());
  }

  const std::string& file() const override {
    return parts_.empty() ? path() : parts_.front()->file();
  }

  std::span<const std::byte> stored(RowRange rows, MatrixBuffer& buffer) const override {
    if (rows.size() == 0) return {};
    const auto first = std::ranges::upper_bound(ends_, rows.begin) - ends_.begin();
    if (rows.end <= ends_[static_cast<size_t>(first)])
      return part_rows(static_cast<size_t>(first), rows, buffer);
    // The rows are in several parts.
    std::vector<std::byte> all;
    all.reserve(static_cast<size_t>(rows.size() * row_bytes()));
    for (auto i = static_cast<size_t>(first); rows.size() > 0; ++i) {
      const RowRange here = {.begin = rows.begin, .end = std::min(rows.end, ends_[i])};
      const std::span<const std::byte> bytes = part_rows(i, here, buffer);
      all.insert(all.end(), bytes.begin(), bytes.end());
      rows.begin = here.end;
    }
    buffer.stored = std::move(all);
    return buffer.stored;
  }

 private:
  std::span<const std::byte> part_rows(size_t part, RowRange rows, MatrixBuffer& buffer) const {
    const int64_t begin = part == 0 ? 0 : ends_[part - 1];
    return parts_[part]->stored({.begin = rows.begin - begin, .end = rows.end - begin}, buffer);
  }

  Parts parts_;
  std::vector<int64_t> ends_;  // for each part, the number of rows up to its end
};

// Adds the files of a part. Neighbouring parts may have rows of the same file.
void add_inputs(const std::vector<InputPart>& more, std::vector<InputPart>& inputs) {
  for (const InputPart& input : more) {
    if (std::ranges::find(inputs, input) == inputs.end()) inputs.push_back(input);
  }
}

Manifest merged_manifest(const std::string& path, const PartsList& list,
                         const std::vector<Manifest>& parts) {
  Manifest merged = parts.empty() ? Manifest() : parts.front();
  merged.identity = list.identity;
  merged.type = list.type;
  merged.columns = list.columns;
  merged.file = list.file;
  merged.stats = list.stats;
  merged.origins = list.origins;
  merged.dropped_rows = list.dropped_rows;
  merged.file_bytes = 0;
  merged.xxh3_128.clear();
  merged.ledger.reset();
  merged.offsets.reset();
  merged.set_aside.reset();
  for (const Manifest& part : parts) {
    add_inputs(part.identity.inputs, merged.identity.inputs);
    merged.identity.model = part.identity.model;
    merged.file_bytes += part.file_bytes;
    if (part.quarantine != QuarantinePolicy::kError) merged.quarantine = part.quarantine;
    if (part.ranges_xxh3_128 != merged.ranges_xxh3_128)
      throw damage("the parts have different ranges", path, merged.ranges_xxh3_128,
                   part.ranges_xxh3_128);
  }
  return merged;
}

}  // namespace

std::unique_ptr<Matrix> open_parts(const std::string& list_path, RowAccess access) {
  require_named_file(list_path, "npy.open");
  const PartsList list = read_parts_list(list_path);
  Manifest manifest = merged_manifest(list_path, list, read_part_manifests(list_path, list));
  Parts parts;
  for (const PartsList::Entry& part : list.parts)
    parts.push_back(open_matrix(part_path(list_path, part), access));
  return std::make_unique<PartsMatrix>(list_path, std::move(manifest), std::move(parts));
}

}  // namespace encode
