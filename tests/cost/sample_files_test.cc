#include "cost/samples/sample_files.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "cost/samples/array_file.h"
#include "cost/samples/csv_file.h"
#include "cost/samples/dataset.h"
#include "cost/samples/image_file.h"
#include "cost/samples/sample_folder.h"
#include "tests/support/error_of.h"

namespace msc::cost {
namespace {

/// One a test: ctest runs them at the same time.
std::string Folder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder = testing::TempDir() + "sample_files/" + test->test_suite_name() + "." +
                             std::to_string(std::hash<std::string>{}(test->name()));
  MakeFolders(folder);
  return folder + "/";
}

std::string Written(const std::string& name, const std::string& bytes) {
  const std::string path = Folder() + name;
  MakeFolders(std::filesystem::path(path).parent_path().string());
  std::ofstream(path, std::ios::binary) << bytes;  // without the fsync of WriteFileAtomic
  return path;
}

std::string Deflated(const std::string& bytes, int window) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
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

std::uint32_t Crc(const std::string& bytes) {
  return static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

/// `size` bytes of a number, the lowest first.
std::string Low(std::uint64_t number, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFFU);
  return bytes;
}
std::string High(std::uint64_t number, int size) {
  std::string bytes = Low(number, size);
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

struct Member {
  std::string name;
  std::string bytes;
  bool deflated = true;
};

/// What a zip says where it is not the truth.
struct ZipLies {
  bool zip64 = false;  ///< sizes and offsets in 64 bits: no lie
  std::uint64_t flags = 0;
  std::uint64_t method = 8;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};

std::string Zip(const std::vector<Member>& members, const ZipLies& lies = {}) {
  std::string file;
  std::string directory;
  for (const Member& member : members) {
    const std::string stored = member.deflated ? Deflated(member.bytes, -15) : member.bytes;
    const std::uint64_t size = lies.size != 0 ? lies.size : member.bytes.size();
    const std::uint64_t offset = lies.offset != 0 ? lies.offset : file.size();
    const std::uint64_t most = 0xFFFFFFFF;
    const std::string extra =
        lies.zip64 ? Low(1, 2) + Low(24, 2) + Low(size, 8) + Low(stored.size(), 8) + Low(offset, 8)
                   : "";
    const std::string common = Low(lies.flags, 2) + Low(member.deflated ? lies.method : 0, 2) +
                               Low(0, 4) + Low(Crc(member.bytes), 4) +
                               Low(lies.zip64 ? most : stored.size(), 4) +
                               Low(lies.zip64 ? most : size, 4) + Low(member.name.size(), 2);
    file += "PK\x03\x04" + Low(20, 2) + common + Low(4, 2) + member.name + "more" + stored;
    directory += "PK\x01\x02" + Low(20, 2) + Low(20, 2) + common + Low(extra.size(), 2) +
                 Low(0, 2) + Low(0, 2) + Low(0, 2) + Low(0, 4) +
                 Low(lies.zip64 ? most : offset, 4) + member.name + extra;
  }
  const std::uint64_t at = file.size();
  file += directory;
  std::uint64_t count = members.size();
  if (lies.zip64) {
    file += "PK\x06\x06" + Low(44, 8) + Low(45, 2) + Low(45, 2) + Low(0, 8) + Low(count, 8) +
            Low(count, 8) + Low(directory.size(), 8) + Low(at, 8);
    file += "PK\x06\x07" + Low(0, 4) + Low(at + directory.size(), 8) + Low(1, 4);
    count = 0xFFFF;
  }
  return file + "PK\x05\x06" + Low(0, 4) + Low(count, 2) + Low(count, 2) +
         Low(directory.size(), 4) + Low(lies.zip64 ? 0xFFFFFFFF : at, 4) + Low(3, 2) + "end";
}

/// Bytes of a .npy file of [rows, 2] floats 0, 1, 2, ...
std::string Npy(std::int64_t rows) {
  std::vector<float> values(static_cast<std::size_t>(rows) * 2);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  WriteNpy(Folder() + "array.npy", Tensor::From<float>(DType::kF32, {rows, 2}, values));
  return ReadFile(Folder() + "array.npy");
}

TEST(Npz, ReadsTheArrayThatIsNamed) {
  const std::vector<Member> members = {
      {"a.npy", Npy(3)}, {"b/c.npy", Npy(40)}, {"d.npy", Npy(2), false}};
  for (const bool zip64 : {false, true}) {
    const std::string path = Written("x.npz", Zip(members, {.zip64 = zip64}));
    EXPECT_EQ(ReadNpz(path + ":a").dims(), (Dims{3, 2}));
    EXPECT_EQ(ReadNpz(path + ":d").dims(), (Dims{2, 2}));
    const Tensor rows = ReadNpz(path + ":b/c", {7, 2});
    EXPECT_EQ(rows.dims(), (Dims{2, 2}));
    EXPECT_EQ(rows.Values<float>()[3], 17.0F);
    EXPECT_EQ(ErrorOf([&] { return ReadNpz(path + ":e"); }),
              "write " + path + ":NAME for an array of this file; it holds a, b/c, d");
    EXPECT_NE(ErrorOf([&] { return ReadNpz(path); }), "no error");
  }
  EXPECT_EQ(ReadNpz(Written("one.npz", Zip({{"only.npy", Npy(4)}}))).dims(), (Dims{4, 2}));
}

TEST(Npz, RefusesWhatIsNoArchiveOfArrays) {
  const std::string npy = Npy(3);
  const auto message = [&](const std::string& bytes) {
    const std::string path = Written("bad.npz", bytes);
    return ErrorOf([&] { return ReadNpz(path + ":a"); }).substr(path.size() + 2);
  };
  const std::string damaged = " is not a zip archive, or a damaged one";
  EXPECT_EQ(message(""), damaged);
  EXPECT_EQ(message(npy), damaged);
  EXPECT_EQ(message(Zip({{"a.npy", npy}}, {.flags = 1})), " is encrypted");
  EXPECT_EQ(message(Zip({{"a.npy", npy}}, {.method = 12})),
            ": 'a.npy' is compressed by method 12; supported are 0 (stored) and 8 (deflated)");
  // More than DEFLATE can make of it, less than there is, and elsewhere.
  EXPECT_EQ(message(Zip({{"a.npy", npy}}, {.size = 0xFFFFFFF0})), damaged);
  EXPECT_EQ(message(Zip({{"a.npy", npy}}, {.zip64 = true, .size = std::uint64_t{1} << 62U})),
            damaged);
  EXPECT_EQ(message(Zip({{"a.npy", npy}}, {.offset = 0xFFFFFF00})), damaged);
  EXPECT_EQ(message(Zip({{"a.npy", "text"}})).substr(0, 5), "a.npy");
  // A bomb: 20 MB behind a header that says 24 bytes.
  const std::string bomb = npy + std::string(20'000'000, '\0');
  EXPECT_EQ(message(Zip({{"a.npy", bomb}})), "a.npy' holds more than its header says");
  EXPECT_NE(ErrorOf([&] { return ReadNpz(Folder() + "absent.npz:a"); }), "no error");
}

TEST(Npz, NeverTakesDamageForData) {
  const Tensor good = ReadNpz(Written("good.npz", Zip({{"a.npy", Npy(30)}})) + ":a");
  const std::string bytes = ReadFile(Folder() + "good.npz");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 0x15);
    const std::string path = Written("flipped.npz", other);
    // Times and versions may differ.
    const std::string message =
        ErrorOf([&] { EXPECT_EQ(ReadNpz(path + ":a"), good) << "byte " << i; });
    const std::string cut = Written("cut.npz", bytes.substr(0, i));
    EXPECT_NE(ErrorOf([&] { return ReadNpz(cut + ":a"); }), "no error") << i;
  }
}

Tensor ReadCsv(const std::string& path, const std::string& without, const RowRange& rows = {}) {
  std::vector<float> values;
  std::int64_t count = 0;
  const std::vector<std::string> columns = {without};
  VisitCsv(path, without.empty() ? std::vector<std::string>() : columns, rows,
           [&](const Tensor& row) {
             values.insert(values.end(), row.Values<float>().begin(), row.Values<float>().end());
             ++count;
           });
  return Tensor::From<float>(DType::kF32, {count, std::ssize(values) / count}, values);
}

TEST(Csv, ReadsNumbersInEveryFormSpreadsheetsWrite) {
  const std::string text =
      "\xEF\xBB\xBFlabel, \"x\" ,y\r\n3,1,-2.5e1\r\n\r\n\"4\",+.5,1e-60\n5,7,8";
  for (const bool zipped : {false, true}) {
    const std::string path = Written("a.csv", zipped ? Deflated(text, 31) : text);
    const std::vector<float> all = {3, 1, -25, 4, 0.5F, 0, 5, 7, 8};
    EXPECT_EQ(ReadCsv(path, ""), Tensor::From<float>(DType::kF32, {3, 3}, all));
    const std::vector<float> some = {0.5F, 0};
    EXPECT_EQ(ReadCsv(path, "label", {1, 1}), Tensor::From<float>(DType::kF32, {1, 2}, some));
    EXPECT_EQ(ReadCsv(path, "0").dims(), (Dims{3, 2}));
    const std::vector<std::int64_t> labels = {4, 5};
    EXPECT_EQ(ReadCsvColumn(path, "label", {1, 0}),
              Tensor::From<std::int64_t>(DType::kI64, {2}, labels));
  }
  EXPECT_EQ(ReadCsv(Written("plain.csv", "1\n2"), "").dims(), (Dims{2, 1}));
  std::string many = "1,2\n";  // more than is read at a time
  for (int i = 0; i < 15; ++i) many += many;
  EXPECT_EQ(ReadCsv(Written("many.csv", many), "").dims(), (Dims{32768, 2}));
}

TEST(Csv, NamesLineAndColumnOfWhatIsNoNumber) {
  const auto message = [&](const std::string& text, const RowRange& rows = {}) {
    const std::string path = Written("bad.csv", text);
    return ErrorOf([&] { return ReadCsv(path, "", rows); }).substr(path.size() + 2);
  };
  EXPECT_EQ(message(""), " holds no numbers");
  EXPECT_EQ(message("a,b\n"), " holds no numbers");
  EXPECT_EQ(message("a,b\n1,2\n\n1,nan\n"), ", line 4, column 1: 'nan' is not a finite number");
  EXPECT_EQ(message("1,\n"), ", line 1, column 1: '' is not a finite number");
  EXPECT_EQ(message("1,?\n1,2"), ", line 1, column 1: '?' is not a finite number");
  EXPECT_EQ(message("inf,2\n"), ", line 1, column 0: 'inf' is not a finite number");
  EXPECT_EQ(message("1e39\n"), ", line 1, column 0: '1e39' is not a finite number");
  EXPECT_EQ(message("1 2\n"), ", line 1, column 0: '1 2' is not a finite number");
  EXPECT_EQ(message("1,2\nx,y\n"), ", line 2, column 0: 'x' is not a finite number");
  EXPECT_EQ(message("1,2\n1,2,3\n"), ", line 2 has 3 columns; the first has 2");
  EXPECT_EQ(message("1\n2\n", {1, 2}), " has 2 samples; 2 from number 1 on were requested");
  EXPECT_EQ(message(std::string((1U << 24U) + 70000, '1')), " has a line of more than 16 MiB");
  const std::string path = Written("two.csv", "label,x\n1,2\n2.5,z\n");
  EXPECT_EQ(ErrorOf([&] { return ReadCsvColumn(path, "y"); }),
            "'" + path + "' has no column 'y'; it has 2, numbered from 0, such as label, x");
  EXPECT_EQ(ErrorOf([&] { return ReadCsvColumn(path, "1"); }),
            "'" + path + "', line 3, column 1: 'z' is not a finite number");
  const std::vector<double> values = {1, 2.5};
  EXPECT_EQ(ReadCsvColumn(path, "0"), Tensor::From<double>(DType::kF64, {2}, values));
  EXPECT_EQ(ReadCsvTexts(path, "x"), (std::vector<std::string>{"2", "z"}));
}

std::string Png(std::uint32_t width, std::uint32_t height, int channels, const std::string& bytes) {
  std::string rows;
  const std::size_t row = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  for (std::size_t at = 0; at < bytes.size(); at += row) rows += '\0' + bytes.substr(at, row);
  const auto chunk = [](const std::string& name, const std::string& data) {
    return High(data.size(), 4) + name + data + High(Crc(name + data), 4);
  };
  const char color = channels == 3 ? '\x02' : '\0';
  return "\x89PNG\r\n\x1A\n" +
         chunk("IHDR", High(width, 4) + High(height, 4) + '\x08' + color + std::string(3, '\0')) +
         chunk("IDAT", Deflated(rows, 15)) + chunk("IEND", "");
}

/// 8 x 4 pixels of (200, 100, 50), as cjpeg -quality 50 -sample 1x1 -optimize writes them.
std::string Jpeg() {
  constexpr std::string_view kHex =
      "ffd8ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123251d283a333d3c3933383740485c4e40"
      "4457453738506d51575f626768673e4d71797064785c656763ffdb0043011112121815182f1a1a2f634238426363"
      "63636363636363636363636363636363636363636363636363636363636363636363636363636363636363636363"
      "6363ffc00011080004000803011100021101031101ffc40014000100000000000000000000000000000002ffc400"
      "14100100000000000000000000000000000000ffc40014010100000000000000000000000000000005ffc4001411"
      "0100000000000000000000000000000000ffda000c03010002110311003f0022ccbfffd9";
  std::string bytes;
  for (std::size_t i = 0; i < kHex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(kHex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// Whether this build reads them.
bool Reads(const std::string& path) {
  return ErrorOf([&] { return ReadImage(path); }).find("this build has no") == std::string::npos;
}

TEST(Image, ReadsEveryForm) {
  const std::string pixels = "\x01\x02\x03\xF4\xF5\xF6";
  const Tensor gray = ReadImage(Written("a.pgm", "P5 # words\n# more\n3 2\n255\n" + pixels));
  EXPECT_EQ(gray.dims(), (Dims{2, 3, 1}));
  EXPECT_EQ(gray.Values<std::uint8_t>()[3], 0xF4);
  const Tensor colors = ReadImage(Written("a.ppm", "P6 1 2 255 " + pixels));
  EXPECT_EQ(colors.dims(), (Dims{2, 1, 3}));
  const std::string png = Written("gray.png", Png(3, 2, 1, pixels));
  if (Reads(png)) {
    EXPECT_EQ(ReadImage(png), gray);
    EXPECT_EQ(ReadImage(Written("colors.png", Png(1, 2, 3, pixels))), colors);
  }
  const std::string jpeg = Written("a.jpg", Jpeg());
  if (Reads(jpeg)) {
    const Tensor image = ReadImage(jpeg);
    ASSERT_EQ(image.dims(), (Dims{4, 8, 3}));
    for (std::size_t i = 0; i < 96; ++i) {
      EXPECT_NEAR(image.Values<std::uint8_t>()[i], std::vector<int>({200, 100, 50})[i % 3], 6);
    }
  }
}

TEST(Image, RefusesWhatIsDamagedOrHuge) {
  const auto message = [&](const std::string& bytes) {
    const std::string path = Written("bad", bytes);
    return ErrorOf([&] { return ReadImage(path); }).substr(path.size() + 3);
  };
  EXPECT_EQ(message(""), "is not a PGM, PPM, PNG or JPEG image");
  EXPECT_EQ(message("P5 x"), "is not a PGM or PPM image");
  EXPECT_EQ(message("P5"), "is not a PGM or PPM image");
  EXPECT_EQ(message("P5 2 2 65535 12345678"), "does not have 255 as its largest value");
  EXPECT_EQ(message("P6 2 2 255 12345678901"), "is truncated");
  const std::string huge = " pixels: none, or more than 64 million";
  EXPECT_EQ(message("P5 99999 99999 255 1"), "is 99999 x 99999" + huge);
  EXPECT_EQ(message("P5 0 5 255 "), "is 0 x 5" + huge);
  const std::string png = Png(3, 2, 1, "abcdef");
  const std::string jpeg = Jpeg();
  if (Reads(Written("good.png", png))) {
    EXPECT_EQ(message(Png(99999, 99999, 1, "")), "is 99999 x 99999" + huge);
    for (std::size_t i = 4; i < png.size() - 12; ++i) {  // the last chunk says nothing
      EXPECT_NE(message(png.substr(0, i)), "") << i;
    }
  }
  if (Reads(Written("good.jpg", jpeg))) {
    for (std::size_t i = 2; i < jpeg.size(); ++i) EXPECT_NE(message(jpeg.substr(0, i)), "") << i;
    std::string wide = jpeg;
    wide.replace(jpeg.find("\xFF\xC0") + 5, 4, "\xFF\xDC\xFF\xDC");
    EXPECT_EQ(message(wide).find("is 65500 x 65500"), 0U);
  }
  for (const std::string& good : {png, jpeg}) {
    for (std::size_t i = 0; i < good.size(); ++i) {
      std::string other = good;
      other[i] = static_cast<char>(other[i] ^ 0x22);
      const std::string path = Written("flipped", other);
      (void)ErrorOf([&] { return ReadImage(path); });  // an image or an error, no crash
    }
  }
}

Shape InputOf(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return {Dim::Symbol("n"), channels, height, width};
}

TEST(ImageFolder, HasItsClassesByName) {
  const std::string image = "P5 2 1 255 ";
  std::filesystem::remove_all(Folder() + "set");  // of an earlier run
  (void)Written("set/b/2.pgm", image + "\x05\x06");
  (void)Written("set/b/deep/1.PGM", image + "\x07\x08");
  (void)Written("set/a/x.pgm", image + "\x01\x02");
  (void)Written("set/a/notes.txt", "no image");
  DataConfig config{.format = "folder", .images = Folder() + "set/", .labels = "folders"};
  const Dataset data = LoadDataset(config, InputOf(1, 1, 2));
  EXPECT_EQ(data.inputs.dims(), (Dims{3, 1, 1, 2}));
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{0, 1, 1}));
  EXPECT_EQ(data.inputs.Values<float>()[5], 8.0F / 255.0F);
  // Only what is taken is read.
  (void)Written("set/b/zz.pgm", "damaged");
  config.first = 1;
  config.count = 2;
  EXPECT_EQ(LoadDataset(config, InputOf(3, 1, 2)).labels, (std::vector<std::int32_t>{1, 1}));
  config.labels = Written("labels.csv", "class\n7\n8\n9\n10\n") + ":class";
  EXPECT_EQ(LoadDataset(config, InputOf(1, 1, 2)).labels, (std::vector<std::int32_t>{8, 9}));
  config.labels = {};
  const std::string file = Folder() + "set/b/2.pgm";
  EXPECT_EQ(ErrorOf([&] { return LoadDataset(config, InputOf(1, 2, 2)); }),
            "'" + file +
                "' is 2 x 1 pixels; the model's input needs 2 x 2. Set 'resize' to stretch, pad or "
                "crop images");
  config.image.resize = Resize::kStretch;
  EXPECT_EQ(LoadDataset(config, InputOf(1, 4, 4)).inputs.dims(), (Dims{2, 1, 4, 4}));
  EXPECT_NE(ErrorOf([&] { return LoadDataset(config, InputOf(4, 2, 2)); }).find("[N, 1 or 3, "),
            std::string::npos);
  (void)Written("set/outside.pgm", image + "\x01\x02");
  config.labels = "folders";
  EXPECT_EQ(ErrorOf([&] { return LoadDataset(config, InputOf(1, 1, 2)); }),
            "'" + config.images + "' has samples outside of subfolders: they have no class");
  config.images = Folder() + "set/a/deep";
  EXPECT_NE(ErrorOf([&] { return ListSamples(config.images); }), "no error");
}

/// Ten samples of [2, 3] bytes as files, each with the name of its form.
std::vector<std::pair<std::string, std::string>> FilesOf(const std::vector<std::uint8_t>& bytes) {
  const Tensor tensor = Tensor::From<std::uint8_t>(DType::kU8, {10, 2, 3}, bytes);
  const std::vector<double> wide(bytes.begin(), bytes.end());
  const std::string text(bytes.begin(), bytes.end());
  const std::string idx = std::string({0, 0, 8, 3}) + High(10, 4) + High(2, 4) + High(3, 4) + text;
  WriteNpy(Folder() + "u8.npy", tensor);
  WriteNpy(Folder() + "f64.npy", Tensor::From<double>(DType::kF64, {10, 6}, wide));
  const std::string npy = ReadFile(Folder() + "u8.npy");
  std::string csv;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    csv += std::to_string(bytes[i]) + (i % 6 == 5 ? "\n" : ",");
  }
  for (std::size_t i = 0; i < 10; ++i) {
    (void)Written("images/" + std::to_string(i) + ".pgm", "P5 3 2 255 " + text.substr(6 * i, 6));
  }
  return {{"idx", Written("plain", idx)},
          {"idx", Written("zipped", Deflated(idx, 31))},
          {"npy", Folder() + "u8.npy"},
          {"npz", Written("a.npz", Zip({{"x.npy", npy}}))},
          {"npz", Written("b.npz", Zip({{"x.npy", npy, false}}))},
          {"folder", Folder() + "images"},
          {"npy", Folder() + "f64.npy"},
          {"csv", Written("plain.csv", csv)},
          {"csv", Written("zipped.csv", Deflated(csv, 31))}};
}

TEST(Samples, AreTheSameInEveryFormAndPart) {
  std::vector<std::uint8_t> bytes(60);
  Rng rng(5);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.Below(256));
  for (const auto& [format, file] : FilesOf(bytes)) {
    DataConfig config;
    config.format = format;
    config.images = file;
    const bool are_numbers = config.format == "csv" || config.images.ends_with("f64.npy");
    for (config.shuffle = 0; config.shuffle < 4; ++config.shuffle) {
      // Fisher and Yates's shuffle, from the last on.
      std::vector<std::size_t> order(10);
      std::iota(order.begin(), order.end(), std::size_t{0});
      Rng draw(config.shuffle);
      for (std::size_t i = 10; config.shuffle != 0 && i > 1; --i) {
        std::swap(order[i - 1], order[draw.Below(i)]);
      }
      for (const auto& [first, count] : {RowRange{0, 0}, RowRange{3, 5}, RowRange{9, 1}}) {
        config.first = first;
        config.count = count;
        const DatasetSamples samples(config, InputOf(1, 2, 3));
        const std::int64_t all = count == 0 ? 10 : count;
        ASSERT_EQ(samples.count(), all) << config.images;
        EXPECT_EQ(LoadDataset(config, InputOf(1, 2, 3)).inputs, samples.Read(0, all)[0]);
        for (std::int64_t i = all; i-- > 0;) {
          const std::int64_t most = std::min<std::int64_t>(2, all - i);
          const Tensor read = samples.Read(i, most)[0];
          ASSERT_EQ(read.dims(), (Dims{most, 1, 2, 3}));
          const std::size_t from = 6 * order[static_cast<std::size_t>(first + i)];
          for (std::size_t k = 0; k < 6; ++k) {
            const auto want = static_cast<float>(bytes[from + k]);
            EXPECT_EQ(read.Values<float>()[k], are_numbers ? want : want / 255.0F) << config.images;
          }
        }
      }
      config.count = 8;
      const std::string message =
          ErrorOf([&] { return DatasetSamples(config, InputOf(1, 2, 3)).count(); });
      EXPECT_TRUE(message.ends_with("' has 10 samples; 8 from number 9 on were requested"))
          << message;
    }
  }
}

TEST(Samples, AreTurnedToChannelsFirst) {
  std::vector<std::uint8_t> values(2 * 3 * 2 * 4);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i);
  WriteNpy(Folder() + "hwc.npy", Tensor::From<std::uint8_t>(DType::kU8, {2, 3, 2, 4}, values));
  DataConfig config;
  config.format = "npz";
  config.images = Written("a.npz", Zip({{"x.npy", ReadFile(Folder() + "hwc.npy")}})) + ":x";
  config.layout = "hwc";
  config.mean = {0, 1, 2, 3};
  const Dataset data = LoadDataset(config, InputOf(4, 3, 2));
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t c = 0; c < 4; ++c) {
      for (std::size_t i = 0; i < 6; ++i) {
        const auto byte = static_cast<float>((n * 6 + i) * 4 + c);
        EXPECT_EQ(data.inputs.Values<float>()[(n * 4 + c) * 6 + i],
                  byte / 255.0F - static_cast<float>(c));
      }
    }
  }
  config.image.resize = Resize::kStretch;
  EXPECT_EQ(ErrorOf([&] { return LoadDataset(config, InputOf(4, 3, 2)); }),
            "'resize', 'bgr' and the other keys of images are for images of a folder; arrays must "
            "have the model's sizes and order");
}

template <class T>
std::string NpyOf(DType dtype, const Dims& dims, const std::vector<T>& values) {
  WriteNpy(Folder() + "one.npy", Tensor::From<T>(dtype, dims, values));
  return ReadFile(Folder() + "one.npy");
}

const std::vector<InputForm> kTwoInputs = {{"input/ids:0", DType::kI64, {Dim::Symbol("n"), 3}},
                                           {"x", DType::kF32, {Dim::Symbol("n"), 2, 1}}};

std::string TwoArrays(const std::string& name) {
  const std::vector<std::int32_t> ids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<double> x = {0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4};
  const std::vector<std::int32_t> labels = {3, 2, 1, 0};
  return Written(name, Zip({{"x.npy", NpyOf(DType::kF64, {4, 2}, x)},
                            {"input/ids:0.npy", NpyOf(DType::kI32, {4, 3}, ids)},
                            {"labels.npy", NpyOf(DType::kI32, {4}, labels)}}));
}

TEST(Samples, OfSeveralInputsAreArraysByTheirNames) {
  DataConfig config;
  config.format = "npz";
  config.images = TwoArrays("two.npz");
  config.labels = config.images + ":labels";
  const SampleSet all = LoadSampleSet(config, kTwoInputs);
  ASSERT_EQ(all.inputs.size(), 2U);
  EXPECT_EQ(all.inputs[0], Tensor::From<std::int64_t>(
                               DType::kI64, {4, 3},
                               std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(all.inputs[1],
            Tensor::From<float>(DType::kF32, {4, 2, 1},
                                std::vector<float>{0.5F, 1, 1.5F, 2, 2.5F, 3, 3.5F, 4}));
  EXPECT_EQ(all.labels, (std::vector<std::int32_t>{3, 2, 1, 0}));
  // Another order is one of samples: inputs and labels stay together.
  config.shuffle = 5;
  config.first = 1;
  const DatasetSamples some(config, kTwoInputs);
  ASSERT_EQ(some.count(), 3);
  const std::vector<Tensor> rows = some.Read(0, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto row = (rows[0].Values<std::int64_t>()[3 * i] - 1) / 3;
    EXPECT_EQ(rows[1].Values<float>()[2 * i], 0.5F + static_cast<float>(row));
    EXPECT_EQ(some.labels()[i], 3 - row);
  }
}

TEST(Samples, OfOneInputOfIntegersAreAnyArray) {
  DataConfig config;
  config.format = "npy";
  config.images = Written(
      "ids.npy", NpyOf(DType::kI64, {2, 2}, std::vector<std::int64_t>{7, 1LL << 40, -1, 0}));
  std::vector<InputForm> input = {{"ids", DType::kI64, {Dim::Symbol("n"), 2}}};
  EXPECT_EQ(LoadSampleSet(config, input).inputs[0].Values<std::int64_t>()[1], 1LL << 40);
  input[0].dtype = DType::kI32;
  EXPECT_EQ(ErrorOf([&] { return LoadSampleSet(config, input); }),
            "'" + config.images +
                "' holds 1099511627776, which the model's input 'ids' of i32 cannot represent");
  input[0].dtype = DType::kBool;
  EXPECT_EQ(
      ErrorOf([&] { return LoadSampleSet(config, input); }),
      "'" + config.images + "' holds 7, which the model's input 'ids' of bool cannot represent");
  input[0].dtype = DType::kString;
  EXPECT_EQ(ErrorOf([&] { return LoadSampleSet(config, input); }),
            "'" + config.images + "' holds i64 samples; the model's input 'ids' needs str");
}

TEST(Samples, ThatDoNotFitTheInputsAreRefusedByName) {
  DataConfig config;
  config.format = "npz";
  config.images = TwoArrays("two.npz");
  const auto refusal = [&](std::vector<InputForm> inputs) {
    return ErrorOf([&] { return LoadSampleSet(config, inputs); });
  };
  std::vector<InputForm> inputs = kTwoInputs;
  inputs[1].name = "mask";
  EXPECT_EQ(refusal(inputs),
            "'" + config.images +
                "' has no array 'mask', which the model's input of that name needs; it holds x, "
                "input/ids:0, labels");
  inputs = kTwoInputs;
  inputs[1].dtype = DType::kI64;
  EXPECT_EQ(refusal(inputs),
            "'" + config.images + ":x' holds f64 samples; the model's input 'x' needs i64");
  inputs = kTwoInputs;
  inputs[0].dtype = DType::kF32;
  EXPECT_EQ(refusal(inputs),
            "'" + config.images +
                ":input/ids:0' holds i32 samples; the model's input 'input/ids:0' needs f32");
  inputs = kTwoInputs;
  inputs[0].shape = {Dim::Symbol("n"), 4};
  EXPECT_EQ(refusal(inputs), "one sample of '" + config.images +
                                 ":input/ids:0' is [3]; the model's input needs [4]");
  config.images = Written("uneven.npz", Zip({{"x.npy", Npy(3)}, {"input/ids:0.npy", Npy(4)}}));
  EXPECT_EQ(refusal(kTwoInputs),
            "'" + config.images + "' holds 4 samples for the input 'input/ids:0' and 3 for 'x'");
  config.images =
      Written("infinite.npz",
              Zip({{"x.npy", NpyOf(DType::kF32, {1, 2}, std::vector<float>{1, INFINITY})},
                   {"input/ids:0.npy", NpyOf(DType::kI32, {1, 3}, std::vector<std::int32_t>(3))}}));
  EXPECT_EQ(refusal(kTwoInputs), "'" + config.images +
                                     ":x' (sample 0, counted from 0) holds a number that is not "
                                     "finite");
  config.mean = {0.5};
  EXPECT_EQ(refusal(kTwoInputs),
            "'scale', 'mean', 'std', 'layout' and 'resize' are for models with one input of 32-bit "
            "floats");
  config.mean = {0};
  config.format = "csv";
  EXPECT_EQ(refusal(kTwoInputs),
            "give the samples for 2 inputs as an archive with one array for each input, by its "
            "name: format npz, not csv");
}

}  // namespace
}  // namespace msc::cost
