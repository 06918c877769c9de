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
#include "example_fingerprint.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Change = std::function<void(Fingerprint&)>;

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
  const auto& [path, more_paths, field, text_template, passage_field, missing_field, format,
               bad_row, empty_row, utf8, max_row_bytes, limit_rows, filter] = fingerprint.input;
  ASSERT_FALSE(filter.any());
  static_cast<void>(path);  // the paths are not part of the fingerprint: see MovedFileKeepsIt
  static_cast<void>(more_paths);
  ASSERT_TRUE(field.empty() && format == TextFormat::kAuto && bad_row == BadRowPolicy::kError);
  ASSERT_TRUE(empty_row == EmptyRowPolicy::kKeep && utf8 == Utf8Policy::kReplace);
  ASSERT_TRUE(max_row_bytes != 1 && limit_rows != 1);
  ASSERT_TRUE(text_template.empty() && passage_field.empty());
  ASSERT_TRUE(missing_field == MissingFieldPolicy::kError);
  expect_each_counts(
      {[](Fingerprint& f) { f.input.field = "text"; },
       [](Fingerprint& f) { f.input.text_template = "{text}"; },
       [](Fingerprint& f) { f.input.text_template = "{text} {text}"; },
       [](Fingerprint& f) { f.input.passage_field = "text"; },
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
       [](Fingerprint& f) { change_file(f, [](ScannedFile& file) { file.bytes = 11; }); },
       [](Fingerprint& f) {
         change_file(f, [](ScannedFile& file) { file.sha256 = sha256_of('b'); });
       },
       [](Fingerprint& f) { f.input_files.push_back(f.input_files[0]); }});
}

TEST(Fingerprint, ChangesWithEveryFileAndTheirOrderButNotWithTheirPaths) {
  const auto text = [](const std::vector<std::pair<std::string, char>>& files) {
    Fingerprint fingerprint = base();
    fingerprint.input_files.clear();
    for (const auto& [path, digit] : files)
      fingerprint.input_files.push_back({.path = path, .bytes = 10, .sha256 = sha256_of(digit)});
    return to_text(fingerprint);
  };
  const std::string both = text({{"a.txt", 'a'}, {"b.txt", 'b'}});
  EXPECT_EQ(both, text({{"x/1.txt", 'a'}, {"x/2.txt", 'b'}}));
  EXPECT_NE(both, text({{"a.txt", 'b'}, {"b.txt", 'a'}}));
  EXPECT_NE(both, text({{"a.txt", 'a'}, {"b.txt", 'd'}}));
  EXPECT_NE(both, text({{"a.txt", 'a'}, {"b.txt.gz", 'b'}}));
  EXPECT_NE(both, text({{"a.txt", 'a'}, {"b.txt", 'b'}, {"c.txt", 'c'}}));
}

// Another file with the same values in the fields of the filter is no other input.
TEST(Fingerprint, OfAFilterOfAnotherInputHasTheRecordsAndNotItsFiles) {
  Fingerprint fingerprint = base();
  fingerprint.input.filter = {.where = "a == 1", .paths = {"b.jsonl"}};
  fingerprint.kept_xxh3_128 = "cc";
  const ScannedFiles files = fingerprint.input_files;
  const std::string text = to_text(fingerprint);
  fingerprint.input.filter.paths = {"c.csv"};
  EXPECT_EQ(to_text(fingerprint), text);
  EXPECT_TRUE(says_filtered(text) && says_filtered_elsewhere(text));
  EXPECT_TRUE(has_input(text, fingerprint.input, files));
  fingerprint.input.filter.where = "a == 2";
  EXPECT_FALSE(has_input(text, fingerprint.input, files));
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
                        R"("max_row_bytes":1048576,"sha256":")" +
                        sha256_of('a') + R"(","utf8":"replace"})"));
}

TEST(Fingerprint, MovedFileKeepsItUnlessItsNameChangesHowItIsRead) {
  const auto text = [](const std::string& path, TextFormat format) {
    Fingerprint fingerprint = base();
    change_file(fingerprint, [&path](ScannedFile& file) { file.path = path; });
    fingerprint.input.format = format;
    return to_text(fingerprint);
  };
  EXPECT_EQ(text("a/texts.jsonl", TextFormat::kAuto), text("b/other.JSONL", TextFormat::kAuto));
  EXPECT_EQ(text("texts.jsonl", TextFormat::kAuto), text("texts.data", TextFormat::kJsonl));
  EXPECT_NE(text("texts.jsonl", TextFormat::kAuto), text("texts.csv", TextFormat::kAuto));
  EXPECT_NE(text("texts.jsonl", TextFormat::kAuto), text("texts.jsonl.gz", TextFormat::kAuto));
  EXPECT_EQ(text("texts.csv.zst", TextFormat::kAuto), text("t.zst", TextFormat::kCsv));
}

TEST(Fingerprint, OfListedFilesHasTheirContentAndNotTheirPlaces) {
  Fingerprint fingerprint = base();
  fingerprint.input_list = FileList{.path = "c/tc.input_files.jsonl",
                                    .files = 10'001,
                                    .bytes = 20'000,
                                    .first_path = "a/0.jsonl",
                                    .sha256 = "aa",
                                    .root = "r"};
  const std::string text = to_text(fingerprint);
  EXPECT_NE(text, to_text(base()));
  Fingerprint moved = fingerprint;
  moved.input_list->path = "d/tc.input_files.jsonl";
  moved.input_list->first_path = "b/0.jsonl";
  moved.input_list->root = "s";
  moved.input_files.clear();
  EXPECT_EQ(to_text(moved), text);
  const auto changed = [&fingerprint](const auto& change) {
    Fingerprint other = fingerprint;
    change(*other.input_list);
    return to_text(other);
  };
  EXPECT_NE(changed([](FileList& list) { list.files = 10'002; }), text);
  EXPECT_NE(changed([](FileList& list) { list.bytes = 20'001; }), text);
  EXPECT_NE(changed([](FileList& list) { list.sha256 = "ab"; }), text);
  EXPECT_NE(changed([](FileList& list) { list.first_path = "a/0.csv"; }), text);
}

TEST(Fingerprint, ChangesWithTheModelAndItsTokenizer) {
  // The tests of this file have a case for each field.
  const auto& [input, input_files, input_list, kept_records, model_files, result] = Fingerprint();
  const auto& [name, bytes, sha256, settled_key] = FileHash();
  ASSERT_FALSE(settled_key) << "the key is not part of the fingerprint";
  expect_each_counts({[](Fingerprint& f) { f.model_files[0].sha256 = "ce"; },
                      [](Fingerprint& f) { f.model_files[0].bytes = 4; },
                      [](Fingerprint& f) { f.model_files[1].bytes = 4; },
                      [](Fingerprint& f) { f.model_files[1].name = "pytorch_model.bin"; },
                      [](Fingerprint& f) { f.model_files.pop_back(); }});
}

TEST(Fingerprint, ChangesWithEveryFieldOfTheResult) {
  const Fingerprint fingerprint = base();
  const auto& [pooling, normalize, truncate_dim, modules, max_length, prompt, include_prompt, dtype,
               float32_matmul_precision, causal, dim, launch_tokens, vector_precision,
               late_interaction, tokenizer, ignore_custom_code, recipes, passages, row_vector] =
      fingerprint.result;
  const auto& [special_tokens, tokenizer_recipe, lower_case_first] = tokenizer;
  ASSERT_FALSE(lower_case_first);
  ASSERT_EQ(tokenizer_recipe, TokenizerRecipe::kNone) << "`recipes` names it";
  ASSERT_TRUE(recipes.empty());
  ASSERT_TRUE(!passages && row_vector == RowVector::kNone);
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

TEST(Fingerprint, ChangesWithEveryFieldOfThePassages) {
  const auto& [max_tokens, overlap, by, vectors] = PassageRule();
  ASSERT_TRUE(max_tokens == 0 && overlap == 0 && by == PassageUnit::kSentence);
  ASSERT_TRUE(vectors == PassageVectors::kAlone);
  const auto cut = [](const PassageRule& rule, RowVector row_vector = RowVector::kNone) {
    return [rule, row_vector](Fingerprint& f) {
      f.result.passages = rule;
      f.result.row_vector = row_vector;
    };
  };
  expect_each_counts({cut({}), cut({.max_tokens = 9}), cut({.overlap = 9}),
                      cut({.by = PassageUnit::kToken}), cut({.vectors = PassageVectors::kLate}),
                      cut({}, RowVector::kMean)});
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

// So results of versions without passages stay valid, and the rule that has cut is known.
TEST(Fingerprint, NamesTheRuleAndTheUnicodeVersionOfPassagesOnlyIfThereAreAny) {
  EXPECT_THAT(to_text(base()), Not(HasSubstr("passages")));
  EXPECT_THAT(to_text(base()), Not(HasSubstr("row_vector")));
  Fingerprint cut = base();
  cut.result.passages = PassageRule{.max_tokens = 9, .overlap = 2, .by = PassageUnit::kParagraph};
  EXPECT_THAT(to_text(cut), HasSubstr(R"("passages":{"by":"paragraph","max_tokens":9,"overlap":2,)"
                                      R"("rule":2,"unicode":"15.0.0"})"));
}

// A passage has the vector of a row with the same tokens.
TEST(Fingerprint, OfSequencesHasNeitherInputNorPassages) {
  Fingerprint cut = base();
  cut.result.passages.emplace();
  cut.input.field = "other";
  EXPECT_NE(without_input(to_text(cut)), without_input(to_text(base())));
  EXPECT_EQ(of_sequences(to_text(cut)), of_sequences(to_text(base())));
  EXPECT_EQ(of_sequences(to_text(base())), without_input(to_text(base())));
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
  change_file(other_text, [](ScannedFile& file) { file.sha256 = sha256_of('f'); });
  EXPECT_EQ(without_input(to_text(other_text)), without_input(to_text(base())));
  Fingerprint other_model = base();
  other_model.model_files[0].sha256 = "ff";
  EXPECT_NE(without_input(to_text(other_model)), without_input(to_text(base())));
}

TEST(Fingerprint, HasTheSizesOfTheFiles) {
  Fingerprint files = base();
  change_file(files, [](ScannedFile& file) { file.bytes = 17; });
  EXPECT_EQ(input_sizes(to_text(files)), std::vector<int64_t>({17}));
  files.input_files.push_back({.path = "b.txt", .bytes = 5, .sha256 = sha256_of('b')});
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

}  // namespace
}  // namespace encode
