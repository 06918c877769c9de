// Tests that the fingerprint changes with every input that can change the bits of a vector, and
// with nothing else.
#include "store/fingerprint/fingerprint.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/json.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Change = std::function<void(Fingerprint&)>;

Fingerprint base() {
  Fingerprint fingerprint;
  fingerprint.input.path = "texts.txt";
  fingerprint.input_files = {{.path = "texts.txt", .first_row = 0, .bytes = 10, .sha256 = "aa"}};
  fingerprint.model_files = {{.name = "config.json", .bytes = 2, .sha256 = "cc"},
                             {.name = "model.safetensors", .bytes = 3, .sha256 = "dd"}};
  fingerprint.result.pooling = {PoolingMode::kMean};
  fingerprint.result.modules.resize(1);
  fingerprint.result.modules[0].pooling = {PoolingMode::kMean};
  fingerprint.result.max_length = 256;
  fingerprint.result.dim = 384;
  fingerprint.result.launch_tokens = 16384;
  return fingerprint;
}

void expect_each_counts(const std::vector<Change>& changes) {
  std::set<std::string> texts = {to_text(base())};
  for (size_t i = 0; i < changes.size(); ++i) {
    Fingerprint changed = base();
    changes[i](changed);
    EXPECT_TRUE(texts.insert(to_text(changed)).second) << "change " << i;
  }
}

TEST(Fingerprint, ChangesWithEveryReaderOption) {
  const Fingerprint fingerprint = base();
  // The list below has one case for each field. A new field breaks this structured binding, which
  // reminds its author to add a case.
  const auto& [path, more_paths, field, text_template, missing_field, format, bad_row, empty_row,
               utf8, max_row_bytes, limit_rows, filter] = fingerprint.input;
  ASSERT_FALSE(filter.any());
  static_cast<void>(path);  // the paths are not part of the fingerprint: see MovedFileKeepsIt
  static_cast<void>(more_paths);
  ASSERT_TRUE(field.empty() && format == TextFormat::kAuto && bad_row == BadRowPolicy::kError);
  ASSERT_TRUE(empty_row == EmptyRowPolicy::kKeep && utf8 == Utf8Policy::kReplace);
  ASSERT_TRUE(max_row_bytes != 1 && limit_rows != 1);
  ASSERT_TRUE(text_template.empty() && missing_field == MissingFieldPolicy::kError);
  expect_each_counts({[](Fingerprint& f) { f.input.field = "text"; },
                      [](Fingerprint& f) { f.input.text_template = "{text}"; },
                      [](Fingerprint& f) { f.input.text_template = "{text} {text}"; },
                      [](Fingerprint& f) {
                        f.input.text_template = "{text}";
                        f.input.missing_field = MissingFieldPolicy::kEmpty;
                      },
                      [](Fingerprint& f) { f.input.format = TextFormat::kCsv; },
                      [](Fingerprint& f) { f.input.bad_row = BadRowPolicy::kReject; },
                      [](Fingerprint& f) { f.input.empty_row = EmptyRowPolicy::kReject; },
                      [](Fingerprint& f) { f.input.utf8 = Utf8Policy::kError; },
                      [](Fingerprint& f) { f.input.max_row_bytes = 1; },
                      [](Fingerprint& f) { f.input.limit_rows = 1; },
                      [](Fingerprint& f) { f.input.filter.where = "a == 1"; },
                      [](Fingerprint& f) { f.input.filter.where = "a == 2"; },
                      [](Fingerprint& f) {
                        f.input.filter = {.where = "a == 1", .paths = {"b.jsonl"}};
                        f.kept_xxh3_128 = "cc";
                      },
                      [](Fingerprint& f) {
                        f.input.filter = {.where = "a == 1", .paths = {"b.jsonl"}};
                        f.kept_xxh3_128 = "dd";
                      },
                      [](Fingerprint& f) { f.input_files[0].bytes = 11; },
                      [](Fingerprint& f) { f.input_files[0].sha256 = "ab"; },
                      [](Fingerprint& f) { f.input_files.push_back(f.input_files[0]); }});
}

TEST(Fingerprint, ChangesWithEveryFileAndTheirOrderButNotWithTheirPaths) {
  const auto text = [](const std::vector<std::pair<std::string, std::string>>& files) {
    Fingerprint fingerprint = base();
    fingerprint.input_files.clear();
    for (const auto& [path, sha256] : files)
      fingerprint.input_files.push_back(
          {.path = path, .first_row = 0, .bytes = 10, .sha256 = sha256});
    return to_text(fingerprint);
  };
  const std::string both = text({{"a.txt", "aa"}, {"b.txt", "bb"}});
  EXPECT_EQ(both, text({{"x/1.txt", "aa"}, {"x/2.txt", "bb"}}));
  EXPECT_NE(both, text({{"a.txt", "bb"}, {"b.txt", "aa"}}));
  EXPECT_NE(both, text({{"a.txt", "aa"}, {"b.txt", "bc"}}));
  EXPECT_NE(both, text({{"a.txt", "aa"}, {"b.txt.gz", "bb"}}));
  EXPECT_NE(both, text({{"a.txt", "aa"}, {"b.txt", "bb"}, {"c.txt", "cc"}}));
}

// Another file with the same values in the fields of the filter is no other input.
TEST(Fingerprint, OfAFilterOfAnotherInputHasTheRecordsAndNotItsFiles) {
  Fingerprint fingerprint = base();
  fingerprint.input.filter = {.where = "a == 1", .paths = {"b.jsonl"}};
  fingerprint.kept_xxh3_128 = "cc";
  const std::string text = to_text(fingerprint);
  fingerprint.input.filter.paths = {"c.csv"};
  EXPECT_EQ(to_text(fingerprint), text);
  EXPECT_TRUE(says_filtered(text) && says_filtered_elsewhere(text));
  EXPECT_TRUE(has_input(text, fingerprint.input, fingerprint.input_files));
  fingerprint.input.filter.where = "a == 2";
  EXPECT_FALSE(has_input(text, fingerprint.input, fingerprint.input_files));
  // The hash of the records belongs only to a filter of another input.
  fingerprint.input.filter = {.where = "a == 1"};
  EXPECT_TRUE(says_filtered(to_text(fingerprint)));
  EXPECT_FALSE(says_filtered_elsewhere(to_text(fingerprint)));
  EXPECT_THAT(to_text(fingerprint), Not(HasSubstr("kept_records")));
  EXPECT_FALSE(says_filtered(to_text(base())));
  CombinedPart part;
  part.identity.fingerprint = text;
  EXPECT_FALSE(says_filtered(combined_fingerprint({part})));
}

// So caches of versions in which an input had only one file stay valid.
TEST(Fingerprint, OfOneFileIsAsBefore) {
  EXPECT_THAT(to_text(base()),
              HasSubstr(R"("input":{"bad_row":"error","compression":"","empty_row":"keep",)"
                        R"("field":"","file_bytes":10,"format":"lines","limit_rows":0,)"
                        R"("max_row_bytes":1048576,"sha256":"aa","utf8":"replace"})"));
}

TEST(Fingerprint, MovedFileKeepsItUnlessItsNameChangesHowItIsRead) {
  const auto text = [](const std::string& path, TextFormat format) {
    Fingerprint fingerprint = base();
    fingerprint.input_files[0].path = path;
    fingerprint.input.format = format;
    return to_text(fingerprint);
  };
  EXPECT_EQ(text("a/texts.jsonl", TextFormat::kAuto), text("b/other.JSONL", TextFormat::kAuto));
  EXPECT_EQ(text("texts.jsonl", TextFormat::kAuto), text("texts.data", TextFormat::kJsonl));
  EXPECT_NE(text("texts.jsonl", TextFormat::kAuto), text("texts.csv", TextFormat::kAuto));
  EXPECT_NE(text("texts.jsonl", TextFormat::kAuto), text("texts.jsonl.gz", TextFormat::kAuto));
  EXPECT_EQ(text("texts.csv.zst", TextFormat::kAuto), text("t.zst", TextFormat::kCsv));
}

TEST(Fingerprint, ChangesWithTheModelAndItsTokenizer) {
  // The tests of this file have a case for each field.
  const auto& [input, input_files, kept_records, model_files, result, tokenizer_library] =
      Fingerprint();
  const auto& [name, bytes, sha256, settled_key] = FileHash();
  ASSERT_FALSE(settled_key) << "the key is not part of the fingerprint";
  expect_each_counts({[](Fingerprint& f) { f.model_files[0].sha256 = "ce"; },
                      [](Fingerprint& f) { f.model_files[0].bytes = 4; },
                      [](Fingerprint& f) { f.model_files[1].bytes = 4; },
                      [](Fingerprint& f) { f.model_files[1].name = "pytorch_model.bin"; },
                      [](Fingerprint& f) { f.model_files.pop_back(); },
                      [](Fingerprint& f) { f.tokenizer_library = "sentencepiece 0.1.97"; },
                      [](Fingerprint& f) { f.tokenizer_library = "sentencepiece 0.2.1"; }});
}

TEST(Fingerprint, ChangesWithEveryFieldOfTheResult) {
  const Fingerprint fingerprint = base();
  const auto& [pooling, normalize, truncate_dim, modules, max_length, prompt, include_prompt, dtype,
               float32_matmul_precision, causal, dim, launch_tokens, vector_precision,
               late_interaction, tokenizer, ignore_custom_code, recipes] = fingerprint.result;
  const auto& [special_tokens, tokenizer_recipe, lower_case_first] = tokenizer;
  ASSERT_FALSE(lower_case_first);
  ASSERT_EQ(tokenizer_recipe, TokenizerRecipe::kNone) << "`recipes` names it";
  ASSERT_TRUE(recipes.empty());
  ASSERT_FALSE(ignore_custom_code || special_tokens != SpecialTokensRule::kByClass);
  ASSERT_FALSE(normalize || truncate_dim || causal || late_interaction);
  ASSERT_TRUE(include_prompt && prompt.empty() && dtype == ComputeType::kFloat32);
  using Result = EffectiveResult;
  const auto change = [](const std::function<void(Result&)>& edit) {
    return [edit](Fingerprint& f) { edit(f.result); };
  };
  expect_each_counts(
      {change([](Result& r) { r.pooling = {PoolingMode::kCls}; }),
       change([](Result& r) { r.normalize = true; }),
       change([](Result& r) { r.truncate_dim = 64; }),
       change([](Result& r) { r.modules.emplace_back().kind = SentenceModule::Kind::kNormalize; }),
       change([](Result& r) { r.max_length = 128; }),
       change([](Result& r) { r.prompt = "query: "; }),
       change([](Result& r) { r.include_prompt = false; }),
       change([](Result& r) { r.dtype = ComputeType::kBFloat16; }),
       change([](Result& r) { r.dtype = ComputeType::kFloat16; }),
       change([](Result& r) { r.dtype = ComputeType::kInt8; }),
       change([](Result& r) { r.dtype = ComputeType::kFp8; }),
       change([](Result& r) { r.float32_matmul_precision = MatmulPrecision::kHigh; }),
       change([](Result& r) { r.causal = false; }),
       change([](Result& r) { r.causal = true; }),
       change([](Result& r) { r.vector_precision = VectorPrecision::kFloat16; }),
       change(
           [](Result& r) { r.tokenizer.special_tokens = SpecialTokensRule::kAsInTokenizerJson; }),
       change([](Result& r) { r.tokenizer.lower_case_first = true; }),
       change([](Result& r) { r.ignore_custom_code = true; }),
       change([](Result& r) { r.recipes = {"qwen2_eos"}; }),
       change([](Result& r) { r.dim = 128; }),
       change([](Result& r) { r.launch_tokens = 8192; }),
       change([](Result& r) { r.late_interaction.emplace(); }),
       change([](Result& r) {
         r.late_interaction = LateInteraction{"[D] ", {}, ""};
       }),
       change([](Result& r) {
         r.late_interaction = LateInteraction{"", {"."}, ""};
       }),
       change([](Result& r) {
         r.late_interaction = LateInteraction{"", {}, "[UNK]"};
       }),
       change([](Result& r) {
         r.late_interaction = LateInteraction{"", {}, "", true};
       })});
}

TEST(Fingerprint, ChangesWithEveryFieldOfAModule) {
  const auto& [kind, path, pooling, include_prompt, in_features, out_features, bias, residual,
               activation, tensors] = SentenceModule();
  ASSERT_TRUE(path.empty() && tensors.empty());  // see DoesNotChangeWithPathsOfTheModel
  ASSERT_TRUE(include_prompt && bias && !residual && in_features != 7 && out_features != 7);
  const auto module = [](const std::function<void(SentenceModule&)>& edit) {
    return [edit](Fingerprint& f) { edit(f.result.modules[0]); };
  };
  using Module = SentenceModule;
  expect_each_counts(
      {module([](Module& m) { m.kind = Module::Kind::kDense; }),
       module([](Module& m) { m.pooling = {PoolingMode::kMax}; }),
       module([](Module& m) { m.include_prompt = false; }),
       module([](Module& m) { m.in_features = 7; }), module([](Module& m) { m.out_features = 7; }),
       module([](Module& m) { m.bias = false; }), module([](Module& m) { m.residual = true; }),
       module([](Module& m) { m.activation = DenseActivation::kGelu; })});
}

// So results of versions without these options stay valid.
TEST(Fingerprint, NamesAnOptionOfCustomCodeOnlyIfItIsSet) {
  EXPECT_THAT(to_text(base()), Not(HasSubstr("special_tokens")));
  EXPECT_THAT(to_text(base()), Not(HasSubstr("ignore_custom_code")));
  Fingerprint set = base();
  set.result.tokenizer.special_tokens = SpecialTokensRule::kAsInTokenizerJson;
  set.result.ignore_custom_code = true;
  EXPECT_THAT(to_text(set), HasSubstr(R"("special_tokens":"as_in_tokenizer_json")"));
  EXPECT_THAT(to_text(set), HasSubstr(R"("ignore_custom_code":true)"));
}

// A model that is moved to another directory gives the same vectors.
TEST(Fingerprint, DoesNotChangeWithPathsOfTheModel) {
  Fingerprint moved = base();
  moved.result.modules[0].path = "/elsewhere/1_Pooling";
  moved.result.modules[0].tensors["linear.weight"].file = "/elsewhere/model.safetensors";
  EXPECT_EQ(to_text(moved), to_text(base()));
}

TEST(Fingerprint, TextIsCanonicalAndStatesItsVersion) {
  const std::string text = to_text(base());
  EXPECT_EQ(Json::parse(text).dump(), text);
  EXPECT_EQ(version_of(text), Fingerprint::kVersion);
  EXPECT_EQ(version_of("{}"), 0);
  EXPECT_EQ(version_of("not JSON"), 0);
}

TEST(Fingerprint, WithoutInputNamesTheModelAndResultAlone) {
  Fingerprint other_text = base();
  other_text.input_files[0].sha256 = "ff";
  EXPECT_EQ(without_input(to_text(other_text)), without_input(to_text(base())));
  Fingerprint other_model = base();
  other_model.model_files[0].sha256 = "ff";
  EXPECT_NE(without_input(to_text(other_model)), without_input(to_text(base())));
}

TEST(Fingerprint, HasTheSizesOfTheFiles) {
  Fingerprint files = base();
  files.input_files[0].bytes = 17;
  EXPECT_EQ(input_sizes(to_text(files)), std::vector<int64_t>({17}));
  files.input_files.push_back(files.input_files[0]);
  files.input_files[1].bytes = 5;
  EXPECT_EQ(input_sizes(to_text(files)), std::vector<int64_t>({17, 5}));
  EXPECT_TRUE(input_sizes(R"({"combined":[]})").empty());
}

TEST(Fingerprint, SaysWhetherNormsAreOneInOldTextsToo) {
  Fingerprint normalized = base();
  normalized.result.normalize = true;
  EXPECT_TRUE(says_normalized(to_text(normalized)));
  EXPECT_FALSE(says_normalized(to_text(base())));
  EXPECT_TRUE(says_normalized(
      R"({"format":6,"result":{"effective":{"normalize":true},"normalize":null}})"));
  EXPECT_FALSE(says_normalized(R"({"combined":[]})"));
}

TEST(Fingerprint, ATextThatIsNotAJsonObjectIsAnError) {
  for (const std::string text : {"", "{", "not JSON", "[]", "7", "{}x"}) {
    std::vector<CombinedPart> parts(1);
    parts[0].identity.fingerprint = text;
    const std::vector<std::function<void()>> readers = {[&] { without_input(text); },
                                                        [&] { says_normalized(text); },
                                                        [&] { combined_fingerprint(parts); }};
    for (const auto& read : readers) {
      try {
        read();
        ADD_FAILURE() << text;
      } catch (const Error& error) {
        EXPECT_EQ(error.detail().code.name(), "store.damaged");
        EXPECT_EQ(error.exit_code(), ExitCode::kData);
      }
    }
  }
}

StreamIdentity identity_of(const Fingerprint& fingerprint) {
  return {.name = "tc", .fingerprint = to_text(fingerprint), .rows = 5, .dim = 384};
}

TEST(Differences, NameTheFieldAndBothValues) {
  Fingerprint other = base();
  other.model_files[1].sha256 = "ee";
  other.result.max_length = 128;
  EXPECT_EQ(describe_differences(identity_of(base()), identity_of(other)),
            "model file 'model.safetensors': other content than before (the checksum differs)\n"
            "result.max_length: cache has 256, this run has 128");
  EXPECT_EQ(describe_differences(identity_of(base()), identity_of(base())), "");
  EXPECT_EQ(first_difference(identity_of(base()), identity_of(other)), "another model")
      << "what else differs may follow from it";
  EXPECT_EQ(first_difference(identity_of(base()), identity_of(other), {.model = "a", .input = ""},
                             {.model = "b", .input = ""}),
            "another model: a before, b now");
  other.model_files = base().model_files;
  EXPECT_EQ(first_difference(identity_of(base()), identity_of(other)),
            "another max_length: 256 before, 128 now");
}

// If only one of the two has a file, its hash and its size are no differences of their own.
TEST(Differences, OfAFileThatOnlyOneHasAreOneLine) {
  Fingerprint other = base();
  other.model_files.push_back({.name = "1_Dense/config.json", .bytes = 157, .sha256 = "ff"});
  EXPECT_EQ(describe_differences(identity_of(base()), identity_of(other)),
            "model file '1_Dense/config.json': only this run has this file");
  EXPECT_EQ(describe_differences(identity_of(other), identity_of(base())),
            "model file '1_Dense/config.json': only the cache has this file");
  Fingerprint parts = base();
  parts.input_files.push_back({.path = "b.txt", .first_row = 5, .bytes = 4, .sha256 = "bb"});
  const std::string text = describe_differences(identity_of(base()), identity_of(parts));
  EXPECT_THAT(text, HasSubstr("input: one file before, several now"));
  EXPECT_THAT(text, Not(HasSubstr("checksum")));
  EXPECT_THAT(text, Not(HasSubstr("file_bytes")));
}

TEST(Differences, SayWhatANumberStandsFor) {
  Fingerprint limited = base();
  limited.input.limit_rows = 60;
  EXPECT_EQ(first_difference(identity_of(limited), identity_of(base())),
            "another limit_rows: 60 before, 0 (all rows) now");
  Fingerprint cut = base();
  cut.result.truncate_dim = 64;
  EXPECT_EQ(describe_differences(identity_of(cut), identity_of(base())),
            "result.truncate_dim: cache has 64, this run has null (all columns)");
}

TEST(Differences, OfTwoVersionsAreOneSentence) {
  StreamIdentity old = identity_of(base());
  old.fingerprint = R"({"format":6,"input":{},"model":{},"result":{}})";
  const std::string text = describe_differences(old, identity_of(base()));
  EXPECT_THAT(text, HasSubstr("another version of encode wrote it"));
  EXPECT_THAT(text, HasSubstr("version 6"));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace encode
