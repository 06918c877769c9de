// The errors of a network file system whose server does not answer (ESTALE, ETIMEDOUT, EREMOTEIO),
// or which has restored the folder of a shard: then a file that the shard has made may be missing
// for a moment (ENOENT). A run that ends with one has the exit code 75, so that a scheduler starts
// it again. Any thread may call these functions.
#pragma once

#include "encode/config.h"
#include "encode/error.h"

#include "run_plan/shard_plan.h"

namespace encode {

// Must be called with the error that ends a run of the shard. If a run before it ended with such an
// error and no row was committed since, another start would only do the same: the exit code of
// such an error becomes kIoError. Otherwise the file server_lost.json in the folder of the shard
// remembers it. Does not throw: what cannot be read or written is left out.
void end_after_second_loss(const RunConfig& config, const Shard& shard, ErrorDetail& detail);

// Must be called when the shard is encoded.
void forget_loss(const RunConfig& config, int64_t shard);

}  // namespace encode
