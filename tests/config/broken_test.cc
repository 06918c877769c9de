// Tests that a broken config is refused, and that the error says what is wrong, where it is, what
// was expected, what was found, and what to do.
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "config/load.h"
#include "config/schema.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

struct Broken {
  const char* name;
  std::string yaml;
  std::string code;
  std::string position;  // ":line:column"
  // `expected`, `found` and `hint` are parts of the fields of the error with the same names.
  std::string expected;
  std::string found;
  std::string hint;
};
std::ostream& operator<<(std::ostream& out, const Broken& broken) { return out << broken.name; }

// Returns the error of loading the config from a file. A config that loads is a test failure.
ErrorDetail error_of(const std::string& yaml, const std::vector<Override>& overrides = {}) {
  const testing::TempDir dir;
  try {
    load_config(dir.write("run.yaml", yaml), overrides);
  } catch (const Error& error) {
    return error.detail();
  }
  ADD_FAILURE() << "accepted:\n" << yaml;
  return {};
}

const std::string model_yaml = "semantic: {model: m}\n";

const std::vector<Broken> broken_configs = {
    {"UnknownKey", "semantic:\n  model: m\n  batchsize: 8\n", "config.key", ":3:3",
     "one of: batch_size, ", "'batchsize'", "did you mean 'batch_size'?"},
    {"UnknownSection", "semantics:\n  model: m\n", "config.key", ":1:1", "semantic, hardware",
     "'semantics'", "did you mean 'semantic'?"},
    {"PartOfAKey", "semantic: {passages: {tokens: 8}}\n", "config.key", ":1:23",
     "one of: ", "'tokens'", "did you mean 'max_tokens'?"},
    {"DeepestLevel", "semantic: {model: " + std::string(30, '[') + std::string(30, ']') + "}\n",
     "config.type", ":1:19", "a text", "a list of 1", ""},
    {"KeyInTheWrongSection", "semantic:\n  device: cuda\n", "config.key", ":2:3",
     "one of:", "'device'", "did you mean hardware.device?"},
    {"UnknownKeyOfAStream", model_yaml + "data:\n  splits:\n    train:\n      tc: {fiel: a.txt}\n",
     "config.key", ":5:12", "one of: file, field", "'fiel'", "did you mean 'field'?"},
    {"FileForAllSplits", model_yaml + "data: {streams: {tc: {file: a.txt}}}\n", "config.key",
     ":2:23", "one of: field", "'file'", "did you mean data.splits.<split>.<stream>.file?"},
    {"QuotedInteger", "semantic:\n  batch_size: \"32\"\n", "config.type", ":2:15",
     "an integer from 0", "the text \"32\"", "write 32 without quotes"},
    {"GroupedInteger", "semantic: {chunk_size: 1_000}\n", "config.type", ":1:24",
     "an integer from 0", "the integer 1_000", "write 1000"},
    {"OctalInteger", "semantic: {chunk_size: 0o17}\n", "config.type", ":1:24", "an integer", "0o17",
     "decimal digits"},
    {"LeadingZero", "semantic: {chunk_size: 010}\n", "config.type", ":1:24", "an integer", "010",
     "decimal digits"},
    {"AutoInQuotes", "semantic: {batch_size: 'auto'}\n", "config.type", ":1:24", ", or auto",
     "the text \"auto\"", "write auto without quotes"},
    {"AutoWithATypo", "semantic: {batch_tokens: aut}\n", "config.type", ":1:26", ", or auto",
     "'aut'", "did you mean 'auto'?"},
    {"Float", "semantic: {chunk_size: 1e3}\n", "config.type", ":1:24", "an integer",
     "the number 1e3", "decimal digits"},
    {"IntegerTooSmall", "semantic: {chunk_size: -1}\n", "config.value", ":1:24",
     "an integer from 0 to 1000000000", "the integer -1", "set semantic.chunk_size to 0 or more"},
    {"IntegerTooLargeForTheMachine", "semantic: {chunk_size: 99999999999999999999}\n",
     "config.value", ":1:24", "an integer from 0", "99999999999999999999",
     "set semantic.chunk_size to 1000000000 or less"},
    {"SizeWithoutAUnit", "hardware: {memory_limit: 600}\n", "config.value", ":1:26",
     "a size with a unit", "the integer 600", "add a unit: 600MB, 600GB or 600GiB"},
    {"SizeWithoutAUnitThatIsTooSmallInMB", "hardware: {memory_limit: 1}\n", "config.value", ":1:26",
     "from 16.0 MB", "the integer 1", "add a unit: 1GB or 1GiB"},
    {"SizeInBytesWithoutAUnit", "hardware: {memory_limit: 600000000}\n", "config.value", ":1:26",
     "a size with a unit", "the integer 600000000", "add a unit: 600000000B or 600000000MB"},
    {"SizeThatNoUnitMakesValid", "hardware: {memory_limit: 0}\n", "config.value", ":1:26",
     "a size with a unit", "the integer 0", "as in 600MB or 4GiB"},
    {"SizeOfAnUnknownUnit", "hardware: {memory_limit: 600 Mb}\n", "config.value", ":1:26",
     "a size with a unit", "'600 Mb'", "as in 600MB or 4GiB"},
    {"SizeTooSmall", "hardware: {memory_limit: 1MB}\n", "config.value", ":1:26", "from 16.0 MB",
     "'1MB'", "set hardware.memory_limit to 16.0 MB or more"},
    {"YesForTrue", "semantic: {save_chunks: yes}\n", "config.type", ":1:25", "true or false",
     "'yes'", "write true"},
    {"QuotedBoolean", "semantic: {normalize: \"no\"}\n", "config.type", ":1:23",
     "true or false, or null", "\"no\"", "write false without quotes"},
    {"OneForTrue", "log: {json: 1}\n", "config.type", ":1:13", "true or false", "the integer 1",
     "write true"},
    {"IntegerForText", "semantic: {revision: 1234567}\n", "config.type", ":1:22", "a text",
     "the integer 1234567", "in quotes: \"1234567\""},
    {"NothingForText", "semantic:\n  model:\n  dtype: float32\n", "config.type", ":2:3", "a text",
     "nothing", "leave it out"},
    {"EmptyText", "semantic: {model: \"\"}\n", "config.value", ":1:19", "1 to 4096 bytes", "\"\"",
     "give it a value"},
    {"NulInText", "semantic: {model: \"a\\0b\"}\n", "config.value", ":1:19", "a text", "a\\x00b",
     "NUL"},
    {"ListForText", "semantic: {model: [m]}\n", "config.type", ":1:19", "a text", "a list of 1",
     "write one value"},
    {"MapForBoolean", "semantic: {combine: {a: b}}\n", "config.type", ":1:21", "true or false",
     "a map", "write one value"},
    {"UnknownChoice", "semantic: {dtype: bfloat}\n", "config.value", ":1:19",
     "one of: float32, bfloat16", "'bfloat'", "did you mean 'bfloat16'?"},
    {"UnknownPooling", "semantic: {pooling: meen}\n", "config.value", ":1:21", "one of: cls, mean",
     "'meen'", "did you mean 'mean'?"},
    {"PoolingOfAnotherLibrary", "semantic: {pooling: avg}\n", "config.value", ":1:21",
     "one of: cls, mean", "'avg'", "did you mean 'mean'?"},
    {"PoolingInCapitals", "semantic: {pooling: CLS}\n", "config.value", ":1:21",
     "one of: cls, mean", "'CLS'", "did you mean 'cls'?"},
    {"UnknownAllocatorSetting",
     "hardware: {allocator: {conf: 'max_splitsize_mb:64'}}\n" + model_yaml +
         "input: {file: a.txt}\n",
     "config.allocator", ":1:30", "max_split_size_mb", "'max_splitsize_mb'", "PYTORCH_ALLOC_CONF"},
    {"UnknownDevice", "hardware: {device: gpu}\n", "config.value", ":1:20", "cuda:N", "'gpu'",
     "did you mean 'cuda'?"},
    {"DeviceTypo", "hardware: {device: cudaa}\n", "config.value", ":1:20", "cuda:N", "'cudaa'",
     "did you mean 'cuda'?"},
    {"ListForSection", "semantic: [a]\n", "config.type", ":1:11", "a map with keys", "a list of 1",
     "'key: value' lines"},
    {"EmptySection", "hardware:\nsemantic: {model: m}\n", "config.type", ":1:1", "a map with keys",
     "nothing", "delete the line"},
    {"TextForSplit", model_yaml + "data: {splits: {train: a.txt}}\n", "config.type", ":2:24",
     "a map from <stream>", "'a.txt'", "'key: value' lines"},
    {"FileIsAList", "- a\n", "config.type", ":1:1", "a map with keys", "a list of 1",
     "'key: value' lines"},
    {"BadStreamName", model_yaml + "data: {splits: {train: {a/b: a.txt}}}\n", "config.name",
     ":2:25", "letters, digits", "'a/b'", "another name"},
    {"BadSplitName", model_yaml + "data: {splits: {.train: {a: a.txt}}}\n", "config.name", ":2:17",
     "a letter or digit first", "'.train'", "another name"},
    {"DuplicateKey", "semantic:\n  model: a\n  model: b\n", "config.duplicate", ":3:3",
     "each key once", "'model' again", "delete one"},
    {"DuplicateByAlias", "semantic:\n  cache_dir: a\n  cache_directory: b\n", "config.duplicate",
     ":3:20", "'cache_dir' or 'cache_directory'", ":2:14", "delete one"},
    {"DuplicateSplit", model_yaml + "data:\n  splits:\n    a: {x: 'f'}\n    a: {y: 'g'}\n",
     "config.duplicate", ":5:5", "each key once", "'a' again", "delete one"},
    {"NameAsList", "output: {combine: tc}\n", "config.type", ":1:19", "a list of at least 2",
     "'tc'", "[tc, commit]"},
    {"CombineOfOneStreamInASplit",
     "semantic: {model: m, combine: true}\ndata: {splits: {r: {a: a.txt, b: b.txt}, s: {a: "
     "a.txt}}}\n",
     "config.required", ":1:31", "at least two streams", "one stream in split 's'",
     "name the streams in output.combine"},
    {"CombineOfOneStream", "semantic: {model: m, combine: true}\ninput: {file: a.txt}\n",
     "config.required", ":1:31", "at least two streams", "one stream",
     "leave semantic.combine out"},
    {"OneStreamToCombine", "output: {combine: [tc]}\n", "config.value", ":1:19", "at least 2",
     "a list of 1", "write 2 to 64 names"},
    {"StreamTwiceInCombine", "output: {combine: [tc, tc]}\n", "config.value", ":1:19", "at least 2",
     "'tc'", "each name once"},
    {"CombineOfMissingStream",
     "semantic: {model: m}\noutput: {combine: [tc, commit]}\n"
     "data: {splits: {s: {tc: a.txt, comit: b.txt}}}\n",
     "config.combine", ":2:19", "streams of the split: tc, comit", "'commit'",
     "did you mean 'comit'?"},
    {"CombineInOneSplitOnly",
     model_yaml +
         "output: {combine: [left, right]}\ndata: {splits: {s: {left: f, right: f}, t: {left: "
         "f}}}\n",
     "config.combine", ":2:19", "streams of the split: left", "'right'", "add the stream"},
    {"StreamCalledCombined",
     model_yaml + "output: {combine: [a, combined]}\ndata: {splits: {s: {a: f, combined: f}}}\n",
     "config.conflict", ":3:27", "another name", "'combined'", "rename"},
    {"TwoStreamsOfOneName", model_yaml + "data: {splits: {a: {b_c: x}, a_b: {c: y}}}\n",
     "config.conflict", ":2:36", "a different name <split>_<stream>", "'a_b_c'", "rename"},
    {"SettingsOfAnUnusedStream",
     model_yaml + "data:\n  streams:\n    comit: {batch_size: 4}\n  splits:\n    s: {commit: f}\n",
     "config.key", ":4:5", "a stream in data.splits", "'comit'", "did you mean 'commit'?"},
    {"PromptAndPromptName",
     "semantic:\n  model: m\n  prompt: a\n  prompt_name: b\ninput: {file: f}\n", "config.conflict",
     ":4:16", "one of the two", ":3:11", "delete one"},
    {"PromptAndPromptNameOfAStream",
     model_yaml + "data: {splits: {s: {a: {file: f, prompt: x, prompt_name: y}}}}\n",
     "config.conflict", ":2:58", "one of the two", ":2:42", "delete one"},
    {"NoModel", "semantic: {dtype: float32}\ninput: {file: f}\n", "config.required", ":1:1",
     "semantic.model", "nothing", "--model DIR"},
    {"NoFile", model_yaml + "data:\n  splits:\n    s:\n      a: {field: x}\n", "config.required",
     ":5:7", "data.splits.s.a.file", "nothing", "input file"},
    {"NoInput", model_yaml + "data: {splits: {}}\n", "config.required", ":2:1", "data.splits",
     "neither", "--input - reads standard input"},
    {"EmptyFile", "# nothing\n", "config.required", "run.yaml", "data.splits", "neither",
     "--input - reads standard input"},
    {"InputBesideData", model_yaml + "input: {file: f}\ndata: {splits: {s: {a: f}}}\n",
     "config.conflict", ":2:1", "one input", ":3:1", "delete one"},
    {"OutputFileOfTwoStreams",
     model_yaml + "output: {file: o.npy}\ndata: {splits: {s: {a: f, b: g}}}\n", "config.conflict",
     ":2:16", "one stream", "2 streams", "leave it out"},
    {"JsonlWithoutField", model_yaml + "input: {file: a.jsonl}\n", "config.required", ":2:1",
     "the name of the field", "a.jsonl", "give the field"},
    {"NameWithoutFormat", model_yaml + "input: {file: texts.gz}\n", "config.required", ":2:1",
     ".txt, .jsonl", "texts.gz", "--format lines|jsonl|json|csv|tsv|parquet|arrow"},
    {"FieldOfLines", model_yaml + "input: {file: a.txt, field: code}\n", "config.conflict", ":2:29",
     "a format that has fields", "'code'", "leave the field out"},
    {"FieldAndText", model_yaml + "input: {file: a.jsonl, field: a, text: '{b}'}\n",
     "config.conflict", ":2:40", "one of the two", "both; the field is at", "delete one"},
    {"TextOfLines", model_yaml + "input: {file: a.txt, text: '{a}'}\n", "config.conflict", ":2:28",
     "a format that has fields", "text '{a}'", "leave the template out"},
    {"TextWithoutAField", model_yaml + "input: {file: a.jsonl, text: title}\n", "config.value",
     ":2:30", "the name of a field", "'title'", "--field"},
    {"TextWithAnOpenBrace", model_yaml + "input: {file: a.jsonl, text: 'x {title'}\n",
     "config.value", ":2:30", "between { and }", "'{title' at byte 3", "close it"},
    {"TextWithAClosedBrace", model_yaml + "input: {file: a.jsonl, text: '{a} }'}\n", "config.value",
     ":2:30", "{ before the name", "'}' at byte 5", "write }}"},
    {"TextWithAnEmptyName", model_yaml + "input: {file: a.jsonl, text: '{}'}\n", "config.value",
     ":2:30", "between { and }", "'{}' at byte 1", "write the name"},
    {"NotYaml", "semantic: model: m\n", "config.syntax", ":1:16", "'key: value'",
     "illegal map value", "quote a text"},
    {"Tab", "semantic:\n\tmodel: m\n", "config.syntax", ":2:7", "indented by spaces", "",
     "no tabs"},
    {"OpenBracket", "semantic: {model: m\n", "config.syntax", ":2:1", "'key: value'",
     "end of map flow", "brackets"},
    {"OpenDoubleQuote", "semantic: {model: m}\nlog: {file: \"x}\n", "config.syntax",
     ":2:", "a closing \"", "end of the file", "close the quote"},
    {"OpenQuoteToTheEnd", "semantic:\n  model: \"a \\\" b\n", "config.syntax", ":2:10",
     "a closing \"", "end of the file", "close the quote"},
    {"OpenSingleQuoteToTheEnd", "semantic:\n  model: 'it''s\n", "config.syntax", ":2:10",
     "a closing '", "end of the file", "close the quote"},
    {"Anchor", "semantic: &a {model: m}\n", "config.syntax", ":1:11", "plain maps", "an anchor",
     "write the value"},
    {"AnchorOfNothing", "semantic: {model: &a }\n", "config.syntax", ":1:", "plain maps",
     "an anchor", "write"},
    {"Alias", "semantic: {model: &a m}\nlog: {file: *a}\n", "config.syntax", ":1:19", "plain maps",
     "an anchor", "write the value"},
    {"Tag", "semantic: {chunk_size: !!int 3}\n", "config.syntax", ":1:24", "plain maps", "a tag",
     "write the value"},
    {"MergeKey", "semantic:\n  <<: {model: m}\n", "config.syntax", ":2:3", "plain maps",
     "a merge key", "data.streams"},
    {"KeyIsAList", "? [a]\n: b\n", "config.syntax", ":1:3", "a name and a colon", "a map or a list",
     "quote"},
    {"KeyIsNull", model_yaml + "data: {splits: {null: {a: f}}}\n", "config.syntax", ":2:17",
     "a name and a colon", "nothing", "\"null\":"},
    {"SecondDocument", model_yaml + "---\n" + model_yaml, "config.syntax", ":2:1",
     "one YAML document", "a second one", "one experiment"},
    {"BadUtf8", "semantic: {model: m}\n# \xe9\n", "config.syntax", ":2:3", "UTF-8", "\\xe9",
     "save the file as UTF-8"},
    {"Nul", std::string("semantic: {model: m}\n\0", 22), "config.syntax", ":2:1",
     "control characters", "\\x00", "the file you meant"},
    {"Utf16",
     std::string("\xff\xfe"
                 "s\0",
                 4),
     "config.syntax", ":1:1", "UTF-8", "\\xff", "save the file as UTF-8"},
    {"TooDeep", "a: " + std::string(40, '[') + std::string(40, ']') + "\n", "config.limit", ":1:35",
     "32 levels", "33", "the file you meant"},
    {"HostileDepth", std::string(500000, '[') + std::string(500000, ']'), "config.limit", ":1:33",
     "32 levels", "33", "the file you meant"},
    {"TooLarge", std::string((1 << 20) + 1, '#'), "config.limit", ":1:1", "1048576 bytes",
     "1048577 bytes", "the file you meant"},
};

class BrokenConfig : public TestWithParam<Broken> {};

TEST_P(BrokenConfig, SaysWhatWhereExpectedFoundAndNext) {
  const Broken& broken = GetParam();
  const ErrorDetail error = error_of(broken.yaml);
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  EXPECT_EQ(error.code.name(), broken.code);
  EXPECT_THAT(error.where, HasSubstr("run.yaml"));
  EXPECT_THAT(error.where, broken.position.ends_with(":")
                               ? HasSubstr(broken.position)
                               : ::testing::Matcher<std::string>(EndsWith(broken.position)));
  EXPECT_THAT(error.expected, HasSubstr(broken.expected));
  EXPECT_THAT(error.found, HasSubstr(broken.found));
  EXPECT_THAT(error.hint, HasSubstr(broken.hint));
  for (const std::string& field :
       {error.what, error.where, error.expected, error.found, error.hint}) {
    EXPECT_FALSE(field.empty()) << render(error);
  }
  EXPECT_LT(render(error).size(), 1500U) << "a hostile file must not flood the terminal";
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenConfig, ValuesIn(broken_configs),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(BrokenFile, MissingFileIsNoInput) {
  try {
    load_config("/nonexistent/run.yaml", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kNoInput);
    EXPECT_EQ(error.detail().code.name(), "config.file");
    EXPECT_EQ(error.detail().where, "/nonexistent/run.yaml");
  }
}

TEST(BrokenFlag, IsAnErrorOfTheCommandLineAndNamesTheFlag) {
  struct Case {
    Override flag;
    const char* code;
    const char* hint;
  };
  const std::string yaml = model_yaml + "data: {splits: {s: {a: a.txt, b: b.txt}}}\n";
  const std::vector<Case> cases = {
      {{"semantic.dtype", "floot32", "--dtype"}, "config.value", "did you mean 'float32'?"},
      {{"semantic.chunk_size", "-1", "--chunk-size"}, "config.value", "or more"},
      {{"semantic.chunk_size", "1k", "--chunk-size"}, "config.type", "decimal digits"},
      {{"semantic.normalize", "yes", "--normalize"}, "config.type", "write true"},
      {{"semantic.chunksize", "1", "--set"}, "config.key", "did you mean 'chunk_size'?"},
      {{"semantic", "1", "--set"}, "config.key", "docs/config.md"},
      {{"data.splits.s.a.file", "x", "--set"}, "config.key", "encode config --all"},
      {{"input.file", "x", "--input"}, "config.conflict", "leave one"},
      {{"output.file", "x", "--output"}, "config.conflict", "leave it out"},
      {{"output.combine", "a,missing", "--combine"}, "config.combine", "add the stream"},
      {{"output.combine", "a", "--combine"}, "config.value", "write 2 to 64 names"},
      {{"semantic.model", "caf\xe9", "--model"}, "config.value", "UTF-8"},
  };
  for (const Case& test : cases) {
    const ErrorDetail error = error_of(yaml, {test.flag});
    EXPECT_EQ(error.exit_code, ExitCode::kUsage) << test.flag.key;
    EXPECT_EQ(error.code.name(), test.code) << test.flag.key;
    EXPECT_EQ(error.where, test.flag.flag);
    EXPECT_THAT(error.hint, HasSubstr(test.hint));
  }
}

// A message names flags to a user of flags, and keys to a user of --set or of a config.
TEST(BrokenFlag, MessagesNameWhatTheUserHasGiven) {
  const auto error_without_file = [](const std::vector<Override>& flags) {
    try {
      load_config("", flags);
    } catch (const Error& error) {
      return error.detail();
    }
    return ErrorDetail();
  };
  const Override model = {"semantic.model", "m", "--model"};
  const Override input = {"input.file", "a.txt", "--input"};
  const auto what = [&](const std::string& value, const std::string& flag) {
    const ErrorDetail error =
        error_without_file({model, input, {"semantic.chunk_size", value, flag}});
    return error.what + "; " + error.hint;
  };
  EXPECT_THAT(what("-1", "--chunk-size"), StartsWith("--chunk-size has a value"));
  EXPECT_THAT(what("-1", "--chunk-size"), HasSubstr("set --chunk-size to 0 or more"));
  EXPECT_THAT(what("-1", "--set"), StartsWith("semantic.chunk_size has a value"));
  EXPECT_EQ(error_without_file({input}).expected, "--model DIR");
  EXPECT_THAT(error_without_file({model}).expected, HasSubstr("--input FILE"));

  const Override format = {"output.format", "parquet", "--output-format"};
  const ErrorDetail suffix =
      error_without_file({model, input, {"output.file", "o.npy", "--output"}, format});
  EXPECT_THAT(suffix.expected, HasSubstr("--output-format npy"));
  EXPECT_THAT(suffix.found, HasSubstr("--output-format parquet"));
}

TEST(BrokenFlag, AMissingFieldIsReportedWithTheFieldsOfTheInput) {
  const auto list = [](const InputOptions& input) { return "the fields of " + input.path; };
  const auto error_with = [](const FieldLister& lister) {
    try {
      load_config("", {{"semantic.model", "m", "--model"}, {"input.file", "a.csv", "--input"}},
                  lister);
    } catch (const Error& error) {
      return error.detail();
    }
    return ErrorDetail();
  };
  EXPECT_EQ(error_with(list).found, "no field for 'a.csv', which has: the fields of a.csv");
  EXPECT_THAT(error_with(list).hint, HasSubstr("--field NAME"));
  const FieldLister unknown = [](const InputOptions& /*input*/) { return ""; };
  EXPECT_EQ(error_with(unknown).found, "no field for 'a.csv'");
  EXPECT_EQ(error_with({}).found, "no field for 'a.csv'");
}

TEST(BrokenFlag, WithoutAFileWhatIsMissingIsAnErrorOfTheCommandLine) {
  for (const std::vector<Override>& flags :
       {std::vector<Override>{{"semantic.model", "m", "--model"}},
        std::vector<Override>{{"input.file", "a.txt", "--input"}}}) {
    try {
      load_config("", flags);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
      EXPECT_EQ(error.detail().code.name(), "config.required");
      EXPECT_EQ(error.detail().where, "command line");
    }
  }
}

}  // namespace
}  // namespace encode
