#include "cost/samples/dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "cost/samples/array_file.h"
#include "cost/samples/sample_dims.h"

namespace msc::cost {
namespace {

/// One a test: ctest runs them at the same time.
std::string Folder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "." + test->name();
  std::replace(name.begin(), name.end(), '/', '.');
  std::string folder = testing::TempDir() + "cost_dataset/" + name;
  MakeFolders(folder);
  return folder + "/";
}

std::string Gzip(const std::string& bytes) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(bytes.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Idx(const std::vector<std::uint32_t>& dims, const std::string& values,
                char type = '\x08') {
  std::string bytes = {0, 0, type, static_cast<char>(dims.size())};
  for (const std::uint32_t size : dims) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 0xFFU);
  }
  return bytes + values;
}

std::string Npy(const std::string& header, const std::string& values) {
  std::string bytes = "\x93NUMPY\x01";
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xFFU);
  bytes += static_cast<char>(header.size() >> 8U);
  return bytes + header + values;
}

std::string Sequence(int count) {
  std::string values;
  for (int i = 0; i < count; ++i) values += static_cast<char>(i);
  return values;
}

std::string MessageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Idx, ReadsPlainAndGzipAlike) {
  const std::string bytes = Idx({4, 2, 3}, Sequence(24));
  WriteFileAtomic(Folder() + "plain", bytes);
  WriteFileAtomic(Folder() + "zipped", Gzip(bytes));
  const Tensor plain = ReadIdx(Folder() + "plain");
  EXPECT_EQ(plain.dims(), (Dims{4, 2, 3}));
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(plain.Values<std::uint8_t>()[i], i);
  EXPECT_EQ(ReadIdx(Folder() + "zipped"), plain);
}

TEST(Idx, ReadsTheRowsThatAreAskedFor) {
  WriteFileAtomic(Folder() + "rows", Idx({4, 2}, Sequence(8)));
  WriteFileAtomic(Folder() + "rows.gz", Gzip(Idx({4, 2}, Sequence(8))));
  for (const std::string& name : {std::string("rows"), std::string("rows.gz")}) {
    const Tensor rows = ReadIdx(Folder() + name, {1, 2});
    EXPECT_EQ(rows.dims(), (Dims{2, 2}));
    EXPECT_EQ(rows.Values<std::uint8_t>()[0], 2);
    EXPECT_EQ(rows.Values<std::uint8_t>()[3], 5);
    EXPECT_EQ(ReadIdx(Folder() + name, {3, 0}).dims(), (Dims{1, 2}));
  }
}

struct BadFile {
  std::string label;
  std::string bytes;
  std::string message;  ///< after the quoted path
};
void PrintTo(const BadFile& bad, std::ostream* out) {
  *out << bad.label;
}

class BadIdx : public testing::TestWithParam<BadFile> {};

TEST_P(BadIdx, IsRefusedWithAReason) {
  const std::string path = Folder() + "bad_" + GetParam().label;
  WriteFileAtomic(path, GetParam().bytes);
  EXPECT_EQ(MessageOf([&] { (void)ReadIdx(path); }), "'" + path + "'" + GetParam().message);
}

std::string Flipped(std::string bytes, std::size_t from_end) {
  bytes[bytes.size() - from_end] = static_cast<char>(bytes[bytes.size() - from_end] ^ 0x10);
  return bytes;
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadIdx,
    testing::Values(
        BadFile{"empty", "", " is truncated"},
        BadFile{"magic", "PK\x03\x04 and more", " is not an IDX file"},
        BadFile{"rank0", Idx({}, ""), " is not an IDX file"},
        BadFile{"type", Idx({1}, "abcd", '\x0D'),
                " holds IDX element type 13; only 8 (unsigned bytes) is supported"},
        BadFile{"cut_header", Idx({4, 2}, "").substr(0, 9), " is truncated"},
        BadFile{"cut_values", Idx({4, 2}, Sequence(7)), " is truncated"},
        BadFile{"longer", Idx({4, 2}, Sequence(9)), " holds more than its header says"},
        BadFile{"huge", Idx({0x7FFFFFFF, 64}, "x"), " is truncated"},
        BadFile{"huge_gzip", Gzip(Idx({0x7FFFFFFF, 64}, "x")), " is truncated"},
        BadFile{"negative", Idx({0xFFFFFFFF, 2}, "x"), " claims a dimension of 4294967295"},
        BadFile{"cut_gzip", Gzip(Idx({4, 500}, Sequence(2000))).substr(0, 60), " is truncated"},
        BadFile{"gzip_checksum", Flipped(Gzip(Idx({4, 2}, Sequence(8))), 6), " is damaged"}),
    [](const auto& test) { return test.param.label; });

/// By itself, as it takes time to make and parameters are made for every test of the program.
TEST(Idx, RefusesABomb) {
  const std::string path = Folder() + "bomb";
  WriteFileAtomic(path, Gzip(Idx({4, 2}, std::string(50'000'000, '\0'))));
  EXPECT_EQ(MessageOf([&] { (void)ReadIdx(path); }),
            "'" + path + "' holds more than its header says");
}

TEST(Idx, NeverCrashesOnDamagedFiles) {
  const std::string good = Gzip(Idx({4, 30}, Sequence(120)));
  const std::string path = Folder() + "damaged";
  for (std::size_t i = 0; i < good.size(); i += 3) {
    WriteFileAtomic(path, Flipped(good, i + 1));
    const std::string message = MessageOf([&] { (void)ReadIdx(path); });
    // Bytes of the gzip header that nothing depends on (time, system) may differ.
    if (i + 10 < good.size()) {
      EXPECT_NE(message, "no error") << "byte " << good.size() - i - 1;
    }
  }
}

TEST(Npy, ReadsBackEveryTypeItWrites) {
  const std::vector<float> values = {1.5F, -0.0F, 3e38F, 4, 5, 6};
  const std::vector<std::int64_t> longs = {1, -2, INT64_MAX};
  for (const Tensor& tensor :
       {Tensor::From<float>(DType::kF32, {3, 1, 2}, values),
        Tensor::From<std::int64_t>(DType::kI64, {3}, longs), Tensor(DType::kU8, {2, 2}),
        Tensor(DType::kI32, {5}), Tensor(DType::kF64, {2, 0}), Tensor(DType::kF16, {3}),
        Tensor(DType::kI8, {3}), Tensor(DType::kI16, {3}), Tensor(DType::kU16, {3}),
        Tensor(DType::kU32, {3}), Tensor(DType::kU64, {3}), Tensor(DType::kBool, {3, 2}),
        Tensor(DType::kC64, {3}), Tensor(DType::kC128, {1, 3})}) {
    WriteNpy(Folder() + "round.npy", tensor);
    EXPECT_EQ(ReadNpy(Folder() + "round.npy"), tensor);
    EXPECT_EQ(ReadArrayForm("npy", Folder() + "round.npy").dims, tensor.dims());
  }
}

TEST(Npy, GrowsByRowsWhoseNumberIsNotKnownBefore) {
  const std::string path = Folder() + "grown.npy";
  std::vector<float> values(2 * 123'456);
  std::iota(values.begin(), values.end(), 0.0F);
  const std::span<const float> all(values);
  NpyWriter writer(path);
  writer.Append(Tensor::From<float>(DType::kF32, {1, 2}, all.first(2)));
  writer.Append(Tensor::From<float>(DType::kF32, {123'455, 2}, all.subspan(2)));
  writer.Finish();
  EXPECT_EQ(ReadNpy(path), Tensor::From<float>(DType::kF32, {123'456, 2}, all));
  CopyNpyRows(path, {1000, 77}, Folder() + "part.npy");
  EXPECT_EQ(ReadNpy(Folder() + "part.npy"), ReadNpy(path, {1000, 77}));
}

TEST(Npy, HoldsASingleNumber) {
  Tensor number(DType::kI16, {});
  number.MutableValues<std::int16_t>()[0] = -7;
  WriteNpy(Folder() + "number.npy", number);
  EXPECT_EQ(ReadNpyArray(Folder() + "number.npy"), number);
}

TEST(Npy, RefusesToWriteWhatNumpyLacksAndThenWritesNothing) {
  const Tensor fine(DType::kF32, {2});
  const Tensor bf16(DType::kBF16, {2});
  const std::string folder = Folder();
  const std::vector<NamedArray> arrays = {{folder + "a.npy", &fine}, {folder + "b.npy", &bf16}};
  EXPECT_EQ(MessageOf([&] { WriteNpyFiles(arrays); }),
            "'" + folder + "b.npy': a NumPy file cannot hold bf16");
  EXPECT_FALSE(std::filesystem::exists(folder + "a.npy"));
}

TEST(Npy, TurnsBigEndianNumbers) {
  const std::string path = Folder() + "big.npy";
  WriteFileAtomic(path, Npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}",
                            std::string("\x01\x02\xff\xfe", 4)));
  const Tensor read = ReadNpy(path);
  EXPECT_EQ(read.Values<std::int16_t>()[0], 0x102);
  EXPECT_EQ(read.Values<std::int16_t>()[1], -2);
  WriteFileAtomic(path, Npy("{'descr': '>c8', 'fortran_order': False, 'shape': (1,)}",
                            std::string("\x3f\x80\0\0\x40\0\0\0", 8)));
  const std::array<float, 2> parts = {1, 2};
  EXPECT_TRUE(std::ranges::equal(ReadNpy(path).Raw(), std::as_bytes(std::span(parts))));
}

/// Values count up in C order of [3, 2, 2]; so the file has 0, 4, 8, 2, 6, 10, 1, ...
TEST(Npy, TurnsFortranOrder) {
  std::string values;
  for (int c = 0; c < 2; ++c) {
    for (int b = 0; b < 2; ++b) {
      for (int a = 0; a < 3; ++a) values += static_cast<char>(4 * a + 2 * b + c);
    }
  }
  const std::string path = Folder() + "fortran.npy";
  WriteFileAtomic(path, Npy("{'descr': '|u1', 'fortran_order': True, 'shape': (3, 2, 2)}", values));
  const Tensor all = ReadNpy(path);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(all.Values<std::uint8_t>()[i], i);
  const Tensor rows = ReadNpy(path, {1, 1});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(rows.Values<std::uint8_t>()[i], 4 + i);
  std::vector<std::uint8_t> visited;
  VisitRows("npy", path, {1, 2}, [&](const Tensor& row) {
    for (const std::uint8_t value : row.Values<std::uint8_t>()) visited.push_back(value);
  });
  EXPECT_EQ(visited, (std::vector<std::uint8_t>{4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(Npy, AlignsItsValuesAsNumpyDoes) {
  WriteNpy(Folder() + "aligned.npy", Tensor(DType::kF32, {7, 3}));
  const std::string bytes = ReadFile(Folder() + "aligned.npy");
  EXPECT_EQ((bytes.size() - 7 * 3 * 4) % 64, 0U);
  EXPECT_TRUE(
      bytes.substr(10).starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (7,3,), }"));
}

TEST(Npy, ReadsRowsFromTheMiddle) {
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  WriteNpy(Folder() + "middle.npy", Tensor::From<float>(DType::kF32, {3, 2}, values));
  const Tensor row = ReadNpy(Folder() + "middle.npy", {1, 1});
  EXPECT_EQ(row.dims(), (Dims{1, 2}));
  EXPECT_EQ(row.Values<float>()[1], 3.0F);
}

TEST(Npy, RefusesRowsThatAreNotThere) {
  const std::string path = Folder() + "few.npy";
  WriteNpy(path, Tensor(DType::kF32, {3, 2}));
  EXPECT_EQ(MessageOf([&] {
              (void)ReadNpy(path, {2, 2});
            }),
            "'" + path + "' has 3 samples; 2 from number 2 on were requested");
}

class BadNpy : public testing::TestWithParam<BadFile> {};

TEST_P(BadNpy, IsRefusedWithAReason) {
  const std::string path = Folder() + "bad_" + GetParam().label + ".npy";
  WriteFileAtomic(path, GetParam().bytes);
  EXPECT_EQ(MessageOf([&] { (void)ReadNpy(path); }), "'" + path + "'" + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadNpy,
    testing::Values(
        BadFile{"magic", "not numpy at all", " is not a NumPy array file"},
        BadFile{"short", "\x93NUM", " is truncated"},
        BadFile{"order", Npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", "abcd"),
                " has a header that is not NumPy's"},
        BadFile{
            "type", Npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}", "abcd"),
            " holds elements of type '<U1'; supported are numbers: f2, f4, f8, i1 to i8, u1 to u8, "
            "b1, c8 and c16"},
        BadFile{"records",
                Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd"),
                " holds records, not numbers"},
        BadFile{"bool", Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "\x01\x02"),
                " holds a bool that is neither 0 nor 1"},
        BadFile{"cut_fortran",
                Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", "abcdabcd"),
                " is truncated"},
        BadFile{"no_shape", Npy("{'descr': '<f4', 'fortran_order': False}", "abcd"),
                " has a header that is not NumPy's"},
        BadFile{"open", Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,", "abcd"),
                " has a header that is not NumPy's"},
        BadFile{"digits",
                Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,)}", ""),
                " has a header that is not NumPy's"},
        BadFile{"cut", Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "abcd"),
                " is truncated"},
        BadFile{"longer", Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "abcdef"),
                " holds more than its header says"},
        BadFile{"scalar", Npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "abcd"),
                " holds a single number, not samples"}),
    [](const auto& test) { return test.param.label; });

DataConfig IdxConfig() {
  WriteFileAtomic(Folder() + "images", Idx({3, 2, 2}, Sequence(12)));
  WriteFileAtomic(Folder() + "labels", Idx({3}, Sequence(3)));
  DataConfig config;
  config.images = Folder() + "images";
  config.labels = Folder() + "labels";
  return config;
}

Shape ImageShape() {
  return {Dim::Symbol("batch"), 1, 2, 2};
}

TEST(Dataset, NormalizesBytesInSinglePrecision) {
  DataConfig config = IdxConfig();
  config.mean = {0.286};
  config.std = {0.353};
  const Dataset data = LoadDataset(config, ImageShape());
  EXPECT_EQ(data.inputs.dims(), (Dims{3, 1, 2, 2}));
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(data.inputs.Values<float>()[i], (static_cast<float>(i) / 255.0F - 0.286F) / 0.353F);
  }
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(Dataset, NormalizesEveryChannelByItsOwnNumbers) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
  WriteNpy(Folder() + "channels.npy", Tensor::From<float>(DType::kF32, {2, 2, 2}, values));
  DataConfig config;
  config.format = "npy";
  config.images = Folder() + "channels.npy";
  config.mean = {1, 3};
  config.std = {1, 2};
  const Dataset data = LoadDataset(config, {Dim::Symbol("n"), 2, 2});
  const std::vector<float> wanted = {0, 1, 0, 0.5F, 4, 5, 2, 2.5F};
  EXPECT_EQ(data.inputs, Tensor::From<float>(DType::kF32, {2, 2, 2}, wanted));
  EXPECT_TRUE(data.labels.empty());
}

TEST(Dataset, TakesTheSamplesThatTheConfigurationNames) {
  DataConfig config = IdxConfig();
  config.first = 1;
  config.count = 1;
  const Dataset data = LoadDataset(config, ImageShape());
  EXPECT_EQ(data.size(), 1);
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{1}));
  EXPECT_EQ(data.inputs.Values<float>()[0], 4.0F / 255.0F);
}

TEST(Dataset, RefusesSamplesThatDoNotFitTheModel) {
  const DataConfig config = IdxConfig();
  EXPECT_EQ(MessageOf([&] {
              (void)LoadDataset(config, {Dim::Symbol("batch"), 3, 2, 2});
            }),
            "one sample of '" + config.images + "' is [2,2]; the model's input needs [3,2,2]");
}

TEST(Dataset, RefusesLabelsOfAnotherCount) {
  const DataConfig config = IdxConfig();
  WriteFileAtomic(config.labels.files.at(""), Idx({2}, Sequence(2)));
  EXPECT_EQ(MessageOf([&] { (void)LoadDataset(config, ImageShape()); }),
            "'" + config.labels.files.at("") + "' holds labels of shape [2] for 3 samples");
}

TEST(Dataset, RefusesAMeanForChannelsThatAreNotThere) {
  DataConfig config = IdxConfig();
  config.mean = {1, 2, 3};
  EXPECT_EQ(MessageOf([&] { (void)LoadDataset(config, ImageShape()); }),
            "'mean' has 3 numbers; it needs one, or one for each of 1 channels");
}

TEST(Dataset, RefusesSamplesThatAreNotFinite) {
  const std::vector<float> values = {1, std::numeric_limits<float>::infinity()};
  const std::string path = Folder() + "infinite.npy";
  WriteNpy(path, Tensor::From<float>(DType::kF32, {2, 1}, values));
  DataConfig config;
  config.format = "npy";
  config.images = path;
  EXPECT_EQ(MessageOf([&] {
              (void)LoadDataset(config, {Dim::Symbol("n"), 1});
            }),
            "'" + path + "' (sample 1, counted from 0) holds a number that is not finite");
}

TEST(Dataset, TakesNumbersOfEveryType) {
  const std::string path = Folder() + "numbers.npy";
  const auto first = [&](const Tensor& tensor) {
    WriteNpy(path, tensor);
    DataConfig config;
    config.images = path;
    return LoadDataset(config, {Dim::Symbol("n"), 1}).inputs.Values<float>()[0];
  };
  const std::array<std::int8_t, 1> i8 = {-3};
  const std::array<std::uint16_t, 1> u16 = {40000};
  const std::array<std::int64_t, 1> i64 = {-5};
  const std::array<std::uint16_t, 1> f16 = {ToF16(1.5F)};
  const std::array<std::uint8_t, 1> bytes = {1};
  EXPECT_EQ(first(Tensor::From<std::int8_t>(DType::kI8, {1, 1}, i8)), -3.0F);
  EXPECT_EQ(first(Tensor::From<std::uint16_t>(DType::kU16, {1, 1}, u16)), 40000.0F);
  EXPECT_EQ(first(Tensor::From<std::int64_t>(DType::kI64, {1, 1}, i64)), -5.0F);
  EXPECT_EQ(first(Tensor::From<std::uint16_t>(DType::kF16, {1, 1}, f16)), 1.5F);
  EXPECT_EQ(first(Tensor::From<std::uint8_t>(DType::kBool, {1, 1}, bytes)), 1.0F);
  EXPECT_EQ(first(Tensor::From<std::uint8_t>(DType::kU8, {1, 1}, bytes)), 1.0F / 255.0F);
}

TEST(Dataset, TakesAllWhereFewerWillDo) {
  DataConfig config = IdxConfig();
  config.count = 5;
  config.or_fewer = true;
  EXPECT_EQ(LoadDataset(config, ImageShape()).size(), 3);
  config.first = 2;
  EXPECT_EQ(LoadDataset(config, ImageShape()).labels, (std::vector<std::int32_t>{2}));
  config.first = 0;
  config.count = 2;
  EXPECT_EQ(LoadDataset(config, ImageShape()).size(), 2);
  config.or_fewer = false;
  config.count = 5;
  EXPECT_EQ(MessageOf([&] { (void)LoadDataset(config, ImageShape()); }),
            "'" + config.images + "' has 3 samples; 5 from number 0 on were requested");
}

TEST(Dataset, NamesALabelThatIsNoClassByItsRowInTheFile) {
  DataConfig config = IdxConfig();
  config.first = 1;
  EXPECT_EQ(MessageOf([&] { (void)LoadDataset(config, ImageShape(), 2); }),
            "'" + config.labels.files.at("") +
                "' holds 2 in row 2, counted from 0; the model has 2 classes, 0 to 1");
  EXPECT_EQ(LoadDataset(config, ImageShape(), 3).labels, (std::vector<std::int32_t>{1, 2}));
  config.first = 0;
  for (config.shuffle = 1; config.shuffle < 5; ++config.shuffle) {
    EXPECT_EQ(MessageOf([&] { (void)LoadDataset(config, ImageShape(), 2); }),
              "'" + config.labels.files.at("") +
                  "' holds 2 in row 2, counted from 0; the model has 2 classes, 0 to 1");
  }
}

/// A row of `own` sizes for an input of `wanted`; "no" where it is refused.
std::string Fitted(const Dims& own, const Shape& wanted) {
  try {
    return ToString(FitDims(own, wanted, "f"));
  } catch (const UserError& error) {
    return std::string("no") +
           (std::string(error.what()).find("--layout hwc") != std::string::npos ? ", hwc" : "");
  }
}

TEST(Dataset, FitsSamplesWhoseAxesAgree) {
  const Dim open = Dim::Symbol("s");
  EXPECT_EQ(Fitted({3, 8, 8}, {3, 8, 8}), "[3,8,8]");
  EXPECT_EQ(Fitted({28, 28}, {1, 28, 28}), "[1,28,28]");
  EXPECT_EQ(Fitted({28, 28, 1}, {1, 28, 28}), "[1,28,28]");
  EXPECT_EQ(Fitted({28, 28}, {784}), "[784]");
  EXPECT_EQ(Fitted({192}, {3, 8, 8}), "[3,8,8]");
  EXPECT_EQ(Fitted({5, 7}, {1, open, open}), "[1,5,7]");
  EXPECT_EQ(Fitted({}, {1}), "[1]");
  EXPECT_EQ(Fitted({8, 8, 3}, {3, 8, 8}), "no, hwc");
  EXPECT_EQ(Fitted({8, 8, 3}, {3, open, open}), "no, hwc");
  EXPECT_EQ(Fitted({16, 3}, {3, 16}), "no, hwc");
  EXPECT_EQ(Fitted({3, 4, 16}, {3, 8, 8}), "no");
  EXPECT_EQ(Fitted({3, 8, 9}, {3, 8, 8}), "no");
}

TEST(Dataset, AreShuffledWithTheirLabels) {
  std::string text = "class,x\n";
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + "," + std::to_string(2 * i) + "\n";
  const std::string path = Folder() + "all.csv";
  WriteFileAtomic(path, text);
  DataConfig config{.format = "csv", .images = path, .labels = path + ":class", .shuffle = 7};
  std::set<std::int32_t> seen;
  for (const std::int64_t first : {0, 30}) {
    config.first = first;
    config.count = first == 0 ? 30 : 0;
    const Dataset part = LoadDataset(config, {Dim::Symbol("n"), 1});
    EXPECT_EQ(part.size(), first == 0 ? 30 : 20);
    for (std::int64_t i = 0; i < part.size(); ++i) {
      const std::int32_t label = part.labels[static_cast<std::size_t>(i)];
      EXPECT_EQ(part.inputs.Values<float>()[static_cast<std::size_t>(i)],
                2.0F * static_cast<float>(label));
      seen.insert(label);
    }
    EXPECT_FALSE(std::is_sorted(part.labels.begin(), part.labels.end()));
    EXPECT_EQ(LoadDataset(config, {Dim::Symbol("n"), 1}).labels, part.labels);
  }
  EXPECT_EQ(seen.size(), 50U);
  const std::vector<std::int64_t> labels(49, 1);
  WriteNpy(Folder() + "few.npy", Tensor::From<std::int64_t>(DType::kI64, {49}, labels));
  config.images = Folder() + "x.csv";
  WriteFileAtomic(config.images, text.substr(text.find('\n')));
  config.labels = Folder() + "few.npy";
  EXPECT_EQ(MessageOf([&] {
              (void)LoadDataset(config, {Dim::Symbol("n"), 2});
            }),
            "'" + config.labels.files.at("") + "' holds 49 labels, fewer than there are samples");
}

TEST(Dataset, IsWrittenWithoutBeingHeld) {
  WriteFileAtomic(Folder() + "images", Idx({70, 2, 2}, Sequence(280)));
  DataConfig config;
  config.images = Folder() + "images";
  const Dataset whole = LoadDataset(config, ImageShape());
  const DatasetSamples samples(config, ImageShape());
  WriteNpy(Folder() + "whole.npy", whole.inputs);
  WriteNpy(Folder() + "parts.npy", samples);
  EXPECT_EQ(ReadFile(Folder() + "parts.npy"), ReadFile(Folder() + "whole.npy"));
  EXPECT_EQ(MessageOf([&] { (void)samples.Read(69, 2); }),
            "there are 70 samples; 2 from number 69 on were requested");
  EXPECT_EQ(samples.Read(70, 0)[0].dims(), (Dims{0, 1, 2, 2}));
}

TEST(Slice, TakesSamplesAndTheirLabels) {
  const Dataset data = LoadDataset(IdxConfig(), ImageShape());
  const Dataset slice = Slice(data, 1, 2);
  EXPECT_EQ(slice.inputs.dims(), (Dims{2, 1, 2, 2}));
  EXPECT_EQ(slice.inputs.Values<float>()[0], data.inputs.Values<float>()[4]);
  EXPECT_EQ(slice.labels, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(MessageOf([&] { (void)Slice(data, 2, 2); }),
            "there are 3 samples; 2 from number 2 on were requested");
}

TEST(FashionMnist, IsReadAsItIsShipped) {
  const std::string folder = "/usr/share/datasets/fashion-mnist/";
  if (!std::filesystem::exists(folder + "t10k-images-idx3-ubyte.gz")) {
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  DataConfig config;
  config.images = folder + "t10k-images-idx3-ubyte.gz";
  config.labels = folder + "t10k-labels-idx1-ubyte.gz";
  const Dataset data = LoadDataset(config, {Dim::Symbol("batch"), 1, 28, 28});
  EXPECT_EQ(data.inputs.dims(), (Dims{10000, 1, 28, 28}));
  std::vector<int> count(10);
  for (const std::int32_t label : data.labels) ++count.at(static_cast<std::size_t>(label));
  EXPECT_EQ(count, std::vector<int>(10, 1000));
}

}  // namespace
}  // namespace msc::cost
