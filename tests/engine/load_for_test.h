// Loads encoders of the tiny reference models for the tests of the engine.
#pragma once

#include <memory>
#include <string>

#include "encode/encoder.h"
#include "encode/model_directory.h"

#include "engine/load_encoder.h"

namespace encode::testing {

struct TestModel {
  ModelDirectory directory;
  EffectiveResult effective;
};
// `name` is a folder of tests/data/models, or an absolute path.
TestModel open_test_model(const std::string& name, const ResultOptions& options = {});

std::unique_ptr<Encoder> load_test_encoder(const TestModel& model, const EncoderOptions& options);

}  // namespace encode::testing
