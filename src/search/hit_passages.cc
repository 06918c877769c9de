#include "search/hit_passages.h"

#include <algorithm>
#include <optional>

#include "store/audit.h"
#include "store/parts_list.h"
#include "store/passage_file.h"
#include "store/sealed_json.h"

namespace encode {

HitPassages::HitPassages(const Matrix& matrix) {
  const std::string& path = matrix.path();
  if (!is_parts_list(path)) {
    add_file(path, matrix.manifest(), matrix.rows());
    return;
  }
  for (const PartsList::Entry& part : read_parts_list(path).parts) {
    const std::string part_file = part_path(path, part);
    const std::optional<Manifest> manifest = read_manifest(part_file);
    if (!manifest)
      throw damage("a part has no manifest", part_file, "the manifest beside it", "no such file");
    add_file(part_file, *manifest, part.vectors);
  }
}

// Another file of passages would lead to other texts than those that were encoded.
void HitPassages::add_file(const std::string& matrix_path, const Manifest& manifest,
                           int64_t vectors) {
  const std::string path = passages_path(matrix_path);
  const std::string wrong =
      manifest.passages ? check_passages(path, *manifest.passages,
                                         {.rows = manifest.identity.range(), .passages = vectors})
                        : "the manifest does not state its checksum";
  if (!wrong.empty())
    throw damage("the file of passages is not the one of the matrix", path,
                 "the file that was written with the matrix", wrong);
  files_.push_back({.path = path, .vectors = vectors});
}

std::vector<PassagePlace> HitPassages::places(std::span<const int64_t> vectors) const {
  std::vector<PassagePlace> places;
  int64_t first = 0;
  size_t next = 0;
  for (const File& file : files_) {
    std::vector<int64_t> here;
    for (; next < vectors.size() && vectors[next] < first + file.vectors; ++next)
      here.push_back(vectors[next] - first);
    for (const PassagePlace& place : read_passages(file.path, here)) places.push_back(place);
    first += file.vectors;
  }
  return places;
}

std::vector<int64_t> HitPassages::vectors_of(std::span<const int64_t> rows) const {
  std::vector<int64_t> vectors;
  int64_t vector = 0;
  for (const File& file : files_) {
    PassageReader reader(file.path);
    for (int64_t i = 0; i < file.vectors; ++i, ++vector) {
      if (std::ranges::binary_search(rows, reader.next().row)) vectors.push_back(vector);
    }
  }
  return vectors;
}

}  // namespace encode
