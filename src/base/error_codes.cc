#include "base/error_codes.h"

#include <algorithm>

#include "base/download_error_codes.h"
#include "base/input_error_codes.h"
#include "base/matrix_error_codes.h"
#include "base/model_error_codes.h"

namespace encode {

namespace {

std::vector<ErrorCodes> make_table() {
  return {
      {{"arrow.column"}, "78", "a Parquet or Arrow file has no column, or several, of the name"},
      {{"arrow.damaged"}, "65", "a Parquet or Arrow file is damaged or truncated"},
      {{"arrow.input_ids", "arrow.null"},
       "65",
       "a row of a Parquet or Arrow column is null, or a list with an entry that is no token id"},
      {{"arrow.memory"},
       "65",
       "a row group or record batch of the column needs more memory than `encode` takes for it"},
      {{"arrow.plugin"},
       "69",
       "the plugin for Parquet and Arrow, or Arrow C++, is missing or of another version"},
      {{"arrow.type"},
       "78",
       "a Parquet or Arrow column holds neither strings nor lists of integers; or a list or struct "
       "is wanted in `output.columns`"},
      {{"batch.length"}, "65", "a sequence is longer than the model allows"},
      {{"batch.token_id"},
       "65",
       "a row of token ids has an id that the model does not have, or the tokenizer gives one; the "
       "error names the row"},
      {{"bench.rows"}, "65", "`encode bench`: a stream has no rows"},
      {{"bench.stdin"}, "64", "`encode bench`: standard input can be read only once"},
      {{"cache.damaged"},
       "65",
       "the embedding cache is damaged; a run encodes the rows again, or goes on without the "
       "cache"},
      {{"cache.foreign"},
       "73",
       "the directory for the embedding cache has files of something else"},
      {{"cache.killed"},
       "75",
       "the process in which a command uses the embedding cache was killed, perhaps because the "
       "host is short of memory"},
      {{"cache.in_use"}, "75", "`encode cache prune` or `clear`: a run uses the embedding cache"},
      {{"cache.missing"},
       "66 (77, 74)",
       "`encode cache`: there is no embedding cache in the directory"},
      {{"cache.network"},
       "78",
       "the embedding cache is on a network file system, where its store is not safe"},
      {{"cache.stalled"},
       "75",
       "the embedding cache has not answered for 30 seconds, for example because a process that "
       "stands still holds its lock; a run goes on without the cache"},
      {{"cache.store"},
       "74 (66, 77, 71)",
       "the store of the embedding cache refused an operation, for example because the disk is "
       "full; "
       "a run goes on without the cache"},
      {{"cache.version"}, "78", "another version of `encode` made the embedding cache"},
      {{"combine.pooling"}, "78", "`combine` names a stream of token embeddings (`pooling: none`)"},
      {{"combine.rows"}, "65", "the streams of a combined matrix have different numbers of rows"},
      {{"compare.shape"},
       "65",
       "the matrices to compare have different shapes, or lack different rows"},
      {{"config.allocator"},
       "78",
       "`hardware.allocator.conf`, `PYTORCH_CUDA_ALLOC_CONF` or `PYTORCH_ALLOC_CONF` has a setting "
       "that LibTorch does not know or accept"},
      {{"config.changed"},
       "75",
       "the config was changed while `encode` was about to edit it; the change is kept"},
      {{"config.combine"}, "78", "`combine` names a stream that a split does not have"},
      {{"config.conflict"}, "78 or 64", "two settings exclude each other"},
      {{"config.duplicate"}, "78", "a key is given twice"},
      {{"config.edit"},
       "78",
       "a key of the config cannot be edited in place; the error names the key and the line"},
      {{"config.file"}, "66 (77, 74)", "the config file cannot be read"},
      {{"config.key"}, "78 or 64", "a key is unknown; the error names the nearest one"},
      {{"config.limit"}, "78", "the config is too large or too deep"},
      {{"config.name"}, "78", "a split or stream has a name that cannot be part of a file name"},
      {{"config.quarantine"},
       "78",
       "`quarantine: zeros` or `drop` cannot be applied to this run; the error says why"},
      {{"config.required"}, "78 or 64", "a setting without default is missing"},
      {{"config.syntax"}, "78", "the config is not YAML, or uses anchors, aliases or tags"},
      {{"config.type"}, "78 or 64", "a value has the wrong type"},
      {{"config.undo"},
       "78",
       "there is no backup of the config, or the config was changed after the edit"},
      {{"config.value"}, "78 or 64", "a value is out of range, or is not one of the valid ones"},
      {{"csv.column"}, "78", "no column or several columns have the name"},
      {{"csv.field_limit"}, "65", "a field is larger than `encode` accepts"},
      {{"csv.fields"}, "65", "a row has more or fewer fields than the header"},
      {{"csv.header"}, "65", "the file is empty, or the header row is too long"},
      {{"csv.quote"}, "65", "a quote is misplaced or not closed"},
      {{"cpu.capability"},
       "64",
       "the value of ENCODE_CPU_CAPABILITY is not the name of an instruction set"},
      {{"device.absent"}, "69", "the device does not exist, or has no driver"},
      {{"device.cuda"}, "75", "the CUDA context failed; another worker continues the run"},
      {{"device.bfloat16"},
       "69",
       "`dtype: bfloat16` on a GPU older than compute capability 8.0 (Ampere), which has no "
       "attention kernel for it"},
      {{"device.fp8"},
       "69",
       "`dtype: fp8` on a CPU, on a GPU older than compute capability 9.0, or on a GPU that fails "
       "the self-check of fp8 products"},
      {{"device.int8"}, "69", "`dtype: int8` on a GPU, or on a processor without AVX2"},
      {{"device.memory"},
       "69",
       "the model, or not even one row, fits into the memory of the device; lower "
       "`semantic.batch_tokens`, or free memory on the device; committed chunks are kept"},
      {{"device.nvml"},
       "75",
       "the allocator could not ask NVML about the device memory, which is probably full; another "
       "worker continues without expandable segments"},
      {{"device.products"},
       "69",
       "a matrix product gives equal rows unequal bits on this GPU, whatever the size of its "
       "launches"},
      {{"device.query"}, "69", "the CUDA runtime does not answer"},
      {{"fp8.parity"},
       "65",
       "with `dtype: fp8`, the vectors of fixed texts differ too much from the bfloat16 vectors"},
      {{"host.memory"}, "71", "the worker ran out of host memory, and this happened too often"},
      {{"host.oom_kill"},
       "71",
       "the kernel killed `encode-worker` for lack of host memory, and this happened too often; "
       "the error names the limit and the peak memory of the worker"},
      {{"int8.parity"},
       "65",
       "with `dtype: int8`, the vectors of fixed texts differ too much from the float32 vectors"},
      {{"internal", "internal.exception", "internal.libtorch", "internal.sha256"},
       "70",
       "a defect of `encode`, or a failure without a code of its own"},
      {{"io.statvfs"}, "74 (77)", "the free space of a disk cannot be found out"},
      {{"io.create", "io.mkdir"}, "73 (77, 74, 71)", "a file or directory cannot be created"},
      {{"io.commit", "io.list", "io.read", "io.remove", "io.space", "io.stat", "io.stdout",
        "io.sync", "io.write"},
       "74 (66, 77, 71)",
       "the file system refused an operation; the error names the path and the reason"},
      {{"job.protocol"},
       "70",
       "`encode` and `encode-worker` do not understand each other, because they come from "
       "different builds"},
      {{"job.read"}, "66 (77, 74, 71)", "`encode-worker` cannot read its job file"},
      {{"job.utf8"}, "78", "a path or an option is not UTF-8"},
      {{"limit.batch"},
       "78",
       "`encode plan`: a batch of the size that was asked for cannot fit into the memory of the "
       "device; the error says what would fit"},
      {{"limit.disk"},
       "74",
       "the chunks, finals and combined matrices need more disk space than is free; nothing was "
       "encoded"},
      {{"limit.file_size"}, "78", "a matrix would be larger than `ulimit -f` allows"},
      {{"limit.memory"},
       "78",
       "the model certainly cannot fit into the memory of the machine or the card; the error has "
       "the arithmetic and what would fit"},
      {{"log.open"}, "73 (71)", "the log file cannot be opened"},
      {{"plan.card"},
       "64",
       "`encode plan --gpu`: the card is not in the table; the error lists it"},
      {{"plan.no_fit"},
       "78",
       "`encode plan`: not even the smallest batch fits into the memory that is free"},
      {{"plan.profile"},
       "64",
       "`encode plan --profile`: a card that is not in this machine cannot be measured"},
      {{"plan.profiles"},
       "-",
       "the file of earlier profiles is damaged or of another version; the plan does without it"},
      {{"plan.rows"}, "65", "`encode plan`: an input has no rows"},
      {{"plan.stdin"}, "64", "`encode plan`: standard input can be read only once"},
      {{"npy.header", "npy.matrix"},
       "65",
       "the file is not a `.npy` matrix, or the command cannot use a matrix of its type"},
      {{"npy.open"}, "66 (77, 74, 71)", "a `.npy` file is missing or cannot be read"},
      {{"nvml.failed"}, "69", "the library of the NVIDIA driver is there, but does not answer"},
      {{"os.memory", "os.pipe"}, "71", "the operating system refused memory or a pipe"},
      {{"os.thread"}, "71", "the operating system refused a thread"},
      {{"os.stack"}, "71", "the stack of the process is too small (`ulimit -s`)"},
      {{"os.self"}, "66 (77)", "`encode` cannot find its own path in /proc"},
      {{"preflight.defence"},
       "70",
       "`encode preflight`: a defence against faults of the device does not work"},
      {{"preflight.device"},
       "69",
       "`encode preflight`: the GPU, its driver or the CUDA plugin cannot be used; the error says "
       "why"},
      {{"records.damaged", "records.foreign", "records.open", "records.read", "records.rename",
        "records.stat", "records.write"},
       "-",
       "the records of faults or of the memory cannot be used; the run goes on without them"},
      {{"output.exists"},
       "73",
       "an output would replace a file that `encode` did not write for this purpose; `--overwrite` "
       "replaces it"},
      {{"output.protected"},
       "73 (77, 74)",
       "an output would replace a file that is never replaced: see [What an output may "
       "replace](#what-an-output-may-replace)"},
      {{"run.dropped_rows"},
       "78",
       "with `quarantine: drop`: rows of another stream were set aside after this final was "
       "published"},
      {{"run.foreign_final"},
       "78",
       "the existing matrix belongs to other inputs, another model or other options; the error "
       "names the differences; `--fresh` starts over"},
      {{"run.fresh"}, "74 (77)", "an old result cannot be removed"},
      {{"run.other_device"},
       "78",
       "with `hardware.strict_numerics: true`: the chunks in the cache were computed on another "
       "kind of device, with another version of LibTorch or of the driver, or with other "
       "algorithms "
       "of the matrix products"},
      {{"run.retry"}, "74 (77)", "`encode retry-failed` cannot look for the chunks"},
      {{"run.row_failed"},
       "65",
       "a row cannot be encoded, and the standard mode has no place for the others; encode in "
       "chunks"},
      {{"run.rows_set_aside"},
       "65",
       "rows could not be encoded; all other rows are encoded and kept in the chunks"},
      {{"run.unlike_devices"},
       "78",
       "`hardware.devices` names devices of different kinds; no chunk of the other kind was "
       "committed"},
      {{"run.row_count", "run.self_check"}, "70", "a check at the end of the run failed"},
      {{"self_test.changed"},
       "65",
       "fixed texts now have other vectors than in the first run of this cache: see "
       "[models.md](models.md)"},
      {{"self_test.file"},
       "-",
       "the vectors of an earlier self-test cannot be read; new ones are stored"},
      {{"status.directory"},
       "66 (77)",
       "`encode status`: there is no such cache directory, or it cannot be listed"},
      {{"status.damaged", "status.matrix"},
       "-",
       "`encode status`: a file cannot be used; the status names it"},
      {{"status.output"},
       "66",
       "`encode status` and `encode report`: no run is known that makes this file"},
      {{"store.beside", "store.chunk", "store.final", "store.log", "store.manifest",
        "store.stream"},
       "74 (66, 77, 71)",
       "a file of the cache cannot be read or written"},
      {{"store.combine_rows"}, "65", "matrices with different numbers of rows cannot be combined"},
      {{"store.combine_type"}, "65", "matrices with different `output_dtype` cannot be combined"},
      {{"store.damaged"},
       "65",
       "a file of the cache is damaged; run `encode run` again, and delete the file if the error "
       "comes again"},
      {{"store.float16"}, "65", "a value does not fit float16"},
      {{"store.foreign"},
       "78",
       "the chunks in the cache belong to another run; the error names the differences"},
      {{"store.format"}, "78", "a version of `encode` with another store format wrote the cache"},
      {{"store.lock"}, "74 (77, 73)", "the file system has no locks, or the lock cannot be opened"},
      {{"store.locked"},
       "75",
       "another run is using the cache directory; the error names its process and host"},
      {{"store.misuse"}, "70", "a defect of `encode`"},
      {{"store.nonfinite"}, "65", "the vector of a row is not finite"},
      {{"store.ranges"},
       "78 or 65",
       "78: the quantization ranges of the user are not valid or do not fit the embeddings; 65: "
       "the values of a column are too far apart for float32"},
      {{"store.stream_name"}, "78", "a stream's name cannot be part of a file name"},
      {{"tokenize.input_ids"}, "65", "`encode tokenize`: a row already holds token ids"},
      {{"tokenizer.contradiction"},
       "78",
       "two files of the tokenizer, or a file and the class of the tokenizer, contradict each "
       "other, and no rule decides; the error has both values and the way out"},
      {{"tokenizer.file"},
       "66 (77, 74, 71)",
       "the model directory has no tokenizer, or its file cannot be read"},
      {{"tokenizer.format", "tokenizer.late_interaction", "tokenizer.unsupported"},
       "78",
       "the tokenizer is malformed, is not supported, or lacks a token that its model names"},
      {{"tokenizer.growth"},
       "65",
       "the normalizers and pre-tokenizers would make a text far too long; the error names the row "
       "and the component"},
      {{"tokenizer.offsets", "tokenizer.regex", "tokenizer.sentencepiece", "tokenizer.too_long"},
       "65",
       "a text cannot be tokenized, or the offsets of its tokens cannot be found"},
      {{"usage"}, "64", "a flag or a command is unknown; the error names the nearest one"},
      {{"vector.norm", "vector.not_finite", "vector.zero"},
       "-",
       "in ledgers: the vector of a row that was set aside is wrong"},
      {{"vectors.all_bad"},
       "65",
       "no row of a window has a good vector: the model is broken, not the rows"},
      {{"worker.died"},
       "70",
       "`encode-worker` was killed or crashed too often; the error shows its last output. If the "
       "worker ended with a code from 64 to 78 and reported no error, the exit code is that code"},
      {{"worker.every_row"},
       "70",
       "three rows failed alone, one after the other, and none succeeded: the device is broken, "
       "not "
       "the rows"},
      {{"worker.garbage"}, "70", "`encode-worker` sent lines that are not events"},
      {{"worker.hung"},
       "70",
       "`encode-worker` finished no batch, or loaded no further part of a model, for too long, and "
       "this happened too often"},
      {{"worker.incomplete"}, "70", "`encode-worker` finished, but rows are missing"},
      {{"worker.poison_chunk"},
       "70",
       "the same rows failed four times, and no single row fails alone; the error names them"},
      {{"worker.spawn"}, "71", "`encode-worker` cannot be started"},
      {{"worker.stuck"}, "75", "`encode-worker` cannot be killed, because it hangs in the kernel"},
  };
}

// Inserts each row before the first row with a later code.
void insert_rows(const std::vector<ErrorCodes>& more, std::vector<ErrorCodes>& rows) {
  for (const ErrorCodes& row : more) {
    const auto next = std::find_if(rows.begin(), rows.end(), [&](const ErrorCodes& other) {
      return other.codes.front() > row.codes.front();
    });
    rows.insert(next, row);
  }
}

}  // namespace

const std::vector<ErrorCodes>& error_code_table() {
  static const std::vector<ErrorCodes> kTable = [] {
    std::vector<ErrorCodes> rows = make_table();
    insert_rows(download_error_codes(), rows);
    insert_rows(input_error_codes(), rows);
    insert_rows(matrix_error_codes(), rows);
    insert_rows(model_error_codes(), rows);
    return rows;
  }();
  return kTable;
}

}  // namespace encode
