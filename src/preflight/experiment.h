// What the checks know about the models and the streams of an experiment.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "encode/tokenizer.h"

#include "run_plan/plan_steps.h"

namespace encode {

struct CheckedModel {
  OpenedModel opened;
  std::unique_ptr<Tokenizer> tokenizer;  // null if the directory has none that can be used
};

struct CheckedStream {
  StreamPlan plan;  // `scan` is complete only if `whole` is true
  const CheckedModel* model = nullptr;
  bool readable = false;   // the input is no standard input
  bool whole = false;      // every row was read
  int64_t file_bytes = 0;  // of the input
  int64_t rows = 0;        // an estimate if `whole` is false
};

// What could be opened; everything else has a red finding.
struct CheckedExperiment {
  std::map<std::string, std::unique_ptr<CheckedModel>> models;  // by path
  std::vector<CheckedStream> streams;

  int64_t largest_model_bytes() const;
};

}  // namespace encode
