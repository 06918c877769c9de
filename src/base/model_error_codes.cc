#include "base/model_error_codes.h"

namespace encode {

std::vector<ErrorCodes> model_error_codes() {
  return {
      {{"model.changed"},
       "74",
       "a model file changed while it was read, or is not the one that was hashed when the run "
       "began. Committed chunks are kept, and no chunk of the changed model is added"},
      {{"model.config", "model.modules", "model.pooling", "model.dense", "model.layer_norm",
        "model.static_embedding", "model.prompts", "model.sentence_bert_config", "model.tokenizer",
        "model.tokenizer_config"},
       "78",
       "a file of the model directory is malformed"},
      {{"model.custom_code"},
       "78",
       "the model names Python code of its own (`auto_map`, or a class in modules.json) that "
       "`encode` does not know; the error names its files and classes; `ignore_custom_code: true` "
       "encodes the model as if it named none"},
      {{"model.dim", "model.max_length", "model.prompt_name", "model.revision",
        "model.truncate_dim"},
       "78",
       "an option does not fit the model, or a module does not fit the one before it"},
      {{"model.dtype", "model.file_size", "model.header", "model.header_size", "model.index",
        "model.offsets", "model.safetensors", "model.shape", "model.tensor"},
       "78",
       "the weights are damaged or do not fit config.json"},
      {{"model.format"}, "78", "the weights are in a format that `encode` does not read"},
      {{"model.hash_cache"}, "-", "the cache of hashes cannot be read; the files are hashed again"},
      {{"model.missing"}, "66", "the model directory or a file in it is missing"},
      {{"model.name", "model.symlink"},
       "78",
       "a file name or a link leads out of the model directory"},
      {{"model.not_a_file"}, "66", "a file of the model is not a regular file"},
      {{"model.not_found"},
       "66",
       "there is no such directory, and no such model in the Hugging Face cache; the error names "
       "every place that was searched"},
      {{"model.open"},
       "74 (77, 66, 71)",
       "the file system does not say whether a file of the model exists, or does not let `encode` "
       "read it"},
      {{"model.pickle", "model.zip"},
       "78",
       "`pytorch_model.bin` is damaged, in the format of torch before 1.6, or has anything but "
       "tensors; the error names the opcode, the global or the entry. Nothing of it is run"},
      {{"model.type", "model.unsupported"}, "78", "this architecture or module is not supported"},
  };
}

}  // namespace encode
