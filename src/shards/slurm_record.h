// The jobs that encode slurm has submitted, in slurm.json of the cache directory. Any thread may
// call these functions.
#pragma once

#include <string>
#include <vector>

#include "shards/slurm_programs.h"

namespace encode {

std::string slurm_record_path(const std::string& cache_dir);

// Returns the jobs of the last call of encode slurm; none if there is no record. Throws Error kData
// "store.damaged" if the record is damaged, and what read_file() throws.
std::vector<SlurmJobId> read_slurm_record(const std::string& cache_dir);

// Replaces the record. Throws what write_file_durably() throws.
void write_slurm_record(const std::string& cache_dir, const std::vector<SlurmJobId>& jobs);

}  // namespace encode
