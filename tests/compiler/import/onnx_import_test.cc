#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ops/op.h"
#include "tests/compiler/import/onnx_text.h"

namespace msc {
namespace {

std::string ErrorOf(const std::string& bytes, const ImportOptions& options = {}) {
  try {
    static_cast<void>(ImportOnnxBytes(bytes, options));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> NodeNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.order()) names.push_back(graph.node(id).name);
  return names;
}

using Names = std::vector<std::string>;

TEST(OnnxImport, NamesUnnamedNodesByOperatorAndPosition) {
  auto model =
      ModelFromText("(float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) y = Abs(b) }", 13);
  model.mutable_graph()->mutable_node(1)->set_name("Abs_2");
  EXPECT_EQ(NodeNames(ImportOnnxBytes(BytesOf(model))), (Names{"Relu_0", "Abs_2", "Abs_2_1"}));
}

TEST(OnnxImport, GivesARepeatedNodeNameToTheFirstOnly) {
  auto model = ModelFromText("(float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }", 13);
  for (auto& node : *model.mutable_graph()->mutable_node()) node.set_name("same");
  EXPECT_EQ(NodeNames(ImportOnnxBytes(BytesOf(model))), (Names{"same", "Neg_1"}));
}

TEST(OnnxImport, PutsNodesInTopologicalOrderAndElseInFileOrder) {
  const std::string bytes = ModelBytes(
      "(float[2] x) => (float[2] y) { y = Add(a, b) a = Relu(x) b = Neg(c) c = Abs(x) }", 13);
  EXPECT_EQ(NodeNames(ImportOnnxBytes(bytes)), (Names{"Relu_1", "Abs_3", "Neg_2", "Add_0"}));
}

TEST(OnnxImport, KeepsSymbolicAndUnknownDimensions) {
  auto model = ModelFromText("(float[N,3] x) => (float[N,3] y) { y = Relu(x) }", 13);
  auto* shape = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  shape->mutable_shape()->mutable_dim(1)->Clear();
  const Graph graph = ImportOnnxBytes(BytesOf(model));
  EXPECT_EQ(ToString(graph.type(graph.inputs()[0])), "f32[N,?]");
}

TEST(OnnxImport, InfersTypesThatTheFileDoesNotDeclare) {
  const Graph graph = ImportOnnxBytes(
      ModelBytes("(float[N,3] x) => (float[N,3] y) { a = Relu(x) y = Neg(a) }", 13));
  EXPECT_EQ(ToString(graph.type(graph.FindValue("a"))), "f32[N,3]");
}

TEST(OnnxImport, MakesAnInitializerThatIsAlsoAnInputAConstant) {
  auto model = ModelFromText("(float[2] x, float[2] w) => (float[2] y) { y = Add(x, w) }", 7);
  model.set_ir_version(3);
  auto* w = model.mutable_graph()->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(2);
  w->add_float_data(1.5F);
  w->add_float_data(-2);
  const Graph graph = ImportOnnxBytes(BytesOf(model));
  ASSERT_EQ(graph.inputs().size(), 1U);
  ASSERT_NE(graph.constant(graph.FindValue("w")), nullptr);
  EXPECT_EQ(graph.constant(graph.FindValue("w"))->Values<float>()[1], -2.0F);
}

TEST(OnnxImport, KeepsMetadataButNotPropertiesThatPoseAsOurs) {
  auto model = ModelFromText("(float[2] x) => (float[2] y) { y = Relu(x) }", 13);
  model.set_producer_name("trainer");
  for (const char* key : {"author", "onnx.opset"}) {
    auto* property = model.add_metadata_props();
    property->set_key(key);
    property->set_value("somebody");
  }
  const std::map<std::string, std::string> expected = {{"author", "somebody"},
                                                       {"onnx.ir_version", "7"},
                                                       {"onnx.opset", "13"},
                                                       {"onnx.producer_name", "trainer"}};
  EXPECT_EQ(ImportOnnxBytes(BytesOf(model)).metadata(), expected);
}

TEST(OnnxImport, ReadsNewerIrVersionsOfWhichNothingIsUsed) {
  for (const std::int64_t version : {9, 10, 11, 12, 13}) {
    auto model = ModelFromText("(float[2] x) => (float[2] y) { y = Relu(x) }", 18);
    model.set_ir_version(version);
    EXPECT_EQ(ErrorOf(BytesOf(model)), "no error") << version;
  }
}

/// Metadata of nodes (IR 10) and plans for several devices (IR 11), of which libonnx knows nothing.
TEST(OnnxImport, PassesOverFieldsOfNewerIrVersions) {
  auto model = ModelFromText("(float[2] x) => (float[2] y) { y = Relu(x) }", 18);
  model.set_ir_version(11);
  auto& node = *model.mutable_graph()->mutable_node(0);
  node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(9, "\x0a\x01k");
  node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(10, "\x0a\x01d");
  model.GetReflection()->MutableUnknownFields(&model)->AddLengthDelimited(26, "\x0a\x01d");
  EXPECT_EQ(NodeNames(ImportOnnxBytes(BytesOf(model))), (Names{"Relu_0"}));
}

// --- outputs that nobody reads -------------------------------------------------------------------

struct Unread {
  std::string label;
  std::string graph;
  std::int64_t opset;
  std::string outputs;  ///< of the last node, "-" for one that is left out
};

void PrintTo(const Unread& one, std::ostream* out) {
  *out << one.label;
}

class OnnxUnreadOutput : public testing::TestWithParam<Unread> {};

TEST_P(OnnxUnreadOutput, IsLeftOut) {
  const Graph graph = ImportOnnxBytes(ModelBytes(GetParam().graph, GetParam().opset));
  std::string outputs;
  for (const ValueId id : graph.node(graph.order().back()).outputs) {
    outputs += (outputs.empty() ? "" : " ") + (id == kNoValue ? "-" : graph.value(id).name);
  }
  EXPECT_EQ(outputs, GetParam().outputs);
  EXPECT_EQ(graph.FindValue("unread"), kNoValue);
}

std::string BatchNormalizationOf(const std::string& outputs) {
  return "(float[2,2] x) => (float[2,2] y) { s = Constant<value = float[2] {1.0, 2.0}>() " +
         outputs + " = BatchNormalization(x, s, s, s, s) }";
}

std::vector<Unread> UnreadOutputs() {
  const std::string dropout = "(float[2] x) => (float[2] y) { y, unread = Dropout(x) }";
  const std::string lstm =
      "(float[3,2,1] x) => (float[3,1,2,1] y) { w = Constant<value = float[1,4,1] {0.5, 1.0, 2.0, "
      "1.0}>() y, unread, c = LSTM<hidden_size = 1>(x, w, w) }";
  return {
      {"Dropout1", dropout, 1, "y"},
      {"Dropout6", dropout, 6, "y"},
      {"Dropout7", dropout, 7, "y"},
      {"Dropout10", dropout, 10, "y"},
      {"Dropout12", dropout, 12, "y"},
      {"Dropout17", dropout, 17, "y"},
      {"DropoutInAChain",
       "(float[2] x) => (float[2] y) { a, unread = Dropout(x) b = Relu(a) y, m = Dropout(b) }", 10,
       "y"},
      {"BatchNormalization7", BatchNormalizationOf("y, unread, b, c, d"), 7, "y"},
      {"BatchNormalization9", BatchNormalizationOf("y, unread, b, c, d"), 9, "y"},
      {"BatchNormalization14", BatchNormalizationOf("y, unread, b"), 14, "y"},
      {"MaxPool",
       "(float[1,1,4,4] x) => (float[1,1,2,2] y) { y, unread = MaxPool<kernel_shape = [2, 2], "
       "strides = [2, 2]>(x) }",
       12, "y"},
      {"LayerNormalization",
       "(float[2,3] x) => (float[2,3] y) { s = Constant<value = float[3] {1.0, 2.0, 3.0}>() y, "
       "unread, i = LayerNormalization(x, s) }",
       17, "y"},
      {"LayerNormalizationOfWhichTheLastIsRead",
       "(float[2,3] x) => (float[2,3] y, float[2,1] i) { s = Constant<value = float[3] {1.0, 2.0, "
       "3.0}>() y, unread, i = LayerNormalization(x, s) }",
       17, "y - i"},
      {"Lstm7", lstm, 7, "y"},
      {"Lstm14", lstm, 14, "y"},
      {"SoftmaxCrossEntropyLoss",
       "(float[2,3] x, int64[2] l) => (float y) { y, unread = SoftmaxCrossEntropyLoss(x, l) }", 13,
       "y"},
  };
}

INSTANTIATE_TEST_SUITE_P(Operators, OnnxUnreadOutput, testing::ValuesIn(UnreadOutputs()),
                         [](const auto& param) { return param.param.label; });

/// Their number says what is computed.
TEST(OnnxImport, KeepsUnreadOutputsThatAreNotOptional) {
  const Graph split =
      ImportOnnxBytes(ModelBytes("(float[6] x) => (float[2] y) { y, b, c = Split(x) }", 13));
  EXPECT_EQ(split.node(split.order()[0]).outputs.size(), 3U);
  const Graph top =
      ImportOnnxBytes(ModelBytes("(float[6] x) => (float[2] y) { y, i = TopK<k = 2>(x) }", 9));
  EXPECT_EQ(top.node(top.order()[0]).outputs.size(), 2U);
}

TEST(OnnxImport, RefusesOutputsThatTheOperatorDoesNotHave) {
  EXPECT_NE(ErrorOf(ModelBytes(
                "(float[2] x) => (float[2] y) { a, m, z = Dropout(x) y = Add(a, z) }", 13)),
            "no error");
  EXPECT_EQ(ErrorOf(ModelBytes("(float[2] x) => (float[2] y) { y, z = Relu(x) }", 13)),
            "model: node 'Relu_0' (Relu): needs 1 outputs, not 2");
}

TEST(OnnxImport, RefusesAnUnreadOutputThatIsMadeTwice) {
  EXPECT_EQ(ErrorOf(ModelBytes(
                "(float[2] x) => (float[2] y) { a, m = Dropout(x) y, m = Dropout(a) }", 13)),
            "model: value 'm' is produced twice");
}

// --- constants -----------------------------------------------------------------------------------

struct ConstantCase {
  std::string label;
  std::function<void(onnx::AttributeProto&)> fill;
  std::string type;
};

void PrintTo(const ConstantCase& one, std::ostream* out) {
  *out << one.label;
}

class OnnxConstantNode : public testing::TestWithParam<ConstantCase> {};

TEST_P(OnnxConstantNode, BecomesAConstant) {
  auto model = ModelFromText("(float[2] x) => (float[2] y) { y = Relu(x) c = Constant() }", 13);
  auto* attribute = model.mutable_graph()->mutable_node(1)->add_attribute();
  attribute->set_name(GetParam().label);
  GetParam().fill(*attribute);
  const Graph graph = ImportOnnxBytes(BytesOf(model));
  ASSERT_NE(graph.constant(graph.FindValue("c")), nullptr);
  EXPECT_EQ(ToString(graph.type(graph.FindValue("c"))), GetParam().type);
  EXPECT_EQ(graph.order().size(), 1U);
}

std::vector<ConstantCase> ConstantCases() {
  using Proto = onnx::AttributeProto;
  return {{"value_float",
           [](Proto& a) {
             a.set_type(Proto::FLOAT);
             a.set_f(1);
           },
           "f32[]"},
          {"value_floats",
           [](Proto& a) {
             a.set_type(Proto::FLOATS);
             a.add_floats(1);
           },
           "f32[1]"},
          {"value_int",
           [](Proto& a) {
             a.set_type(Proto::INT);
             a.set_i(1);
           },
           "i64[]"},
          {"value_ints",
           [](Proto& a) {
             a.set_type(Proto::INTS);
             a.add_ints(1);
             a.add_ints(2);
           },
           "i64[2]"},
          {"value_string",
           [](Proto& a) {
             a.set_type(Proto::STRING);
             a.set_s("s");
           },
           "str[]"},
          {"value_strings",
           [](Proto& a) {
             a.set_type(Proto::STRINGS);
             a.add_strings("s");
           },
           "str[1]"},
          {"value",
           [](Proto& a) {
             a.set_type(Proto::TENSOR);
             a.mutable_t()->set_data_type(onnx::TensorProto::BFLOAT16);
             a.mutable_t()->add_int32_data(0x3F80);
           },
           "bf16[]"}};
}

INSTANTIATE_TEST_SUITE_P(Forms, OnnxConstantNode, testing::ValuesIn(ConstantCases()),
                         [](const auto& param) { return param.param.label; });

// --- refusals ------------------------------------------------------------------------------------

struct Refusal {
  std::string label;
  std::string graph;
  std::int64_t opset;
  std::function<void(onnx::ModelProto&)> edit;
  std::string message;
};

void PrintTo(const Refusal& one, std::ostream* out) {
  *out << one.label;
}

class OnnxImportRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(OnnxImportRefuses, WithAClearMessage) {
  auto model = ModelFromText(GetParam().graph, GetParam().opset);
  if (GetParam().edit) GetParam().edit(model);
  EXPECT_EQ(ErrorOf(BytesOf(model)), GetParam().message);
}

constexpr const char* kRelu = "(float[2] x) => (float[2] y) { y = Relu(x) }";

onnx::TensorProto& AddTensor(onnx::ModelProto& model, std::vector<std::int64_t> dims) {
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t size : dims) tensor->add_dims(size);
  return *tensor;
}

std::vector<Refusal> ModelRefusals() {
  return {
      {"AnUnknownOperator",
       "(float[2] x) => (float[2] y) { a = Relu(x) y = Frobnicate(a) }",
       13,
       {},
       "model: node 1 'Frobnicate_1': operator 'Frobnicate' of domain 'ai.onnx' (operator set 13) "
       "is not supported"},
      {"AnotherDomain", kRelu, 13,
       [](auto& m) { m.mutable_graph()->mutable_node(0)->set_domain("com.example"); },
       "model: node 0 'Relu_0': operator 'Relu' of domain 'com.example' (operator set 13) is not "
       "supported"},
      {"OurOwnFusedOperators", kRelu, 13,
       [](auto& m) {
         m.mutable_graph()->mutable_node(0)->set_domain("msc");
         m.mutable_graph()->mutable_node(0)->set_op_type("Conv");
       },
       "model: node 0 'Conv_0': operator 'Conv' of domain 'msc' (operator set 13) is not "
       "supported"},
      {"NoRealOperatorSet",
       kRelu,
       0,
       {},
       "model: uses ONNX operator set 0; sets 1 to 28 are read: export the model again with one of "
       "them"},
      {"ANewOperatorSet",
       kRelu,
       1000,
       {},
       "model: uses ONNX operator set 1000; sets 1 to 28 are read: export the model again with one "
       "of "
       "them"},
      {"NoOperatorSet", kRelu, 13, [](auto& m) { m.clear_opset_import(); },
       "model: does not say its ONNX operator set"},
      {"ANewIrVersion", kRelu, 13, [](auto& m) { m.set_ir_version(15); },
       "model: has ONNX IR version 15; versions 3 to 14 are read: save the model again with one of "
       "them"},
      {"AnInputOfAnUnknownType", kRelu, 13,
       [](auto& m) {
         m.set_ir_version(11);
         m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
             29);
       },
       "model: value 'x' has unknown element type 29"},
      {"AnOperatorThatLacksANarrowType",
       "(float[2] x) => (float[2] y) { a = Cast<to = 17>(x) b = Identity(a) y = Relu(b) }",
       19,
       {},
       "model: node 2 'Relu_2' (Relu, operator set 19): is not supported for element type "
       "float8e4m3fn"},
      {"NoGraph", kRelu, 13, [](auto& m) { m.clear_graph(); },
       "model: is not an ONNX model: it has no graph"},
      {"ACycle",
       "(float[2] x) => (float[2] y) { a = Add(x, b) b = Relu(a) y = Neg(b) }",
       13,
       {},
       "model: has nodes that need each other's outputs: the graph has a cycle"},
      {"AValueMadeTwice",
       "(float[2] x) => (float[2] y) { y = Relu(x) y = Neg(x) }",
       13,
       {},
       "model: value 'y' is produced twice"},
      {"AReadOfNothing",
       "(float[2] x) => (float[2] y) { y = Add(x, ghost) }",
       13,
       {},
       "model: node 0 'Add_0' ('Add', operator set 13): reads 'ghost', which nothing produces"},
      {"AnOutputOfNothing",
       "(float[2] x) => (float[2] z) { y = Relu(x) }",
       13,
       {},
       "model: graph output 'z' is produced by nothing"},
      {"AnUnknownAttribute",
       "(float[2] x) => (float[2] y) { y = Relu<alpha=1.0>(x) }",
       13,
       {},
       "model: node 'Relu_0' (Relu): has no attribute 'alpha'"},
      {"ASizeThatOnlyFollowsFromOthers",
       "(float[2147483648] x) => (float[?] y) { y = Concat<axis=0>(x, x) }",
       13,
       {},
       "model: value 'y' is too large: size 4294967296"},
      {"ANameThatIsNotText", kRelu, 13,
       [](auto& m) { m.mutable_graph()->mutable_node(0)->set_name("a\xFF\n"); },
       "model: node name 'a\\xff\\x0a' is not valid UTF-8 text"},
  };
}

std::vector<Refusal> TensorRefusals() {
  return {
      {"APayloadThatIsTooShort", kRelu, 13,
       [](auto& m) {
         AddTensor(m, {2, 3}).set_raw_data(std::string(20, '\0'));
       },
       "model: initializer 'w' holds 20 bytes where its shape and type need 24"},
      {"TooFewTypedValues", kRelu, 13, [](auto& m) { AddTensor(m, {2}).add_float_data(1); },
       "model: initializer 'w' holds 1 values where its shape and type need 2"},
      {"ValuesInTheWrongField", kRelu, 13, [](auto& m) { AddTensor(m, {1}).add_int64_data(1); },
       "model: initializer 'w' holds its values in several or in the wrong fields"},
      {"ANegativeSize", kRelu, 13, [](auto& m) { AddTensor(m, {-4}); },
       "model: initializer 'w' has a negative size -4"},
      {"ASizeThatOverflows", kRelu, 13,
       [](auto& m) {
         AddTensor(m, {1LL << 31, 1LL << 31, 1LL << 31});
       },
       "model: initializer 'w' is too large: size 2147483648"},
      {"AnAbsurdSizeWithoutPayload", kRelu, 13, [](auto& m) { AddTensor(m, {1LL << 31}); },
       "model: initializer 'w' holds 0 values where its shape and type need 2147483648"},
      {"TooManyDimensions", kRelu, 13,
       [](auto& m) { AddTensor(m, std::vector<std::int64_t>(17, 1)); },
       "model: initializer 'w' has 17 dimensions; at most 16 are read"},
      {"AnUnknownElementType", kRelu, 13, [](auto& m) { AddTensor(m, {}).set_data_type(99); },
       "model: initializer 'w' has unknown element type 99"},
      {"TooFewBytesOfANarrowType", kRelu, 13,
       [](auto& m) {
         auto& tensor = AddTensor(m, {5});
         tensor.set_data_type(22);
         tensor.set_raw_data("ab");
       },
       "model: initializer 'w' holds 2 bytes where its shape and type need 3"},
      {"AValueThatDoesNotFit", kRelu, 13,
       [](auto& m) {
         auto& tensor = AddTensor(m, {1});
         tensor.set_data_type(onnx::TensorProto::INT8);
         tensor.add_int32_data(200);
       },
       "model: initializer 'w' holds 200, which does not fit i8"},
      {"ABoolThatIsNone", kRelu, 13,
       [](auto& m) {
         auto& tensor = AddTensor(m, {1});
         tensor.set_data_type(onnx::TensorProto::BOOL);
         tensor.set_raw_data("\x02");
       },
       "model: initializer 'w' holds a bool that is neither 0 nor 1"},
      {"ExternalDataWithoutAFolder", kRelu, 13,
       [](auto& m) { AddTensor(m, {1}).set_data_location(onnx::TensorProto::EXTERNAL); },
       "model: initializer 'w' lies in an external file, which is not read here: import the model "
       "by its path"},
  };
}

INSTANTIATE_TEST_SUITE_P(Models, OnnxImportRefuses, testing::ValuesIn(ModelRefusals()),
                         [](const auto& param) { return param.param.label; });
INSTANTIATE_TEST_SUITE_P(Tensors, OnnxImportRefuses, testing::ValuesIn(TensorRefusals()),
                         [](const auto& param) { return param.param.label; });

TEST(OnnxImport, NamesAMissingFile) {
  try {
    static_cast<void>(ImportOnnx("no/such.onnx"));
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "cannot read 'no/such.onnx': No such file or directory");
  }
}

TEST(OnnxImport, ReadsTheShippedModel) {
  const Graph graph = ImportOnnx("experiments/models/fashion_resnet.onnx");
  const GraphCounts counts = CountContents(graph);
  EXPECT_EQ(counts.nodes.at("Conv"), 13);
  EXPECT_EQ(counts.nodes.at("BatchNormalization"), 13);
  EXPECT_EQ(counts.total_nodes, 44);
  EXPECT_EQ(ToString(graph.type(graph.outputs()[0])), "f32[batch,10]");
}

}  // namespace
}  // namespace msc
