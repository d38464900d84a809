#include "cost/samples/label_files.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "cost/samples/array_file.h"
#include "cost/samples/dataset.h"
#include "tests/support/error_of.h"

namespace msc::cost {
namespace {

/// One a test: ctest runs them at the same time.
std::string Folder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "." + test->name();
  for (char& c : name) c = c == '/' ? '_' : c;
  return testing::TempDir() + "label_files/" + name + "/";
}

std::string Written(const std::string& name, const std::string& bytes) {
  const std::string path = Folder() + name;
  MakeFolders(std::filesystem::path(path).parent_path().string());
  WriteFileAtomic(path, bytes);
  return path;
}

std::string Grey(std::int64_t width, std::int64_t height, char value = 0) {
  return "P5\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n" +
         std::string(static_cast<std::size_t>(width * height), value);
}

Shape Image(std::int64_t height, std::int64_t width) {
  return {Dim::Symbol("n"), Dim(1), Dim(height), Dim(width)};
}

/// Three samples [1, 2, 2] of an array.
DataConfig Arrays() {
  const std::vector<float> values(12, 1);
  MakeFolders(Folder());
  WriteNpy(Folder() + "x.npy", Tensor::From<float>(DType::kF32, {3, 1, 2, 2}, values));
  DataConfig config;
  config.images = Folder() + "x.npy";
  return config;
}

std::vector<SampleLabels> Read(const DataConfig& config, const Shape& shape = Image(2, 2)) {
  return DatasetSamples(config, shape).all_labels();
}

TEST(LabelPaths, AreAStringOrAnObjectInJson) {
  const auto read = [](const std::string& json) {
    return FromJsonText<DataConfig>(R"({"labels":)" + json + "}", "it").labels;
  };
  const auto written = [](const LabelPaths& labels) {
    DataConfig config;
    config.labels = labels;
    return WriteJson(config)["labels"].dump();
  };
  EXPECT_TRUE(read(R"("")").empty());
  EXPECT_EQ(read(R"("a.npy")"), LabelPaths("a.npy"));
  EXPECT_EQ(written(LabelPaths("a.npy")), R"("a.npy")");
  EXPECT_EQ(written({}), R"("")");
  const LabelPaths two = read(R"({"mask":"m.npy","":"c.npy"})");
  EXPECT_EQ(two.files.at("mask"), "m.npy");
  EXPECT_EQ(written(two), R"({"":"c.npy","mask":"m.npy"})");
  EXPECT_EQ(ErrorOf([&] { (void)read("3"); }),
            "'labels' must be a file, or an object of files by output");
  EXPECT_EQ(ErrorOf([&] { (void)read(R"({"a":3})"); }), "'labels.a' must be a string, not 3");
}

TEST(LabelPaths, AreReadFromACommandLine) {
  LabelPaths paths;
  AddLabels("c.npy", paths);
  AddLabels("mask=m.npy", paths);
  EXPECT_EQ(paths.files, (std::map<std::string, std::string>{{"", "c.npy"}, {"mask", "m.npy"}}));
  EXPECT_EQ(ErrorOf([&] { AddLabels("mask=n.npy", paths); }),
            "labels 'mask=n.npy': output 'mask' has labels already");
  EXPECT_EQ(ErrorOf([&] { AddLabels("d.npy", paths); }),
            "labels 'd.npy': another file came without an output; write OUTPUT=FILE");
  EXPECT_EQ(ErrorOf([&] { AddLabels("mask=", paths); }),
            "labels 'mask=': write FILE or OUTPUT=FILE");
  LabelPaths named;
  const std::string file = Written("a=b.npy", "");
  AddLabels(file, named);
  EXPECT_EQ(named.files.at(""), file) << "a file of that name exists";
}

TEST(LabelFiles, HoldIntegersNumbersAndMaps) {
  DataConfig config = Arrays();
  const std::vector<std::int64_t> classes = {2, 0, 1};
  WriteNpy(Folder() + "classes.npy", Tensor::From<std::int64_t>(DType::kI64, {3}, classes));
  const std::vector<double> values = {0.5, -1, 2, 3, 4, 5};
  WriteNpy(Folder() + "values.npy", Tensor::From<double>(DType::kF64, {3, 2}, values));
  config.labels.files = {{"", Folder() + "classes.npy"}, {"y", Folder() + "values.npy"}};
  const std::vector<SampleLabels> labels = Read(config);
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_EQ(labels[0].form, LabelForm::kIntegers);
  EXPECT_EQ(labels[1].form, LabelForm::kNumbers);
  EXPECT_EQ(labels[1].output, "y");
  EXPECT_EQ(labels[1].dims, (Dims{2}));
  EXPECT_EQ(labels[1].numbers.values, (std::vector<float>{0.5F, -1, 2, 3, 4, 5}));
  EXPECT_EQ(labels[1].numbers.ends, (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_EQ(ClassNumbersOf(labels), (std::vector<std::int32_t>{2, 0, 1}));
  config.first = 1;
  config.count = 1;
  EXPECT_EQ(Read(config)[1].numbers.values, (std::vector<float>{2, 3}));
  EXPECT_EQ(Read(config)[1].rows, (std::vector<std::int64_t>{1}));
}

TEST(LabelFiles, HoldTexts) {
  DataConfig config = Arrays();
  config.alphabet = Written("alphabet.txt", "a\nb\r\n \n");
  config.labels = Written("lines.txt",
                          "\xEF\xBB\xBF"
                          "a b\r\n\nbb");
  const SampleLabels labels = Read(config)[0];
  EXPECT_EQ(labels.texts, (std::vector<std::string>{"a b", "", "bb"}));
  EXPECT_EQ(labels.alphabet, (std::vector<std::string>{"a", "b", " "}));
  config.labels = Written("t.csv", "id,word\n1,a b\n2,\"b\"\n3,bb\n") + ":word";
  EXPECT_EQ(Read(config)[0].texts, (std::vector<std::string>{"a b", "b", "bb"}));
  config.first = 2;
  EXPECT_EQ(Read(config)[0].texts, (std::vector<std::string>{"bb"}));
}

TEST(LabelFiles, KeepTheOrderOfTheSamples) {
  std::filesystem::remove_all(Folder());  // files of another version would be labels, too
  DataConfig config;
  config.images = Folder() + "x/";
  config.labels = Folder() + "maps";
  // Two sizes, so the samples are grouped: a, c, b.
  (void)Written("x/a.pgm", Grey(2, 2));
  (void)Written("x/b.pgm", Grey(3, 2));
  (void)Written("x/c.pgm", Grey(2, 2));
  (void)Written("maps/a.pgm", Grey(2, 2, 1));
  (void)Written("maps/b.pgm", Grey(3, 2, 2));
  (void)Written("maps/c.pgm", Grey(2, 2, 3));
  const Shape shape = {Dim::Symbol("n"), Dim(1), Dim::Symbol("h"), Dim::Symbol("w")};
  const SampleLabels labels = Read(config, shape)[0];
  EXPECT_EQ(labels.form, LabelForm::kIntegers);
  EXPECT_EQ(labels.rows, (std::vector<std::int64_t>{0, 2, 1}));
  EXPECT_EQ(labels.numbers.ends, (std::vector<std::int64_t>{4, 8, 14}));
  EXPECT_EQ(labels.numbers.Of(1)[0], 3);
  EXPECT_EQ(labels.numbers.Of(2)[5], 2);
  std::filesystem::remove(Folder() + "maps/b.pgm");
  EXPECT_EQ(ErrorOf([&] { (void)Read(config, shape); }),
            "'" + Folder() + "maps' has no label map for '" + Folder() +
                "x/b.pgm': it needs a file of the same name");
  (void)Written("maps/b.ppm", "P6\n1 1\n255\nabc");
  EXPECT_NE(ErrorOf([&] { (void)Read(config, shape); }).find("maps/b.ppm' has colours"),
            std::string::npos);
}

TEST(LabelFiles, ThatDoNotFitTheSamplesAreNamed) {
  DataConfig config = Arrays();
  const auto message = [&](const std::string& file) {
    config.labels = file;
    const std::string text = ErrorOf([&] { (void)Read(config); });
    return text.substr(text.find("' ") + 1);
  };
  const std::string lines = Written("lines.txt", "a\nb\n");
  EXPECT_NE(message(lines).find(" holds texts: name a file with the classes"), std::string::npos);
  config.alphabet = Written("alphabet.txt", "a\nb\n");
  EXPECT_EQ(message(lines), " has 2 lines for 3 samples");
  EXPECT_EQ(message(Written("more.txt", "a\nb\na\nb\n")), " has 4 lines for 3 samples");
  const std::vector<float> bad = {0, 1, std::nanf("")};
  WriteNpy(Folder() + "nan.npy", Tensor::From<float>(DType::kF32, {3}, bad));
  EXPECT_NE(message(Folder() + "nan.npy").find("holds a number that is not finite"),
            std::string::npos);
  const std::vector<std::int64_t> large = {0, 1, std::int64_t{1} << 40U};
  WriteNpy(Folder() + "large.npy", Tensor::From<std::int64_t>(DType::kI64, {3}, large));
  EXPECT_NE(message(Folder() + "large.npy").find("holds 1099511627776; labels are below 2^24"),
            std::string::npos);
}

// --- boxes ---

std::string Coco(const std::string& images, const std::string& annotations) {
  return R"({"images":[)" + images + R"(],"annotations":[)" + annotations +
         R"(],"categories":[{"id":7,"name":"b"},{"id":3,"name":"a"}]})";
}

std::string Annotation(const std::string& box, const std::string& more = "") {
  return R"({"image_id":5,"category_id":7,"bbox":)" + box + more + "}";
}

/// A picture of 40 x 20 pixels in a folder, for a model of 20 x 20.
DataConfig Picture(const std::string& annotations, Resize resize) {
  (void)Written("pictures/deep/a.pgm", Grey(40, 20));
  DataConfig config;
  config.images = Folder() + "pictures";
  config.image.resize = resize;
  config.labels =
      Written("boxes.json", Coco(R"({"id":5,"file_name":"deep/a.pgm","width":40,"height":20},
              {"id":6,"file_name":"none.pgm","width":1,"height":1})",
                                 annotations));
  return config;
}

TEST(Coco, BoxesGoThroughTheSameScalingAsThePicture) {
  const auto boxes = [](const std::string& box, Resize resize) {
    return Read(Picture(Annotation(box), resize), Image(20, 20))[0].numbers.values;
  };
  using Numbers = std::vector<float>;
  EXPECT_EQ(boxes("[4,6,8,10]", Resize::kStretch), (Numbers{2, 6, 6, 16, 1}));
  // 20 x 10 pixels, 5 from the top.
  EXPECT_EQ(boxes("[4,6,8,10]", Resize::kPad), (Numbers{2, 8, 6, 13, 1}));
  // The middle 20 columns: 10 are cut off on the left.
  EXPECT_EQ(boxes("[4,6,8,10]", Resize::kCrop), (Numbers{0, 6, 2, 16, 1}));
  EXPECT_EQ(boxes("[4,6,5,10]", Resize::kCrop), Numbers{}) << "all of it is cut off";
  EXPECT_EQ(boxes("[-4,6,8.5,100]", Resize::kStretch), (Numbers{0, 6, 2.25F, 20, 1}));
  EXPECT_EQ(boxes("[4,6,0,10]", Resize::kStretch), Numbers{});
}

TEST(Coco, LeavesOutCrowdsAndCountsCategoriesByTheirIds) {
  const SampleLabels labels =
      Read(Picture(Annotation("[4,6,8,10]", R"(,"iscrowd":1)") + "," +
                       R"({"image_id":5,"category_id":3,"bbox":[0,0,4,4],"iscrowd":0})",
                   Resize::kStretch),
           Image(20, 20))[0];
  EXPECT_EQ(labels.form, LabelForm::kBoxes);
  EXPECT_EQ(labels.numbers.values, (std::vector<float>{0, 0, 2, 4, 0}));
  EXPECT_EQ(labels.categories, 2);
  EXPECT_EQ(labels.inputs, (std::vector<std::array<float, 2>>{{20, 20}}));
}

TEST(Coco, TakesImagesInTheirOrderWhereSamplesAreArrays) {
  DataConfig config = Arrays();
  const std::string images = R"({"id":9,"width":2,"height":2},{"id":5,"width":2,"height":2},
                                {"id":1,"width":2,"height":2})";
  config.labels = Written("boxes.json", Coco(images, Annotation("[0,0,1,2]")));
  EXPECT_EQ(Read(config)[0].numbers.ends, (std::vector<std::int64_t>{0, 5, 5}));
  EXPECT_EQ(Read(config)[0].numbers.values, (std::vector<float>{0, 0, 1, 2, 1}));
  config.first = 1;
  config.count = 1;
  EXPECT_EQ(Read(config)[0].numbers.ends, (std::vector<std::int64_t>{5}));
}

struct BadCoco {
  std::string name;
  std::string text;
  std::string message;  // after the name of the file
};
void PrintTo(const BadCoco& bad, std::ostream* out) {
  *out << bad.name;
}

class BadCocos : public testing::TestWithParam<BadCoco> {};

TEST_P(BadCocos, AreNamed) {
  DataConfig config = Picture("", Resize::kStretch);
  config.labels = Written("boxes.json", GetParam().text);
  const std::string message = ErrorOf([&] { (void)Read(config, Image(20, 20)); });
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
}

const std::string kImage = R"({"id":5,"file_name":"a.pgm","width":40,"height":20})";

INSTANTIATE_TEST_SUITE_P(
    Coco, BadCocos,
    testing::Values(
        BadCoco{"NoJson", "{", "boxes.json'"},
        BadCoco{"NoCoco", "[]",
                "' is no file of COCO: it needs the lists 'images', 'annotations' and "
                "'categories'"},
        BadCoco{"NoLists", R"({"images":3})", "' is no file of COCO"},
        BadCoco{"NaN", Coco(kImage, Annotation("[NaN,0,1,1]")), "boxes.json'"},
        BadCoco{"Infinite", Coco(kImage, Annotation("[1e999,0,1,1]")), "boxes.json'"},
        BadCoco{"Negative", Coco(kImage, Annotation("[1,1,-2,3]")),
                "': annotations[0] has a 'bbox' of negative size"},
        BadCoco{"Three", Coco(kImage, Annotation("[1,1,2]")),
                "': annotations[0] needs a 'bbox' of four finite numbers: x, y, width, height"},
        BadCoco{"Word", Coco(kImage, Annotation(R"(["a",1,2,3])")), "': annotations[0] needs"},
        BadCoco{"NoImage", Coco(kImage, R"({"image_id":4,"category_id":7,"bbox":[1,1,2,3]})"),
                "': annotations[0] is for image 4, which is not in 'images'"},
        BadCoco{"NoCategory", Coco(kImage, R"({"image_id":5,"category_id":1,"bbox":[1,1,2,3]})"),
                "': annotations[0] is of category 1, which is not in 'categories'"},
        BadCoco{"HugeId", Coco(kImage, R"({"image_id":1e30,"category_id":1,"bbox":[1,1,2,3]})"),
                "': annotations[0] needs a whole number as 'image_id'"},
        BadCoco{"TwoImages", Coco(kImage + "," + kImage, ""),
                "': images[1] has the id of another image"},
        BadCoco{"NoSize", Coco(R"({"id":5,"file_name":"a.pgm"})", ""),
                "': images[0] needs a whole number as 'width'"},
        BadCoco{"HugeSize",
                Coco(R"({"id":5,"file_name":"a.pgm","width":99999999999,"height":1})", ""),
                "': images[0] has the width 99999999999; sizes are 1 to 1000000 pixels"},
        BadCoco{"OtherSize", Coco(R"({"id":5,"file_name":"a.pgm","width":41,"height":20})", ""),
                "a.pgm' is 41 x 20 pixels; it is 40 x 20"},
        BadCoco{"OtherName", Coco(R"({"id":5,"file_name":"b.pgm","width":40,"height":20})", ""),
                "' has no image, or several, with the name of '"},
        BadCoco{"TwoOfAName",
                Coco(R"({"id":5,"file_name":"x/a.pgm","width":40,"height":20},
                        {"id":6,"file_name":"y/a.pgm","width":40,"height":20})",
                     ""),
                "' has no image, or several, with the name of '"}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace msc::cost
