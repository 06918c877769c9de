#include "load_for_test.h"

#include "support/temp_dir.h"

namespace encode::testing {

TestModel open_test_model(const std::string& name, const ResultOptions& options) {
  TestModel model;
  model.directory =
      open_model_directory(name.starts_with('/') ? name : test_data("models/" + name));
  model.effective = effective_result(model.directory, options);
  return model;
}

std::unique_ptr<Encoder> load_test_encoder(const TestModel& model, const EncoderOptions& options) {
  return load_encoder(model.directory, model.effective, options).encoder;
}

}  // namespace encode::testing
