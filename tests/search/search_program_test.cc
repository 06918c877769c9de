// Searches matrices of tiny models with `encode search` and the real worker.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "search/searched_run.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Search : public ::testing::Test {
 protected:
  std::vector<std::string> left_over() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(run_.dir().path())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("encode.")) names.push_back(name);
    }
    return names;
  }

  SearchedRun run_;
};

// The query goes through another run, in another batch. Its score is exactly 1 only if its vector
// has the bits of the row.
TEST_F(Search, EveryRowFindsItselfWithTheCosine1) {
  run_.run({"--normalize"});
  std::vector<std::string> queries = {"-k", "2"};
  queries.insert(queries.end(), SearchedRun::rows().begin(), SearchedRun::rows().end());
  const std::vector<Json> found = run_.hits(queries);
  ASSERT_THAT(found, SizeIs(SearchedRun::rows().size()));
  for (size_t row = 0; row < found.size(); ++row) {
    const std::string& text = SearchedRun::rows()[row];
    EXPECT_EQ(found[row]["query"], text);
    EXPECT_EQ(found[row]["similarity"], "cosine");
    ASSERT_THAT(found[row]["hits"], SizeIs(2));
    EXPECT_EQ(found[row]["hits"][0], Json({{"row", row},
                                           {"input_row", row},
                                           {"score", 1.0},
                                           {"text", text},
                                           {"text_bytes", text.size()}}));
    EXPECT_LE(found[row]["hits"][1]["score"].get<double>(), 1.0);
  }
  EXPECT_THAT(left_over(), IsEmpty());
}

TEST_F(Search, FindsTheRowInEveryType) {
  for (const char* type : {"float16", "int8", "uint8", "binary", "ubinary"}) {
    run_.run({"--normalize", "--output-dtype", type, "--fresh"});
    const std::vector<Json> found = run_.hits({SearchedRun::rows()[3]});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0]["output_dtype"], type);
    EXPECT_EQ(found[0]["similarity"], std::string(type) == "float16" ? "cosine" : "dot");
    EXPECT_THAT(found[0]["hits"], SizeIs(10));
    EXPECT_EQ(found[0]["hits"][0]["text"], SearchedRun::rows()[3]) << type;
  }
}

// The options of the run come from the manifest, so they need not be given again.
TEST_F(Search, TakesTheOptionsOfTheRun) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--pooling", "cls", "--prompt", "a "},
        {"--pooling", "max", "--normalize", "--truncate-dim", "7", "--max-length", "9"},
        {"--no-normalize", "--dtype", "bfloat16"}}) {
    std::vector<std::string> fresh = options;
    fresh.emplace_back("--fresh");
    run_.run(fresh);
    const Json found = run_.hits({"-k", "1", SearchedRun::rows()[8]}).at(0);
    EXPECT_EQ(found["hits"][0]["row"], 8);
    EXPECT_EQ(found["hits"][0]["score"], 1.0);
    EXPECT_EQ(found["prompt"], options[1] == "cls" ? "a " : "");
  }
}

TEST_F(Search, QueriesComeFromAFileAndFromStandardInput) {
  run_.run();
  const std::string file = run_.dir().write("queries.txt", "zebra\nthe end\n");
  std::vector<std::string> words = {"--matrix", run_.matrix(), "--model", run_.model(),
                                    "-k",       "1",           "--json"};
  const std::string piped = run_.search(words, "zebra\nthe end\n").out;
  words.insert(words.end(), {"--queries", file});
  const ProgramEnd end = run_.search(words);
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(end.out, piped);
  EXPECT_THAT(end.out, HasSubstr("\"query\":\"zebra\""));
  EXPECT_THAT(end.out, HasSubstr("\"query\":\"the end\""));
  EXPECT_THAT(left_over(), IsEmpty());
}

TEST_F(Search, TheTableHasTheTexts) {
  run_.run();
  const ProgramEnd end =
      run_.search({"--matrix", run_.matrix(), "--model", run_.model(), "-k", "3", "open the file"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("out.npy: 10 rows of 64 float32 numbers, score: cosine\n"));
  EXPECT_THAT(end.out, HasSubstr("    1.0000    1  open the file\n"));
  EXPECT_THAT(end.err, IsEmpty());
}

TEST_F(Search, TheMatrixAloneIsEnough) {
  run_.run();
  const std::vector<std::string> options = {"-k", "1", "--device", "cpu", "open the file"};
  std::vector<std::string> word = {run_.matrix()};
  word.insert(word.end(), options.begin(), options.end());
  std::vector<std::string> flag = word;
  flag.insert(flag.begin(), "--matrix");
  for (const std::vector<std::string>& words : {word, flag}) {
    const ProgramEnd end = run_.search(words);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_THAT(end.out, HasSubstr("    1.0000    1  open the file\n"));
  }
  const ProgramEnd piped = run_.search({run_.matrix(), "--device", "cpu"}, "zebra\nthe end\n");
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_THAT(piped.out, HasSubstr("the end"));
}

// Such a row has the vector of the special tokens, which can be the nearest one of all.
TEST_F(Search, ARowWithoutTextIsNeverFound) {
  run_.run({"--input", run_.dir().write("some.txt", "zebra\n\nthe end\n\n")});
  const ProgramEnd end = run_.search({run_.matrix(), "--device", "cpu", "zebra"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("note: 2 rows are left out, with an empty text"));
  EXPECT_THAT(end.out, HasSubstr("    0  zebra\n"));
  EXPECT_THAT(end.out, HasSubstr("    2  the end\n"));
  EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), 5);
  const Json json = run_.hits({"zebra"}).at(0);
  EXPECT_EQ(json["left_out_rows"], 2);
  EXPECT_EQ(json["hits"].size(), 2U);
}

TEST_F(Search, AConfigNamesTheMatrixTheModelAndTheTexts) {
  const std::string config = run_.dir().write(
      "c.yaml",
      "semantic:\n  model: " + run_.model() + "\n  cache_dir: " + run_.dir().file("cache") +
          "\nhardware:\n  device: cpu\ndata:\n  splits:\n" +
          "    train:\n      tc: " + run_.texts() + "\n      two: " + run_.texts() + "\n");
  ASSERT_EQ(Program(run_.dir().path(), {"run", "--config", config}).wait().exit_code, 0);
  for (const char* stream : {"tc", "train_tc"}) {
    const ProgramEnd end =
        run_.search({"--config", config, "--stream", stream, "-k", "1", "dates"});
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_THAT(end.out, HasSubstr("1.0000    6  dates\n"));
  }
}

// The texts are found by rows in several files too.
TEST_F(Search, TextsOfSeveralFiles) {
  const std::string a =
      run_.dir().write("part-a.jsonl", "{\"text\":\"one\"}\n{\"text\":\"two\"}\n");
  const std::string b = run_.dir().write("part-b.jsonl", "{\"text\":\"three\"}\n");
  run_.run({"--input", run_.dir().file("part-*.jsonl"), "--field", "text"});
  EXPECT_EQ(run_.hits({"three"}).at(0)["hits"][0]["text"], "three");
  std::filesystem::rename(b, run_.dir().file("moved.jsonl"));
  const Json found =
      run_.hits({"--texts", a, "--texts", run_.dir().file("moved.jsonl"), "three"}).at(0);
  EXPECT_EQ(found["hits"][0]["text"], "three");
  EXPECT_EQ(found["hits"][0]["row"], 2);
}

// The manifest has the path as the run was given it. It is looked for in the current directory, in
// the directory of the run, and beside the matrix. A file of this name with another size is passed
// over.
TEST_F(Search, ARelativePathOfTheTextsIsFoundFromEveryFolder) {
  const std::string work = run_.dir().file("work");
  std::filesystem::create_directory(work);
  std::filesystem::copy(run_.texts(), work + "/rows.txt");
  const auto encode_in = [&](const std::string& folder, std::vector<std::string> words) {
    const auto enter = [&folder] { std::filesystem::current_path(folder); };
    return Program(run_.dir().path(), std::move(words), {}, enter).wait();
  };
  const ProgramEnd made = encode_in(work, {"run", "--model", run_.model(), "--device", "cpu",
                                           "--input", "rows.txt", "--output", "out.npy"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  run_.dir().write("other/rows.txt", "something else\n");
  for (const char* folder : {"work", "other", "."}) {
    const ProgramEnd end = encode_in(run_.dir().file(folder), {"search", work + "/out.npy", "zebra",
                                                               "--device", "cpu", "-k", "1"});
    EXPECT_EQ(end.exit_code, 0) << folder << end.err;
    EXPECT_THAT(end.out, HasSubstr("1.0000    5  zebra\n")) << folder;
  }
  std::filesystem::rename(work, run_.dir().file("moved"));
  const std::string matrix = run_.dir().file("moved/out.npy");
  EXPECT_EQ(encode_in("/", {"search", matrix, "zebra", "--device", "cpu"}).exit_code, 0);
  std::filesystem::remove(run_.dir().file("moved/rows.txt"));
  const ProgramEnd missing = encode_in("/", {"search", matrix, "zebra", "--device", "cpu"});
  EXPECT_EQ(missing.exit_code, 66);
  EXPECT_THAT(missing.err, HasSubstr("no file 'rows.txt' in /, "));
  EXPECT_THAT(missing.err, HasSubstr(run_.dir().file("moved")));
}

TEST_F(Search, EachTextIsAQueryOfItsOwn) {
  run_.run();
  const std::vector<Json> found = run_.hits({"-k", "1", "zebra", "open the file"});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0]["hits"][0]["text"], "zebra");
  EXPECT_EQ(found[1]["hits"][0]["text"], "open the file");
}

TEST_F(Search, ATableShowsItsColumns) {
  const std::string csv = run_.dir().write("t.csv", "id,text\nx-1,zebra\nx-2,the end\n");
  const std::string table = run_.dir().file("t.parquet");
  const ProgramEnd made =
      Program(run_.dir().path(), {"run", "--model", run_.model(), "--device", "cpu", "--input", csv,
                                  "--field", "text", "--output", table, "--columns", "text,id"})
          .wait();
  if (made.err.find("arrow.plugin") != std::string::npos) GTEST_SKIP() << "no Arrow plugin";
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const ProgramEnd end = run_.search({table, "--device", "cpu", "-k", "1", "the end"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("row  id   text\n"));
  EXPECT_THAT(end.out, HasSubstr("  1  x-2  the end\n"));
}

TEST_F(Search, ALongQueryIsCutAndTheReportSaysSo) {
  run_.run({"--max-length", "6"});
  const ProgramEnd end = run_.search(
      {"--matrix", run_.matrix(), "--model", run_.model(), "-k", "1", "number of files and more"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("text beyond the model's limit was cut from 1 of 1 query\n"));
}

// The directory has the prompts "query" and "document", and the similarity dot.
class SearchPrompts : public ::testing::Test {
 protected:
  ProgramEnd encode(std::vector<std::string> words) const {
    words.insert(words.end(), {"--model", model_, "--device", "cpu"});
    return Program(dir_.path(), words).wait();
  }
  Json search(std::vector<std::string> words) const {
    words.insert(words.begin(), {"search", "--matrix", dir_.file("out.npy"), "--json", "-k", "1"});
    words.emplace_back("parse a date");
    const ProgramEnd end = encode(words);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return Json::parse(end.out);
  }

  const TempDir dir_;
  const std::string model_ = test_data("sentence_transformers/prompts");
};

TEST_F(SearchPrompts, TheQueryPromptOfTheModelIsUsedUnlessAnotherIsChosen) {
  dir_.write("texts.txt", "parse a date\nfind this parse a date\nsome other words\n");
  ASSERT_EQ(encode({"run", "--input", dir_.file("texts.txt"), "--output", dir_.file("out.npy"),
                    "--prompt-name", "document", "--no-progress"})
                .exit_code,
            0);
  const Json usual = search({});
  EXPECT_EQ(usual["prompt"], "find this ");
  EXPECT_EQ(usual["similarity"], "dot");
  const Json named = search({"--prompt-name", "document"});
  EXPECT_EQ(named["prompt"], "");
  const Json literal = search({"--prompt", "other "});
  EXPECT_EQ(literal["prompt"], "other ");
  EXPECT_NE(usual["hits"][0]["score"], named["hits"][0]["score"]);
  EXPECT_NE(usual["hits"][0]["score"], literal["hits"][0]["score"]);
  const ProgramEnd unknown = encode(
      {"search", "--matrix", dir_.file("out.npy"), "--prompt-name", "passage", "parse a date"});
  EXPECT_EQ(unknown.exit_code, 78);
  EXPECT_THAT(unknown.err, HasSubstr("error[model.prompt_name]"));
}

TEST(SearchMiniLm, TheVectorsMeanSomething) {
  const std::string model = source_file(".deps/models/all-MiniLM-L6-v2");
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no demo model: run scripts/models.sh";
  const TempDir dir;
  dir.write("texts.txt",
            "The cat sleeps on the sofa.\nThe price of oil fell again.\nHe fixed the compiler.\n");
  ASSERT_EQ(Program(dir.path(), {"run", "--model", model, "--input", dir.file("texts.txt"),
                                 "--output", dir.file("out.npy"), "--device", "cpu"})
                .wait()
                .exit_code,
            0);
  const ProgramEnd end =
      Program(dir.path(), {"search", "--matrix", dir.file("out.npy"), "--model", model, "--device",
                           "cpu", "--json", "a pet at home", "energy markets", "software bugs"})
          .wait();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  std::istringstream out(end.out);
  int row = 0;
  for (std::string line; std::getline(out, line); ++row)
    EXPECT_EQ(Json::parse(line)["hits"][0]["row"], row) << line;
  EXPECT_EQ(row, 3);
}

// A passage of an empty field has the other fields of its template around it, so it is found,
// whether or not another row is empty.
TEST_F(Search, APassageOfAnEmptyFieldIsFoundAndARowWithoutTextIsNot) {
  for (const bool with_empty_row : {false, true}) {
    std::string lines = R"({"title":"zebra","body":"parse a date"})"
                        "\n"
                        R"({"title":"dates","body":""})"
                        "\n";
    if (with_empty_row)
      lines += R"({"title":"","body":""})"
               "\n";
    const std::string path = run_.dir().write("fields.jsonl", lines);
    run_.run({"--input", path, "--text", "{title}{body}", "--passage-tokens", "20",
              "--passage-field", "body", "--fresh"});
    const Json found = run_.hits({"-k", "5", "dates"}).at(0);
    EXPECT_EQ(found["left_out_rows"], with_empty_row ? 1 : 0);
    ASSERT_THAT(found["hits"], SizeIs(2));
    EXPECT_EQ(found["hits"][0]["input_row"], 1);
    EXPECT_EQ(found["hits"][0]["text"], "");
    EXPECT_EQ(found["hits"][1]["text"], "parse a date");
    const ProgramEnd shown = run_.search({"--matrix", run_.matrix(), "--device", "cpu", "dates"});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_THAT(shown.out, HasSubstr("(the field is empty)"));
  }
}

// The file of passages of another matrix has the same size, and other places.
TEST_F(Search, AnotherFileOfPassagesIsRefused) {
  const std::string path = run_.dir().write("long.txt", "one two. three. four\n");
  run_.run({"--input", path, "--passage-tokens", "14"});
  const std::string places = passages_path(run_.matrix());
  EXPECT_EQ(run_.hits({"-k", "1", "three. "}).at(0)["hits"][0]["input_row"], 0);
  std::string bytes = read_bytes(places);
  bytes[bytes.size() - 1 - 5 * sizeof(int64_t)] ^= 1;
  for (const bool is_gone : {false, true}) {
    is_gone ? static_cast<void>(std::filesystem::remove(places))
            : static_cast<void>(run_.dir().write("out.passages.npy", bytes));
    const ProgramEnd end = run_.search({"--matrix", run_.matrix(), "--device", "cpu", "three"});
    EXPECT_EQ(end.exit_code, 65) << end.err;
    EXPECT_THAT(end.err, HasSubstr("error[store.damaged]"));
    EXPECT_THAT(end.err, HasSubstr("out.passages.npy"));
  }
}

TEST_F(Search, AMergedMatrixGivesTheHitsOfOneRun) {
  run_.run({"--normalize"});
  const auto encode = [&](std::vector<std::string> command) {
    const std::vector<std::string> flags = {"--model",     run_.model(),
                                            "--input",     run_.texts(),
                                            "--output",    run_.dir().file("parts.npy"),
                                            "--cache-dir", run_.dir().file("cache"),
                                            "--normalize", "--device",
                                            "cpu"};
    command.insert(command.end(), flags.begin(), flags.end());
    const ProgramEnd end = Program(run_.dir().path(), std::move(command)).wait();
    ASSERT_EQ(end.exit_code, 0) << end.err;
  };
  encode({"shards", "plan", "--shards", "3"});
  for (const char* shard : {"0/3", "1/3", "2/3"}) encode({"run", "--shard", shard});
  encode({"merge"});
  const std::vector<std::string> queries = {"a date", "number", SearchedRun::rows()[7]};
  const std::vector<Json> expected = run_.hits(queries);
  std::vector<std::string> words = {run_.dir().file("parts.parts.json"), "--json", "--device",
                                    "cpu"};
  words.insert(words.end(), queries.begin(), queries.end());
  const ProgramEnd end = run_.search(words);
  ASSERT_EQ(end.exit_code, 0) << end.err;
  std::istringstream lines(end.out);
  size_t i = 0;
  for (std::string line; std::getline(lines, line); ++i) {
    ASSERT_LT(i, expected.size());
    EXPECT_EQ(Json::parse(line)["hits"], expected[i]["hits"]);
  }
  EXPECT_EQ(i, queries.size());
}

}  // namespace
}  // namespace encode::testing
