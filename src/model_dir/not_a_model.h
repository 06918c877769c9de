// The error for a folder that holds no model.
#pragma once

#include "model_dir/model_folder.h"

namespace encode {

// Throws Error kNoInput "model.missing" if the folder has neither modules.json nor config.json, and
// no weights either. Such a folder is not the incomplete download of a model, but another folder.
// The error names the models in the folders below. Throws what ModelFolder throws.
void require_model(const ModelFolder& folder);

}  // namespace encode
