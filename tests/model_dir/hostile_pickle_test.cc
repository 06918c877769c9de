// Tests attacks on pytorch_model.bin, one test for each attack. Some are public: picklescan's
// GHSA-w8jq-xcqf-f792 (flags of a zip entry) and GHSA-7q5r-7gvp-wc82 (two names of an entry),
// torch's CVE-2026-24747 (SETITEM on other objects, and a storage of another size).
#include <functional>

#include <gtest/gtest.h>

#include "tiny_model.h"
#include "torch_file_writer.h"

namespace encode {
namespace {

using namespace std::string_literals;
using testing::Expected;
using testing::pickled_dict;
using testing::pickled_global;
using testing::pickled_int;
using testing::pickled_storage;
using testing::pickled_tensor;
using testing::pickled_text;
using testing::pickled_tuple;
using testing::TinyModel;
using testing::torch_file;
using testing::zip_bytes;
using testing::ZipPart;

struct Attack {
  std::string name;
  std::function<std::string()> file;  // makes the bytes of pytorch_model.bin
  Expected expected;
};

Expected pickle_error(std::string found) {
  return {"model.pickle", "something that encode does not read", "no code", std::move(found)};
}

// Returns a function that makes a file whose dict has `value`.
std::function<std::string()> file_of(const std::string& value) {
  return [value] { return torch_file(pickled_dict(value)); };
}

std::string storage() { return pickled_storage("FloatStorage", "0", 6); }
std::string tensor() { return pickled_tensor(storage(), 0, {2, 3}, {3, 1}); }

std::string repeat(std::string_view text, size_t count) {
  std::string out;
  out.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

std::string call_system(const std::string& global) {
  return global + "(" + pickled_text("touch /tmp/owned") + "tR";
}

// Code that Python's pickle would run.
std::vector<Attack> code_attacks() {
  const std::string ordered = pickled_global("collections", "OrderedDict");
  return {
      {"GlobalOfOs", file_of(call_system(pickled_global("os", "system"))),
       pickle_error("the global 'os.system', at byte ")},
      {"StackGlobalOfPosix",
       file_of(call_system(pickled_text("posix") + pickled_text("system") + "\x93")),
       pickle_error("the global 'posix.system'")},
      {"GlobalWithControlCharacters", file_of(pickled_global("os\x1b[2J", "sys\xff")),
       pickle_error(R"('os\x1b[2J.sys\xff')")},
      {"AllowedNameOfAnotherModule", file_of(pickled_global("torch._utils", "FloatStorage")),
       pickle_error("'torch._utils.FloatStorage'")},
      {"GlobalOfBuiltins", file_of(call_system(pickled_global("builtins", "getattr"))),
       pickle_error("'builtins.getattr'")},
      {"Inst", file_of("(ios\nsystem\n"), pickle_error("the opcode INST (0x69)")},
      {"Obj", file_of("(" + ordered + "o"), pickle_error("the opcode OBJ (0x6f)")},
      {"NewObj", file_of(ordered + ")\x81"), pickle_error("the opcode NEWOBJ (0x81)")},
      {"NewObjEx", file_of(ordered + ")}\x92"), pickle_error("NEWOBJ_EX (0x92)")},
      {"Extension", file_of("\x82\x01"), pickle_error("the opcode EXT1 (0x82)")},
      {"TextOfAPersistentId", file_of("Pstorage\n"), pickle_error("the opcode PERSID (0x50)")},
      {"UnknownOpcode", file_of("\xfe"), pickle_error("an unknown opcode (0xfe)")},
      {"CallOfAStorageType", file_of(pickled_global("torch", "FloatStorage") + ")R"),
       pickle_error("a call of the global 'torch.FloatStorage'")},
      {"CallOfATensor", file_of(tensor() + ")R"), pickle_error("a call of a tensor")},
      {"CallWithAList", file_of(ordered + "]R"), pickle_error("a call of the global")},
      {"OrderedDictOfValues", file_of(ordered + "]\x85R"), pickle_error("made from values")},
      {"StateOfATensor", file_of(tensor() + "}" + pickled_text("_metadata") + "Nsb"),
       pickle_error("BUILD ('b') of a tensor")},
      {"StateWithOtherAttributes", file_of(ordered + ")R}" + pickled_text("__class__") + "Nsb"),
       pickle_error("other attributes than _metadata")},
      {"StateThatIsATuple", file_of(ordered + ")R)b"), pickle_error("BUILD")},
      {"HooksOfATensor",
       file_of(pickled_global("torch._utils", "_rebuild_tensor_v2") + "(" + storage() +
               pickled_int(0) + pickled_tuple({6}) + pickled_tuple({1}) + "\x89}" +
               pickled_text("hook") + "NstR"),
       pickle_error("arguments that _rebuild_tensor_v2 does not take")},
  };
}

// Values of a wrong kind.
std::vector<Attack> value_attacks() {
  return {
      {"ItemSetInATensor", file_of(tensor() + "NNs"), pickle_error("added to a tensor")},
      {"ItemsSetInATuple", file_of(")(NNu"), pickle_error("added to a tuple")},
      {"KeyWithoutValue", file_of("}(Nu"), pickle_error("added to a dict")},
      {"ItemAppendedToADict", file_of("}Na"), pickle_error("items that are added to a dict")},
      {"ListUnderAName", file_of("]"), pickle_error("a list under the name 't'")},
      {"NumberAsAName", [] { return torch_file("\x80\x02}K\x05" + tensor() + "s."); },
       pickle_error("the integer 5 instead of a name")},
      {"NameThatIsNotUtf8",
       [] { return torch_file("\x80\x02}" + pickled_text("\xff") + tensor() + "s."); },
       pickle_error(R"('\xff' instead of a name)")},
      {"NameTwice",
       [] {
         const std::string entry = pickled_text("t") + tensor();
         return torch_file("\x80\x02}(" + entry + entry + "u.");
       },
       pickle_error("the name 't' twice")},
      {"TensorAlone", [] { return torch_file("\x80\x02" + tensor() + "."); },
       pickle_error("a tensor as the whole")},
      {"NoTensor", [] { return torch_file("\x80\x02}."); }, pickle_error("no tensor")},
      {"ProtocolOfTheFuture", [] { return torch_file("\x80\x06}."); },
       pickle_error("the protocol 6")},
      {"NegativeSize", file_of(pickled_tensor(storage(), 0, {-2, 3}, {3, 1})),
       pickle_error("the integer -2 in a shape or strides")},
      {"NegativeStride", file_of(pickled_tensor(storage(), 0, {2, 3}, {3, -1})),
       pickle_error("the integer -1 in a shape or strides")},
      {"NegativeOffset", file_of(pickled_tensor(storage(), -1, {2, 3}, {3, 1})),
       pickle_error("the offset -1")},
      {"FewerStridesThanSizes", file_of(pickled_tensor(storage(), 0, {2, 3}, {1})),
       pickle_error("2 dimensions, 1 strides")},
      {"RankOfNine",
       file_of(
           pickled_tensor(storage(), 0, {1, 1, 1, 1, 1, 1, 1, 1, 6}, {6, 6, 6, 6, 6, 6, 6, 6, 1})),
       pickle_error("a tuple instead of a tuple of at most 8 numbers")},
      {"ReferenceThatIsNoStorage", file_of(pickled_text("storage") + "\x85Q"),
       pickle_error("BINPERSID")},
      {"QuantizedStorage", file_of(pickled_storage("QInt8Storage", "0", 24)),
       pickle_error("'torch.QInt8Storage'")},
  };
}

// More than the limits allow, and ends that are missing.
std::vector<Attack> size_attacks() {
  return {
      {"BillionLaughs",
       [] {
         std::string bomb = "]q\1(" + repeat("N", 10) + "e";
         for (int depth = 2; depth < 200; ++depth) {
           const auto from = static_cast<char>(depth - 1);
           bomb += "]q"s + static_cast<char>(depth) + "(" + repeat("h"s + from, 10) + "e";
         }
         return torch_file("\x80\x02" + bomb + ".");
       },
       pickle_error("left over")},
      {"ListInItself", file_of("]q\1h\1a"), pickle_error("a list under the name 't'")},
      {"HugeUnicode", file_of("\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"),
       pickle_error("9223372036854775807 bytes where")},
      {"UnicodeThatWraps", file_of("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"),
       pickle_error("18446744073709551615 bytes where")},
      {"HugeFrame", file_of("\x95\xff\xff\xff\xff\xff\xff\xff\xff"), pickle_error("a frame of")},
      {"IntegerOf255Bytes", file_of("\x8a\xff" + std::string(255, '\1')),
       pickle_error("an integer of 255 bytes")},
      {"SparseMemo", file_of("Nr\xff\xff\xff\xff"), pickle_error("the memo 4294967295")},
      {"EmptyMemo", file_of("h\7"), pickle_error("the memo 7, which is empty")},
      {"EmptyStack", [] { return torch_file("\x80\x02s."); }, pickle_error("needs more values")},
      {"NoMark", [] { return torch_file("\x80\x02Nt."); }, pickle_error("needs a mark")},
      {"ValuesBelowAMark", [] { return torch_file("\x80\x02NN(\x86."); },
       pickle_error("needs more values")},
      {"AMillionMarks", [] { return torch_file("\x80\x02" + repeat("(", 1'000'000)); },
       pickle_error("more than 1024 marks")},
      {"AMillionValues", [] { return torch_file("\x80\x02" + repeat("N", 1'000'000)); },
       pickle_error("more than 262144 values on the stack")},
      {"ObjectsWithoutEnd", [] { return torch_file("\x80\x02" + repeat("])\x86", 600'000)); },
       pickle_error("more than ")},
      {"NoEnd", [] { return torch_file("\x80\x02}"); }, pickle_error("1 bytes where 0 are left")},
      {"BytesAfterTheEnd", [] { return torch_file(pickled_dict(tensor()) + "cos\nsystem\n)R."); },
       pickle_error("bytes left over")},
      {"GlobalWithoutLineFeed", file_of("cos"), pickle_error("a line without an end")},
  };
}

Expected offsets_error(std::string what, std::string found) {
  return {"model.offsets", std::move(what), "", std::move(found)};
}

// Storages and tensors that are not where the pickle says.
std::vector<Attack> place_attacks() {
  const auto tensor_of = [](std::string_view type, std::string_view key, int64_t elements) {
    return file_of(pickled_tensor(pickled_storage(type, key, elements), 0, {2, 3}, {3, 1}));
  };
  return {
      {"StorageLargerThanItsRecord", tensor_of("FloatStorage", "0", 7),
       offsets_error("not the record", "24 bytes")},
      {"StorageSmallerThanItsRecord", tensor_of("FloatStorage", "0", 5),
       offsets_error("not the record", "24 bytes")},
      {"StorageOfAnotherType", tensor_of("DoubleStorage", "0", 6),
       offsets_error("not the record", "24 bytes")},
      {"StorageOf2To62Elements", tensor_of("FloatStorage", "0", int64_t{1} << 62),
       offsets_error("not the record", "24 bytes")},
      {"StorageThatIsNotThere", tensor_of("FloatStorage", "1", 6),
       offsets_error("not the record", "no such entry")},
      {"KeyThatLeadsOut", tensor_of("FloatStorage", "../data.pkl", 6),
       offsets_error("not the record", "no such entry")},
      {"AbsoluteKey", tensor_of("FloatStorage", "/etc/passwd", 6),
       offsets_error("not the record", "no such entry")},
      {"TensorBeyondItsStorage", file_of(pickled_tensor(storage(), 1, {2, 3}, {3, 1})),
       offsets_error("after the end of its storage", "[2, 3]")},
      {"OffsetNearTheIntegerLimit", file_of(pickled_tensor(storage(), INT64_MAX, {2, 3}, {3, 1})),
       offsets_error("after the end of its storage", "[2, 3]")},
      {"ShapeThatWraps",
       file_of(pickled_tensor(storage(), 0, {4194305, 4194305, 211106198978564}, {1, 1, 1})),
       {"model.shape", "impossible shape", "2^63", "4194305"}},
      {"StridesThatWrap",
       file_of(pickled_tensor(storage(), 0, {2, 3}, {int64_t{1} << 62, int64_t{1} << 62})),
       offsets_error("gaps or repeated elements", "4611686018427387904")},
      {"RepeatedElements", file_of(pickled_tensor(storage(), 0, {2, 3}, {0, 1})),
       offsets_error("gaps or repeated elements", "strides [0, 1]")},
      {"Gaps", file_of(pickled_tensor(storage(), 0, {2, 2}, {3, 1})),
       offsets_error("gaps or repeated elements", "strides [3, 1]")},
      {"NoElement",
       file_of(pickled_tensor(storage(), 0, {0}, {1})),
       {"model.shape", "impossible shape", "1 to 2^40", "[0]"}},
  };
}

Expected zip_error(std::string what, std::string found) {
  return {"model.zip", std::move(what), "", std::move(found)};
}

std::function<std::string()> archive(std::vector<ZipPart> more) {
  return [more] {
    std::vector<ZipPart> parts = {{"m/data.pkl", pickled_dict(tensor())},
                                  {"m/data/0", std::string(24, '\1')}};
    parts.insert(parts.end(), more.begin(), more.end());
    return zip_bytes(parts);
  };
}

std::vector<Attack> zip_attacks() {
  const std::string storage_bytes(24, '\1');
  const auto with_storage = [](ZipPart part) {
    return [part] { return zip_bytes({{"m/data.pkl", pickled_dict(tensor())}, part}); };
  };
  return {
      {"CompressedEntry", with_storage({.name = "m/data/0", .content = storage_bytes, .method = 8}),
       zip_error("is compressed", "'m/data/0'")},
      {"EncryptedEntry", with_storage({.name = "m/data/0", .content = storage_bytes, .flags = 1}),
       zip_error("encrypted or damaged", "flags 0x1")},
      {"OtherNameBeforeTheData",
       with_storage({.name = "m/data/0", .content = storage_bytes, .local_name = "m/data/9"}),
       zip_error("disagrees with the directory", "'m/data/9'")},
      {"NoHeaderBeforeTheData",
       with_storage({.name = "m/data/0", .content = storage_bytes, .directory_shift = 4}),
       zip_error("disagrees with the directory", "no header")},
      {"TwoNamesForTheSameBytes",
       [] {
         // The second header is inside the content of the first entry.
         const std::string inner = zip_bytes({{"m/data/1", std::string(24, '\1')}});
         const ZipPart outer = {"m/data/0", inner.substr(0, inner.find("PK\1\2"))};
         const auto back = -static_cast<int64_t>(outer.content.size());
         std::string file = zip_bytes(
             {{"m/data.pkl", pickled_dict(tensor())},
              outer,
              {.name = "m/data/1", .content = std::string(24, '\1'), .directory_shift = back}});
         return file;
       },
       zip_error("entries of the zip archive overlap", "")},
      {"BytesBetweenEntries",
       with_storage({.name = "m/data/0", .content = storage_bytes, .before = "hidden"}),
       zip_error("belong to no entry", "")},
  };
}

// Names, entries and files that torch.save() does not write.
std::vector<Attack> entry_attacks() {
  return {
      {"TwoEntriesOfOneName", archive({{"m/data/0", std::string(24, '\2')}}),
       zip_error("two entries of one name", "'m/data/0' again")},
      {"TwoPickles", archive({{"m/data.pkl", "N."}}),
       zip_error("two entries of one name", "'m/data.pkl' again")},
      {"NameThatLeadsOut", archive({{"m/../../evil", "x"}}),
       zip_error("a name that is not allowed", "'m/../../evil'")},
      {"AbsoluteName", archive({{"/etc/passwd", "x"}}),
       zip_error("a name that is not allowed", "'/etc/passwd'")},
      {"NameWithABackslash", archive({{"m\\data", "x"}}), zip_error("not allowed", "")},
      {"NameWithAnEscape", archive({{"m/\x1b[2J", "x"}}), zip_error("not allowed", R"(\x1b[2J)")},
      {"SecondFolder", archive({{"n/data.pkl", "x"}}),
       zip_error("not in one folder", "'n/data.pkl' beside 'm/data.pkl'")},
      {"UnknownEntry", archive({{"m/extra.py", "x"}}),
       zip_error("an entry that torch.save() does not write", "'extra.py'")},
      {"BigEndian", archive({{"m/byteorder", "big"}}),
       zip_error("another byte order", "'big' in the entry byteorder")},
      {"NoPickle",
       [] {
         return zip_bytes({{"m/version", "3\n"}});
       },
       zip_error("no pickle that can be read", "no entry data.pkl")},
      {"PickleOf17Mebibytes",
       [] {
         return zip_bytes({{"m/data.pkl", std::string(17 << 20, 'N')}});
       },
       zip_error("no pickle that can be read", "17825792 bytes")},
      {"CommentAtTheEnd", [] { return torch_file(pickled_dict(tensor())) + "PK"; },
       zip_error("damaged or cut off", "no end record")},
      {"BytesBeforeTheArchive", [] { return "MZ" + torch_file(pickled_dict(tensor())); },
       zip_error("not one of torch.save()", "'MZPK")},
      {"GitLfsPointer",
       [] { return "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"s; },
       zip_error("not a file of weights", "a Git LFS pointer")},
      {"WebPage", [] { return "<!doctype html><html></html>"s; },
       zip_error("not one of torch.save()", "'<!doctype")},
      {"EmptyFile", [] { return ""s; }, zip_error("not one of torch.save()", "''")},
  };
}

std::string attack_name(const ::testing::TestParamInfo<Attack>& info) { return info.param.name; }
void PrintTo(const Attack& attack, std::ostream* out) { *out << attack.name; }

class HostilePickle : public ::testing::TestWithParam<Attack> {};

TEST_P(HostilePickle, IsRefused) {
  const TinyModel model;
  model.remove("model.safetensors");
  model.write("pytorch_model.bin", GetParam().file());
  testing::expect_refused([&model] { model.open(); }, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Code, HostilePickle, ::testing::ValuesIn(code_attacks()), attack_name);
INSTANTIATE_TEST_SUITE_P(Value, HostilePickle, ::testing::ValuesIn(value_attacks()), attack_name);
INSTANTIATE_TEST_SUITE_P(Size, HostilePickle, ::testing::ValuesIn(size_attacks()), attack_name);
INSTANTIATE_TEST_SUITE_P(Place, HostilePickle, ::testing::ValuesIn(place_attacks()), attack_name);
INSTANTIATE_TEST_SUITE_P(Zip, HostilePickle, ::testing::ValuesIn(zip_attacks()), attack_name);
INSTANTIATE_TEST_SUITE_P(Entry, HostilePickle, ::testing::ValuesIn(entry_attacks()), attack_name);

TEST(PickledFile, CutAtAnyByteIsRefused) {
  const std::string file = torch_file(pickled_dict(tensor()));
  const TinyModel model;
  model.remove("model.safetensors");
  model.write("pytorch_model.bin", file);
  EXPECT_EQ(model.open().tensors.size(), 1u);
  for (size_t size = 0; size < file.size(); ++size) {
    model.write("pytorch_model.bin", file.substr(0, size));
    EXPECT_THROW(model.open(), Error) << size << " of " << file.size() << " bytes";
  }
}

// Whatever a byte becomes, the result is an Error, or the tensor lies inside the file.
TEST(PickledFile, AnyChangedByteIsRefusedOrHarmless) {
  const std::string file = torch_file(pickled_dict(tensor()));
  const TinyModel model;
  model.remove("model.safetensors");
  for (size_t place = 0; place < file.size(); ++place) {
    for (const char byte : {'\x7f', '\xff'}) {
      std::string changed = file;
      changed[place] = byte;
      model.write("pytorch_model.bin", changed);
      try {
        for (const auto& [name, info] : model.open().tensors) {
          EXPECT_GE(info.offset_bytes, 0);
          EXPECT_LE(info.offset_bytes + info.size_bytes, static_cast<int64_t>(file.size()));
        }
      } catch (const Error& error) {
        EXPECT_TRUE(error.detail().code) << place;
      }
    }
  }
}

}  // namespace
}  // namespace encode
