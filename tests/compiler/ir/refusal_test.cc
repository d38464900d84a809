#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"

namespace msc {
namespace {

struct BadText {
  std::string label;
  std::string text;
  std::string message;
};

void PrintTo(const BadText& bad, std::ostream* out) {
  *out << bad.label;
}

class BadTexts : public testing::TestWithParam<BadText> {};

TEST_P(BadTexts, AreRefusedWithTheirPlace) {
  try {
    (void)ParseGraph(GetParam().text);
    FAIL() << "was read";
  } catch (const UserError& error) {
    EXPECT_EQ(error.what(), "graph text, " + GetParam().message);
  }
}

std::string Nested(int depth) {
  std::string text = "graph g {";
  for (int i = 0; i < depth; ++i) text += "() = Loop() {b = graph g {";
  for (int i = 0; i < depth; ++i) text += "}}";
  return text + "}";
}

const std::vector<BadText>& Bad() {
  static const std::vector<BadText> kBad = {
      {"Empty", "", "1:1: expected graph, found the end"},
      {"NoBrace", "graph g", "1:8: expected '{', found the end"},
      {"NoEnd", "graph g {\n  input %x",
       "2:11: expected a statement (meta, input, captured, const, %value = ..., output) or '}', "
       "found the end"},
      {"Rest", "graph g {} x", "1:12: expected the end, found 'x'"},
      {"OddCharacter", "graph g { ! }", "1:11: no word of the text form starts with \"!\""},
      {"OpenText", "graph g { meta \"a", "1:16: this text has no closing quote on its line"},
      {"Escape", "graph g { meta \"\\q\" = \"\" }",
       "1:17: unknown escape; known are \\n, \\t, \\\", \\\\ and \\xHH"},
      {"TwoNames", "graph g { input %x\n input %x }", "2:8: value name 'x' is used twice"},
      {"TwoNodes", "graph g { %a = A() @n %b = B() @n }", "1:23: node name 'n' is used twice"},
      {"UnknownValue", "graph g { %a = A(%b) }", "1:18: value %b is not known here"},
      {"UnknownOutput", "graph g { output %\"b c\" }", "1:18: value %\"b c\" is not known here"},
      {"DType", "graph g { input %x : f33[1] }",
       "1:22: expected an element type such as f32 or i64, found 'f33'"},
      {"NegativeDim", "graph g { input %x : f32[-1] }", "1:26: a dimension is not negative"},
      {"HugeDim", "graph g { input %x : f32[99999999999999999999] }",
       "1:26: '99999999999999999999' is no 64-bit integer"},
      {"Unbound", "graph g { const %x : f32[n] = [1] }",
       "1:22: a constant needs a tensor type with a number for every dimension, not f32[n]"},
      {"TooFew", "graph g { const %x : f32[3] = [1, 2] }", "1:31: a list for [3] has 3 values"},
      {"TooMany", "graph g { const %x : f32[1] = [1, 2] }", "1:31: a list for [1] has 1 values"},
      {"ClaimedSize", "graph g { const %x : f32[1000000000000] = [1] }",
       "1:43: a list for [1000000000000] has 1000000000000 values"},
      {"ClaimedSplat", "graph g { const %x : f32[1000000000] = splat 1 }",
       "1:40: splat and random may make 64 MiB in all"},
      {"ClaimedHex", "graph g { const %x : f32[1000000000] = hex \"00\" }",
       "1:40: f32[1000000000] takes 8000000000 hex digits, not 2"},
      {"Overflow", "graph g { const %x : f32[4294967296,4294967296] = [1] }",
       "1:51: a tensor has more than 2^40 elements"},
      {"BadHex", "graph g { const %x : u8[1] = hex \"0g\" }", "1:30: hex digits are 0-9 and a-f"},
      {"DoesNotFit", "graph g { const %x : i8[1] = [128] }", "1:31: '128' is no i8"},
      {"NotInteger", "graph g { const %x : i32[1] = [1.5] }", "1:32: '1.5' is no i32"},
      {"Elided", "graph g { const %x : f32[9] = ... }",
       "1:31: these values were left out when the graph was printed for people"},
      {"MixedList", "graph g { () = A() {l = [1, 2.0]} }",
       "1:29: the items of a list are of one kind (1 is an integer, 1.0 a float)"},
      {"EmptyList", "graph g { () = A() {l = []} }",
       "1:25: an empty list names its kind: ints[], floats[], strings[], tensors[] or graphs[]"},
      {"ListOfLists", "graph g { () = A() {l = [[1]]} }", "1:26: lists hold no lists"},
      {"TwoAttrs", "graph g { () = A() {l = 1, l = 2} }", "1:28: attribute l is given twice"},
      {"AbsentCapture", "graph g { () = A() captures(_) }", "1:28: a capture cannot be absent"},
      {"Deep", Nested(9), "1:235: graphs are nested deeper than 8 levels"},
  };
  return kBad;
}

INSTANTIATE_TEST_SUITE_P(All, BadTexts, testing::ValuesIn(Bad()),
                         [](const auto& bad) { return bad.param.label; });

TEST(Text, ReadsEightNestedGraphs) {
  EXPECT_NO_THROW((void)ParseGraph(Nested(8)));
  EXPECT_NO_THROW((void)FromFiles(ToFiles(ParseGraph(Nested(8)))));
}

/// A change of a good file, and what is said about it.
struct BadFile {
  std::string label;
  std::string from;
  std::string to;
  std::string message;
};

void PrintTo(const BadFile& bad, std::ostream* out) {
  *out << bad.label;
}

class BadFiles : public testing::TestWithParam<BadFile> {};

TEST_P(BadFiles, AreRefusedWithTheirPlace) {
  GraphFiles files = ToFiles(ParseGraph(
      "graph g { input %x : f32[2] const %w : f32[2] = [1, 2] const %v : u8[3] = [1, 2, 3] "
      "%y = Add(%x, %w) {a = 1} output %y }"));
  const std::size_t at = files.json.find(GetParam().from);
  ASSERT_NE(at, std::string::npos) << files.json;
  files.json.replace(at, GetParam().from.size(), GetParam().to);
  try {
    (void)FromFiles(files, "m.json");
    FAIL() << "was read";
  } catch (const UserError& error) {
    EXPECT_EQ(error.what(), "m.json" + GetParam().message);
  }
}

const std::vector<BadFile>& Files() {
  static const std::vector<BadFile> kBad = {
      {"NotJson", "{", "", " is not valid JSON at line 2, column 10"},
      {"Format", "msc-graph-1", "msc-graph-9", ": 'format' must be msc-graph-1"},
      {"UnknownKey", "\"op\": \"Add\"", "\"op\": \"Add\", \"z\": 1",
       ": 'graph.nodes[0]' has the unknown key 'z'"},
      {"LacksKey", "\"op\": \"Add\",", "", ": 'graph.nodes[0]' has no key 'op'"},
      {"Offset", "\"offset\": 64", "\"offset\": 0", ": 'tensors[1].offset' must be 64"},
      {"HugeOffset", "\"offset\": 64", "\"offset\": 18446744073709551615",
       ": 'tensors[1].offset' must be a 64-bit integer"},
      {"Bytes", "\"bytes\": 8", "\"bytes\": 9", ": 'tensors[0].bytes' must be 8 for f32[2]"},
      {"Beyond", "\"bytes\": 3,\n   \"dims\": [\n    3", "\"bytes\": 4,\n   \"dims\": [\n    4",
       ": 'tensors[1]' reaches beyond the 67 bytes of weights"},
      {"Digest", "\"sha256\": \"", "\"sha256\": \"0",
       ": 'tensors[0]' does not match its weights: the SHA-256 differs"},
      {"Tensor", "\"tensor\": 1", "\"tensor\": 2",
       ": 'graph.constants[1].tensor' is the number of no tensor"},
      {"Value", "\"x\",\n     \"w\"", "\"x\",\n     \"q\"",
       ": 'graph.nodes[0].inputs[1]' names a value that is not known here"},
      {"Kind", "\"kind\": \"int\"", "\"kind\": \"bigint\"",
       ": 'graph.nodes[0].attrs[0].kind' is no kind of attribute"},
      {"Attr", "\"value\": 1", "\"value\": 1.5",
       ": 'graph.nodes[0].attrs[0].value' must be a 64-bit integer"},
  };
  return kBad;
}

INSTANTIATE_TEST_SUITE_P(All, BadFiles, testing::ValuesIn(Files()),
                         [](const auto& bad) { return bad.param.label; });

}  // namespace
}  // namespace msc
