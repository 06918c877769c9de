// What `encode plan --profile` has measured on the devices of this user, so that later plans are
// exact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace encode {

// One measurement: a real run, and the estimate for it.
struct MemoryProfile {
  std::string device = {};    // DeviceFacts::name
  std::string libtorch = {};  // DeviceFacts::libtorch
  std::string encode = {};    // the version of encode
  std::string dtype = {};
  std::string model_type = {};
  int64_t hidden_size = 0;
  int64_t estimated_bytes = 0;
  int64_t measured_bytes = 0;
  double flops_per_second = 0;  // the average over the encoding of the whole run

  bool operator==(const MemoryProfile&) const = default;
};

// The profiles of a file. Not thread-safe.
class Profiles {
 public:
  // Reads the file, or begins with none if it does not exist. If the file is damaged or has another
  // version, it is not used, and note() says so. If `path` is "", nothing is read or written.
  // Throws Error kIoError or kNoPermission if an existing file cannot be read.
  explicit Profiles(std::string path);

  // Returns the median of measured / estimated over the latest profiles of the device by this
  // version of encode, clamped to 0.8 to 1.25; 1 without profiles.
  double correction(const std::string& device, const std::string& encode_version) const;
  // Returns the rate of the latest profile with this device and dtype, preferably of the same
  // architecture and width; nullopt if there is none.
  std::optional<double> flops_per_second(const MemoryProfile& like) const;
  // Adds a profile and writes the file, with the latest 64 profiles. Throws what
  // create_directories_durably() and write_file_durably() throw.
  void add(const MemoryProfile& profile);

  const std::string& note() const { return note_; }  // a sentence for the user, or ""
  const std::vector<MemoryProfile>& all() const { return profiles_; }

 private:
  std::string path_ = {};
  std::string note_ = {};
  std::vector<MemoryProfile> profiles_ = {};  // the latest is the last
};

// Returns $XDG_CACHE_HOME/encode/memory_profiles.json, else ~/.cache/encode/memory_profiles.json;
// "" if the environment has neither variable.
std::string profiles_path();

}  // namespace encode
