// Weights are read from the model's file or viewed in others, past libprotobuf's limit of 2 GiB.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/import/onnx/byte_source.h"
#include "compiler/import/onnx/import.h"
#include "compiler/import/onnx/wire_scan.h"
#include "tests/compiler/import/onnx_text.h"

namespace msc {
namespace {

constexpr const char* kShipped = "experiments/models/fashion_resnet.onnx";

/// Puts the raw bytes back into all tensors of a message from a scan of `bytes`.
void PutBack(const std::string& bytes, google::protobuf::Message& message) {
  if (auto* tensor = dynamic_cast<onnx::TensorProto*>(&message)) {
    if (tensor->has_raw_data()) {
      const detail::RawPlace place = detail::RawPlaceIn(tensor->raw_data());
      tensor->set_raw_data(bytes.substr(place.offset, place.length));
    }
    return;
  }
  const auto* reflection = message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      PutBack(bytes, *reflection->MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      PutBack(bytes, *reflection->MutableRepeatedMessage(&message, field, i));
    }
  }
}

/// What libprotobuf makes of the scanned bytes, with the raw bytes put back; nothing if refused.
std::optional<std::string> Scanned(const std::string& bytes) {
  try {
    onnx::ModelProto model;
    const detail::ByteSource source{std::string_view(bytes)};
    if (!model.ParseFromString(detail::ScanModelWire(source, {}))) return std::nullopt;
    PutBack(bytes, model);
    return model.SerializeAsString();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

std::optional<std::string> Parsed(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return std::nullopt;
  return model.SerializeAsString();
}

void AddRaw(onnx::GraphProto& graph, const std::string& name, const std::vector<float>& values) {
  auto* tensor = graph.add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(static_cast<std::int64_t>(values.size()));
  tensor->set_raw_data(values.data(), values.size() * sizeof(float));
}

/// A model with raw bytes at each place that may have some.
onnx::ModelProto ModelWithRawBytes() {
  auto model = ModelFromText(
      "(float[2] x, bool c) => (float[2] y) { k = Constant<value = float[2] {3, 4}>() a = Add(x, "
      "k) b = Add(a, w) y = If (c) < then_branch = yes () => (float[2] t) { t = Add(b, v) }, "
      "else_branch = no () => (float[2] t) { t = Abs(b) } > }",
      13);
  auto& graph = *model.mutable_graph();
  AddRaw(graph, "w", {1, 2});
  auto* constant = graph.mutable_node(0)->mutable_attribute(0)->mutable_t();
  const std::vector<float> values(constant->float_data().begin(), constant->float_data().end());
  constant->clear_float_data();
  constant->set_raw_data(values.data(), values.size() * sizeof(float));
  for (auto& attribute : *graph.mutable_node(3)->mutable_attribute()) {
    AddRaw(*attribute.mutable_g(), "v", {5, 6});
  }
  AddRaw(*model.add_training_info()->mutable_initialization(), "t", {7, 8});
  return model;
}

TEST(ScannedOnnx, IsTheModelThatLibprotobufReads) {
  for (const std::string& bytes : {ReadFile(kShipped), BytesOf(ModelWithRawBytes())}) {
    EXPECT_EQ(Scanned(bytes), Parsed(bytes));
  }
}

TEST(ScannedOnnx, IsTheModelThatLibprotobufReadsWhereverItIsCut) {
  const std::string whole = BytesOf(ModelWithRawBytes());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    EXPECT_EQ(Scanned(cut), Parsed(cut)) << "cut after " << length << " bytes";
  }
}

TEST(ScannedOnnx, IsTheModelThatLibprotobufReadsAfterRandomChanges) {
  const std::string whole = BytesOf(ModelWithRawBytes());
  Rng rng(31);
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (std::uint64_t edits = 1 + rng.Below(3); edits > 0; --edits) {
      bytes[rng.Below(bytes.size())] = static_cast<char>(rng.Below(256));
    }
    const auto scanned = Scanned(bytes);
    if (!scanned) continue;
    ++read;
    // Unusual encodings of numbers, such as lengths of more than five bytes, are read here alone.
    const auto parsed = Parsed(bytes);
    ASSERT_EQ(scanned, parsed.value_or(*scanned)) << "round " << round;
  }
  EXPECT_GT(read, 1000);
}

TEST(ScannedOnnx, IsReadOrRefusedAfterRandomChanges) {
  const std::string whole = BytesOf(ModelWithRawBytes());
  Rng rng(32);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = whole;
    bytes[rng.Below(bytes.size())] = static_cast<char>(rng.Below(256));
    try {
      (void)ImportOnnxBytes(bytes);
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(ScannedOnnx, LastRawBytesOfATensorCount) {
  // Fields of a message may come in any order and several times, then the last one counts.
  onnx::TensorProto first;
  first.set_raw_data(std::string(5000, 'a'));
  onnx::TensorProto second;
  second.set_raw_data("bb");
  const std::string twice = first.SerializeAsString() + second.SerializeAsString();
  onnx::TensorProto tensor;
  const detail::ByteSource source{std::string_view(twice)};
  ASSERT_TRUE(tensor.ParseFromString(detail::ScanTensorWire(source, {})));
  PutBack(twice, tensor);
  EXPECT_EQ(tensor.raw_data(), "bb");
}

TEST(ScannedOnnx, IsRefusedPastTheLimitOfWhatIsParsed) {
  ImportLimits limits;
  limits.structure_bytes = 1000;
  auto model = ModelFromText("(float[2] x) => (float[2] y) { y = Relu(x) }", 13);
  AddRaw(*model.mutable_graph(), "w", std::vector<float>(1000));
  const std::string fits = BytesOf(model);
  EXPECT_LT(detail::ScanModelWire(detail::ByteSource{std::string_view(fits)}, limits).size(), 300U);
  model.set_doc_string(std::string(1000, 'x'));
  const std::string large = BytesOf(model);
  try {
    (void)detail::ScanModelWire(detail::ByteSource{std::string_view(large)}, limits);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "has more than 1000 bytes beside the raw bytes of its tensors");
  }
}

TEST(OnnxFunctions, ThatRepeatALargeConstantAreRefused) {
  auto model = ModelFromText("(float[2] x) => (float[2] y) { y = Relu(x) }", 13);
  auto* set = model.add_opset_import();
  set->set_domain("own");
  set->set_version(1);
  auto* function = model.add_functions();
  function->set_domain("own");
  function->set_name("f");
  function->add_input("v");
  function->add_output("w");
  auto* constant = function->add_node();
  constant->set_op_type("Constant");
  constant->add_output("c");
  auto* value = constant->add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  value->mutable_t()->add_dims(250'000);
  value->mutable_t()->set_raw_data(std::string(1'000'000, '\0'));
  auto* relu = function->add_node();
  relu->set_op_type("Relu");
  relu->add_input("v");
  relu->add_output("w");
  auto* graph = model.mutable_graph();
  for (int i = 0; i < 100; ++i) {
    auto* call = graph->add_node();
    call->set_op_type("f");
    call->set_domain("own");
    call->add_input("x");
    call->add_output("y" + std::to_string(i));
  }
  try {
    (void)ImportOnnxBytes(BytesOf(model));
    FAIL() << "no error";
  } catch (const UserError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("the tensors take more than"), std::string::npos) << text;
  }
}

// --- files ---------------------------------------------------------------------------------------

class LargeOnnx : public testing::Test {
 protected:
  LargeOnnx()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("onnx_large_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~LargeOnnx() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const {
    return (folder_ / name).string();
  }
  static void WriteAt(const std::string& path, std::uint64_t offset, const std::string& bytes) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }
  /// A file of `size` bytes, which take no space as long as nobody writes them.
  static void MakeSparse(const std::string& path, std::uint64_t size) {
    std::ofstream(path, std::ios::binary).close();
    std::filesystem::resize_file(path, size);
  }
  /// Adds an initializer whose bytes are in the file `weights`.
  static onnx::TensorProto& AddExternal(onnx::ModelProto& model, const std::string& name,
                                        std::int64_t size, std::uint64_t offset,
                                        onnx::TensorProto::DataType type) {
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    tensor->add_dims(size);
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    const std::vector<std::pair<const char*, std::string>> entries = {
        {"location", "weights"}, {"offset", std::to_string(offset)}};
    for (const auto& [key, value] : entries) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return *tensor;
  }
  static TensorPtr ConstantOf(const Graph& graph, const std::string& name) {
    return graph.constant(graph.FindValue(name));
  }

  std::filesystem::path folder_;
};

constexpr const char* kRelu = "(float[2] x) => (float[2] y) { y = Relu(x) }";
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

TEST_F(LargeOnnx, IsTheSameFromAFileAndFromMemory) {
  EXPECT_TRUE(SameGraph(ImportOnnx(kShipped), ImportOnnxBytes(ReadFile(kShipped))));
  WriteFileAtomic(Path("m.onnx"), BytesOf(ModelWithRawBytes()));
  const Graph graph = ImportOnnx(Path("m.onnx"));
  EXPECT_TRUE(SameGraph(graph, ImportOnnxBytes(BytesOf(ModelWithRawBytes()))));
  EXPECT_EQ(*ConstantOf(graph, "w"),
            Tensor::From<float>(DType::kF32, {2}, std::vector<float>{1, 2}));
}

TEST_F(LargeOnnx, IsReadPastTwoGibibytes) {
  // A model whose first tensor, which only training reads, has 5 GiB; the weight lies behind it.
  const auto varint = [](std::uint64_t value) {
    std::string bytes;
    for (; value >= 128; value /= 128) bytes += static_cast<char>(value % 128 + 128);
    return bytes + static_cast<char>(value);
  };
  const std::uint64_t size = 5 * kGiB;
  std::string tags;
  std::uint64_t length = size;
  for (const std::uint64_t field :
       {9U, 5U, 1U, 20U}) {  // raw_data, initializer, initialization, ...
    tags = varint(field * 8 + 2) + varint(length) + tags;
    length = size + tags.size();
  }
  auto model = ModelFromText(kRelu, 13);
  AddRaw(*model.mutable_graph(), "w", {1, 2});
  const std::string rest = BytesOf(model);
  MakeSparse(Path("m.onnx"), length + rest.size());
  WriteAt(Path("m.onnx"), 0, tags);
  WriteAt(Path("m.onnx"), length, rest);
  const Graph graph = ImportOnnx(Path("m.onnx"));
  EXPECT_EQ(*ConstantOf(graph, "w"),
            Tensor::From<float>(DType::kF32, {2}, std::vector<float>{1, 2}));
}

TEST_F(LargeOnnx, ViewsExternalDataPastTwoGibibytes) {
  MakeSparse(Path("weights"), 5 * kGiB);
  const std::vector<float> values(1U << 15U, 3.0F);
  WriteAt(Path("weights"), 4 * kGiB,
          {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  auto model = ModelFromText(kRelu, 13);
  AddExternal(model, "large", 3 * static_cast<std::int64_t>(kGiB) / 4, 0, onnx::TensorProto::FLOAT);
  AddExternal(model, "last", std::ssize(values), 4 * kGiB, onnx::TensorProto::FLOAT);
  WriteFileAtomic(Path("m.onnx"), BytesOf(model));
  const Graph graph = ImportOnnx(Path("m.onnx"));
  const TensorPtr large = ConstantOf(graph, "large");
  EXPECT_TRUE(large->is_view());
  EXPECT_EQ(large->bytes(), 3 * kGiB);
  EXPECT_EQ(large->Values<float>().back(), 0);
  EXPECT_EQ(*ConstantOf(graph, "last"),
            Tensor::From<float>(DType::kF32, {std::ssize(values)}, values));
}

TEST_F(LargeOnnx, CopiesExternalDataThatCannotBeViewed) {
  constexpr std::int64_t kSize = 1 << 15;
  MakeSparse(Path("weights"), 1U << 20U);
  auto model = ModelFromText(kRelu, 13);
  AddExternal(model, "viewed", kSize, 64, onnx::TensorProto::FLOAT);
  AddExternal(model, "unaligned", kSize, 4, onnx::TensorProto::FLOAT);
  AddExternal(model, "small", 16, 64, onnx::TensorProto::FLOAT);
  AddExternal(model, "bools", 4 * kSize, 64, onnx::TensorProto::BOOL);
  WriteFileAtomic(Path("m.onnx"), BytesOf(model));
  const Graph graph = ImportOnnx(Path("m.onnx"));
  EXPECT_TRUE(ConstantOf(graph, "viewed")->is_view());
  for (const char* name : {"unaligned", "small", "bools"}) {
    EXPECT_FALSE(ConstantOf(graph, name)->is_view()) << name;
  }
  ImportOptions options;
  options.external_data = ExternalStorage::kCopied;
  const Graph copied = ImportOnnx(Path("m.onnx"), options);
  EXPECT_FALSE(ConstantOf(copied, "viewed")->is_view());
  EXPECT_TRUE(SameGraph(graph, copied));
}

TEST_F(LargeOnnx, NeverWritesToExternalData) {
  const std::string bytes(1U << 18U, '\0');
  WriteFileAtomic(Path("weights"), bytes);
  auto model = ModelFromText(kRelu, 13);
  AddExternal(model, "w", 1 << 15, 0, onnx::TensorProto::FLOAT);
  WriteFileAtomic(Path("m.onnx"), BytesOf(model));
  const Graph graph = ImportOnnx(Path("m.onnx"));
  Tensor changed = *ConstantOf(graph, "w");
  ASSERT_TRUE(changed.is_view());
  changed.MutableValues<float>()[0] = 1;
  EXPECT_EQ(ConstantOf(graph, "w")->Values<float>()[0], 0);
  EXPECT_EQ(ReadFile(Path("weights")), bytes);
}

TEST_F(LargeOnnx, OutlivesTheNamesOfItsExternalData) {
  // Writing a new file in place of the old one is how a file may change while it is viewed.
  WriteFileAtomic(Path("weights"), std::string(1U << 18U, '\0'));
  auto model = ModelFromText(kRelu, 13);
  AddExternal(model, "w", 1 << 15, 0, onnx::TensorProto::FLOAT);
  WriteFileAtomic(Path("m.onnx"), BytesOf(model));
  const Graph graph = ImportOnnx(Path("m.onnx"));
  WriteFileAtomic(Path("weights"), "short");
  EXPECT_EQ(ConstantOf(graph, "w")->Values<float>().back(), 0);
}

TEST_F(LargeOnnx, ExternalBytesAreLimitedInAll) {
  MakeSparse(Path("weights"), 1U << 20U);
  auto model = ModelFromText(kRelu, 13);
  AddExternal(model, "a", 1 << 17, 0, onnx::TensorProto::FLOAT);
  AddExternal(model, "b", 1 << 17, 0, onnx::TensorProto::FLOAT);
  WriteFileAtomic(Path("m.onnx"), BytesOf(model));
  ImportOptions options;
  options.limits.tensor_bytes = 1'000'000;
  try {
    (void)ImportOnnx(Path("m.onnx"), options);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()),
              "model '" + Path("m.onnx") +
                  "': initializer 'b': the model takes external data past 1000000 bytes in all");
  }
}

TEST_F(LargeOnnx, ThatBecomesShorterIsRefused) {
  MakeSparse(Path("m.onnx"), 100'000);
  const InputFile file(Path("m.onnx"));
  const detail::ByteSource source(file);
  std::filesystem::resize_file(Path("m.onnx"), 1000);
  std::vector<std::byte> bytes(100);
  source.Read(900, bytes);
  EXPECT_THROW(source.Read(950, bytes), UserError);
  EXPECT_THROW(source.Read(100'000, bytes), UserError);
}

}  // namespace
}  // namespace msc
