// The launchers of the plugin's kernels. plugin.h says what each kernel computes.
#pragma once

#include "plugin.h"

namespace encode::cuda {

int layer_norm(const EncodeCudaNorm* args);            // norm.cu
int rms_norm(const EncodeCudaNorm* args);              // norm.cu
int rotary(const EncodeCudaRotary* args);              // rotary.cu
int activation(const EncodeCudaElementwise* args);     // activation.cu
int gated(const EncodeCudaElementwise* args);          // activation.cu
int embedding(const EncodeCudaEmbedding* args);        // embedding.cu
int pool(const EncodeCudaPool* args);                  // pooling.cu
int quantize_rows(const EncodeCudaQuantize* args);     // quantize.cu
int attention(const EncodeCudaAttention* args);        // attention.cu
int short_attention(const EncodeCudaAttention* args);  // short_attention.cu

}  // namespace encode::cuda
