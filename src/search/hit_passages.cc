#include "search/hit_passages.h"

#include "store/parts_list.h"
#include "store/passage_file.h"

namespace encode {

HitPassages::HitPassages(const Matrix& matrix) {
  const std::string& path = matrix.path();
  if (!is_parts_list(path)) {
    files_.push_back({.path = passages_path(path), .vectors = matrix.rows()});
    return;
  }
  for (const PartsList::Entry& part : read_parts_list(path).parts)
    files_.push_back({.path = passages_path(part_path(path, part)), .vectors = part.vectors});
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

std::vector<int64_t> HitPassages::without_text() const {
  std::vector<int64_t> vectors;
  int64_t vector = 0;
  for (const File& file : files_) {
    PassageReader reader(file.path);
    for (int64_t i = 0; i < file.vectors; ++i, ++vector) {
      const PassagePlace place = reader.next();
      if (place.byte_begin == place.byte_end) vectors.push_back(vector);
    }
  }
  return vectors;
}

}  // namespace encode
