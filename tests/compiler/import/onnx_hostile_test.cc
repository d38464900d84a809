// Bytes from outside must give a graph or one clear message: no crash, no hang, no huge allocation.
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/import/onnx/import.h"
#include "tests/compiler/import/onnx_text.h"

namespace msc {
namespace {

constexpr const char* kShipped = "experiments/models/fashion_resnet.onnx";

/// The message, or nothing if the bytes are a model. Any other exception fails the test.
std::optional<std::string> Refusal(const std::string& bytes) {
  try {
    static_cast<void>(ImportOnnxBytes(bytes));
    return std::nullopt;
  } catch (const UserError& error) {
    return error.what();
  }
}

/// Field `number` holding `payload`, in protobuf's wire format.
std::string Delimited(int number, const std::string& payload) {
  std::string bytes;
  const auto varint = [&](std::size_t value) {
    for (; value >= 128; value /= 128) bytes += static_cast<char>(value % 128 + 128);
    bytes += static_cast<char>(value);
  };
  varint(static_cast<std::size_t>(number) * 8 + 2);
  varint(payload.size());
  return bytes + payload;
}

std::string Repeat(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(HostileOnnx, RefusesEveryTruncationOfAModel) {
  const std::string whole = ReadFile(kShipped);
  for (std::size_t length = 0; length < whole.size(); length += 997) {
    ASSERT_TRUE(Refusal(whole.substr(0, length)).has_value()) << "cut after " << length << " bytes";
  }
}

TEST(HostileOnnx, SurvivesRandomMutations) {
  const std::string whole = ModelBytes(
      "(float[N,3,8,8] x) => (float[N,4] y) { w = Constant<value = float[1] {0.5}>() a = Relu(x) "
      "b = Mul(a, w) c = MaxPool<kernel_shape=[2,2], strides=[2,2]>(b) d = Clip<min=0.0, "
      "max=6.0>(c) "
      "e = Flatten(d) v = Constant<value = int64[2] {-1, 4}>() y = Reshape(e, v) }",
      9);
  ASSERT_FALSE(Refusal(whole).has_value());
  Rng rng(20);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = whole;
    for (std::uint64_t edits = 1 + rng.Below(3); edits > 0; --edits) {
      bytes[rng.Below(bytes.size())] = static_cast<char>(rng.Below(256));
    }
    if (Refusal(bytes).has_value()) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

TEST(HostileOnnx, RefusesAnEmptyFile) {
  EXPECT_EQ(Refusal(""), "model: is empty");
}

TEST(HostileOnnx, RefusesText) {
  EXPECT_EQ(Refusal("hello, this is no model"),
            "model: is not an ONNX model, or was cut short: a field has a wire type that ONNX does "
            "not use at byte 3");
}

TEST(HostileOnnx, RefusesManyEmptyMessages) {
  // 2 bytes each; a TensorProto takes about 250 once decoded.
  const std::string tensors = Repeat(Delimited(5, ""), 1'500'000);
  EXPECT_EQ(Refusal(Delimited(7, tensors)),
            "model: would take more than 79108884 bytes once decoded, for a file of 3000005");
}

TEST(HostileOnnx, RefusesManyEmptyStrings) {
  const std::string names = Delimited(1, Repeat(Delimited(1, ""), 2'500'000));
  EXPECT_TRUE(Refusal(Delimited(7, names)).has_value());
}

TEST(HostileOnnx, RefusesDeepNesting) {
  std::string graph;
  for (int depth = 0; depth < 1000; ++depth) {
    graph = Delimited(1, Delimited(5, Delimited(6, graph)));
  }
  EXPECT_EQ(Refusal(Delimited(7, graph)), "model: nests protobuf messages deeper than 64");
}

TEST(HostileOnnx, RefusesAFileLargerThanTheLimit) {
  ImportOptions options;
  options.limits.file_bytes = 10;
  try {
    static_cast<void>(ImportOnnxBytes(std::string(11, 'x'), options));
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "model: is larger than 10 bytes");
  }
}

// --- external data -------------------------------------------------------------------------------

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) /
            ("onnx_external_" + std::to_string(getpid()) + "_" +
             testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "model" / "sub");
    Write(root_ / "secret", "0123456789abcdef");
    Write(root_ / "model" / "weights", "0123456789abcdef");
    Write(root_ / "model" / "sub" / "weights", "0123456789abcdef");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  static void Write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  /// Imports a model whose only weight, f32[2], is at `location`. Gives the message or "".
  std::string Import(const std::string& location, const std::string& offset = "4",
                     const std::string& length = "8", const char* checksum = nullptr) {
    auto model = ModelFromText("(float[2] x) => (float[2] y) { y = Relu(x) }", 13);
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(2);
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& value) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
    if (checksum != nullptr) add("checksum", checksum);
    const std::string path = (root_ / "model" / "m.onnx").string();
    Write(path, BytesOf(model));
    try {
      const Graph graph = ImportOnnx(path);
      const auto raw = graph.constant(graph.FindValue("w"))->Raw();
      read_.assign(reinterpret_cast<const char*>(raw.data()), raw.size());
      return "";
    } catch (const UserError& error) {
      const std::string text = error.what();
      return text.substr(text.find("external data"));
    }
  }

  std::filesystem::path root_;
  std::string read_;
};

TEST_F(ExternalData, IsReadBelowTheFolderOfTheModel) {
  EXPECT_EQ(Import("weights"), "");
  EXPECT_EQ(read_, "456789ab");
  EXPECT_EQ(Import("sub/weights", "8"), "");
  EXPECT_EQ(read_, "89abcdef");
}

TEST_F(ExternalData, IsWhatItsChecksumSays) {
  // SHA-1 of the whole file, not of the tensor's part of it.
  const char* const sum = "fe5567e8d769550852182cdf69d74bb16dff8e29";
  EXPECT_EQ(Import("weights", "4", "8", sum), "");
  EXPECT_EQ(read_, "456789ab");
  EXPECT_EQ(Import("sub/weights", "4", "8", "FE5567E8D769550852182CDF69D74BB16DFF8E29"), "");
  Write(root_ / "model" / "weights", "0123456789abcdeF");
  EXPECT_EQ(Import("weights", "4", "8", sum),
            "external data 'weights' is not the file that the model was written with: its SHA-1 is "
            "190b558cbe9f714777df2e15df88008a14f9f9eb, the model's checksum is " +
                std::string(sum));
  EXPECT_EQ(Import("weights", "4", "8"), "");  // none given, none compared
}

TEST_F(ExternalData, IsRefusedWithAChecksumThatIsNone) {
  for (const std::string sum : {"", "fe5567", "xe5567e8d769550852182cdf69d74bb16dff8e29"}) {
    EXPECT_EQ(Import("weights", "4", "8", sum.c_str()),
              "external data 'weights' has a checksum that is no SHA-1: '" + sum + "'");
  }
}

TEST_F(ExternalData, IsRefusedAboveTheFolderWhereItHasAChecksumToo) {
  EXPECT_EQ(Import("../secret", "4", "8", "fe5567e8d769550852182cdf69d74bb16dff8e29"),
            "external data '../secret' leads out of the model's folder or through a link");
}

TEST_F(ExternalData, IsRefusedAboveTheFolder) {
  const std::string why = " leads out of the model's folder or through a link";
  EXPECT_EQ(Import("../secret"), "external data '../secret'" + why);
  EXPECT_EQ(Import("sub/../../secret"), "external data 'sub/../../secret'" + why);
}

TEST_F(ExternalData, IsRefusedAtAnAbsolutePath) {
  const std::string path = (root_ / "secret").string();
  const std::string message = Import(path);
  EXPECT_NE(message.find("must be a path relative to the model"), std::string::npos) << message;
}

TEST_F(ExternalData, IsRefusedThroughASymbolicLink) {
  std::filesystem::create_symlink(root_ / "secret", root_ / "model" / "link");
  std::filesystem::create_directory_symlink(root_, root_ / "model" / "up");
  const std::string why = " leads out of the model's folder or through a link";
  EXPECT_EQ(Import("link"), "external data 'link'" + why);
  EXPECT_EQ(Import("up/secret"), "external data 'up/secret'" + why);
}

TEST_F(ExternalData, IsRefusedThroughAHardLink) {
  std::filesystem::create_hard_link(root_ / "secret", root_ / "model" / "hard");
  EXPECT_EQ(Import("hard"), "external data 'hard' has other names (hard links)");
}

TEST_F(ExternalData, DoesNotWaitOnANamedPipe) {
  ASSERT_EQ(mkfifo((root_ / "model" / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(Import("pipe"), "external data 'pipe' is not a regular file");
}

TEST_F(ExternalData, IsRefusedPastTheEndOfItsFile) {
  EXPECT_EQ(Import("weights", "12"),
            "external data 'weights' has 16 bytes, but the model wants 8 from byte 12");
  EXPECT_EQ(Import("weights", "18446744073709551615"),
            "external data 'weights' has 16 bytes, but the model wants 8 from byte "
            "18446744073709551615");
}

TEST_F(ExternalData, IsRefusedWhereItIsMissing) {
  EXPECT_EQ(Import("nothing"),
            "external data 'nothing' cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace msc
