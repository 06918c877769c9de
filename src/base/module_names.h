// The names of the modules and the activations of a sentence-transformers directory, as constants.
// They occur in the files of a model directory, and in the job description that `encode` sends to a
// worker.
#pragma once

#include "encode/model_directory.h"

#include "base/names.h"

namespace encode {

// The class names of torch.nn.modules.activation.
inline constexpr NameTable<DenseActivation, 25> kDenseActivations = {
    {{"CELU", DenseActivation::kCelu},
     {"ELU", DenseActivation::kElu},
     {"GELU", DenseActivation::kGelu},
     {"Hardshrink", DenseActivation::kHardshrink},
     {"Hardsigmoid", DenseActivation::kHardsigmoid},
     {"Hardswish", DenseActivation::kHardswish},
     {"Hardtanh", DenseActivation::kHardtanh},
     {"Identity", DenseActivation::kIdentity},
     {"LeakyReLU", DenseActivation::kLeakyRelu},
     {"LogSigmoid", DenseActivation::kLogSigmoid},
     {"LogSoftmax", DenseActivation::kLogSoftmax},
     {"Mish", DenseActivation::kMish},
     {"RReLU", DenseActivation::kRrelu},
     {"ReLU", DenseActivation::kRelu},
     {"ReLU6", DenseActivation::kRelu6},
     {"SELU", DenseActivation::kSelu},
     {"SiLU", DenseActivation::kSilu},
     {"Sigmoid", DenseActivation::kSigmoid},
     {"Softmax", DenseActivation::kSoftmax},
     {"Softmin", DenseActivation::kSoftmin},
     {"Softplus", DenseActivation::kSoftplus},
     {"Softshrink", DenseActivation::kSoftshrink},
     {"Softsign", DenseActivation::kSoftsign},
     {"Tanh", DenseActivation::kTanh},
     {"Tanhshrink", DenseActivation::kTanhshrink}}};

inline constexpr NameTable<TokenizerRecipe, 2> kTokenizerRecipes = {
    {{"none", TokenizerRecipe::kNone}, {"append_eos", TokenizerRecipe::kAppendEos}}};

inline constexpr NameTable<SentenceModule::Kind, 5> kModuleKinds = {
    {{"Pooling", SentenceModule::Kind::kPooling},
     {"Dense", SentenceModule::Kind::kDense},
     {"LayerNorm", SentenceModule::Kind::kLayerNorm},
     {"Normalize", SentenceModule::Kind::kNormalize},
     {"Truncate", SentenceModule::Kind::kTruncate}}};

}  // namespace encode
