#include "cost/samples/coco_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/json_value.h"
#include "cost/samples/image_fit.h"

namespace msc::cost {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 29U;
constexpr std::int64_t kMaxSide = 1'000'000;
constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

struct CocoBox {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  std::int64_t category = 0;  // its number among the ids
};

struct CocoImage {
  std::string file;
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<CocoBox> boxes;
};

struct Coco {
  std::vector<CocoImage> images;
  std::int64_t categories = 0;
};

std::optional<std::array<double, 4>> FourNumbers(const Json& list) {
  std::array<double, 4> numbers{};
  if (!list.is_array() || list.size() != numbers.size()) return std::nullopt;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!list[i].is_number()) return std::nullopt;
    numbers.at(i) = list[i].get<double>();
    if (!std::isfinite(numbers.at(i))) return std::nullopt;
  }
  return numbers;
}

class Reader {
 public:
  explicit Reader(const std::string& path)
      : path_(path), json_(ParseJson(ReadFile(path, kMaxBytes), "'" + path + "'")) {}

  Coco Read() {
    Coco coco;
    const std::map<std::int64_t, std::int64_t> categories = Categories();
    coco.categories = std::ssize(categories);
    std::map<std::int64_t, std::size_t> by_id;
    const Json& images = List("images");
    for (std::size_t i = 0; i < images.size(); ++i) {
      const std::string where = "images[" + std::to_string(i) + "]";
      if (!by_id.emplace(Integer(images[i], "id", where), i).second) {
        Reject(where, "has the id of another image");
      }
      CocoImage& image = coco.images.emplace_back();
      image.width = Side(images[i], "width", where);
      image.height = Side(images[i], "height", where);
      if (const auto name = images[i].find("file_name"); name != images[i].end()) {
        if (!name->is_string()) Reject(where, "has a 'file_name' that is not a text");
        image.file = name->get<std::string>();
      }
    }
    const Json& annotations = List("annotations");
    for (std::size_t i = 0; i < annotations.size(); ++i) {
      const std::string where = "annotations[" + std::to_string(i) + "]";
      const std::int64_t id = Integer(annotations[i], "image_id", where);
      const auto image = by_id.find(id);
      if (image == by_id.end()) {
        Reject(where, "is for image " + std::to_string(id) + ", which is not in 'images'");
      }
      if (auto box = Box(annotations[i], categories, where)) {
        coco.images[image->second].boxes.push_back(*box);
      }
    }
    return coco;
  }

 private:
  [[noreturn]] void Reject(const std::string& where, const std::string& why) const {
    throw UserError("'" + path_ + "': " + where + " " + why);
  }

  [[nodiscard]] const Json& List(const char* key) const {
    const auto found = json_.is_object() ? json_.find(key) : json_.end();
    if (found != json_.end() && found->is_array()) return *found;
    throw UserError("'" + path_ +
                    "' is no file of COCO: it needs the lists 'images', "
                    "'annotations' and 'categories'");
  }

  [[nodiscard]] std::int64_t Integer(const Json& object, const char* key,
                                     const std::string& where) const {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (found == object.end() || !found->is_number_integer()) {
      Reject(where, std::string("needs a whole number as '") + key + "'");
    }
    return found->get<std::int64_t>();
  }

  [[nodiscard]] std::int64_t Side(const Json& object, const char* key,
                                  const std::string& where) const {
    const std::int64_t side = Integer(object, key, where);
    if (side < 1 || side > kMaxSide) {
      Reject(where, std::string("has the ") + key + " " + std::to_string(side) +
                        "; sizes are 1 to " + std::to_string(kMaxSide) + " pixels");
    }
    return side;
  }

  [[nodiscard]] std::map<std::int64_t, std::int64_t> Categories() const {
    std::set<std::int64_t> ids;
    const Json& categories = List("categories");
    for (std::size_t i = 0; i < categories.size(); ++i) {
      const std::string where = "categories[" + std::to_string(i) + "]";
      if (!ids.insert(Integer(categories[i], "id", where)).second) {
        Reject(where, "has the id of another category");
      }
    }
    std::map<std::int64_t, std::int64_t> numbers;
    for (const std::int64_t id : ids) numbers.emplace(id, std::ssize(numbers));
    return numbers;
  }

  /// Returns nothing for a crowd, and for a box without an area.
  [[nodiscard]] std::optional<CocoBox> Box(const Json& annotation,
                                           const std::map<std::int64_t, std::int64_t>& categories,
                                           const std::string& where) const {
    const std::int64_t id = Integer(annotation, "category_id", where);
    const auto category = categories.find(id);
    if (category == categories.end()) {
      Reject(where, "is of category " + std::to_string(id) + ", which is not in 'categories'");
    }
    const auto box =
        annotation.contains("bbox") ? FourNumbers(annotation.at("bbox")) : std::nullopt;
    if (!box) Reject(where, "needs a 'bbox' of four finite numbers: x, y, width, height");
    const auto [x, y, width, height] = *box;
    const CocoBox found{x, y, width, height, category->second};
    if (found.width < 0 || found.height < 0) Reject(where, "has a 'bbox' of negative size");
    const auto crowd = annotation.find("iscrowd");
    const bool is_crowd = crowd != annotation.end() && *crowd != 0 && *crowd != false;
    if (is_crowd || found.width == 0 || found.height == 0) return std::nullopt;
    return found;
  }

  const std::string& path_;
  Json json_;
};

/// Finds images by the name of a file.
class ByName {
 public:
  explicit ByName(const Coco& coco) {
    for (std::size_t i = 0; i < coco.images.size(); ++i) {
      const std::filesystem::path file(coco.images[i].file);
      Add(file.generic_string(), i);
      if (file.has_parent_path()) Add(file.filename().string(), i);
    }
  }
  /// Returns kNowhere if no image, or more than one, has the name.
  [[nodiscard]] std::size_t Find(const std::string& file, const std::string& folder) const {
    const std::filesystem::path path(file);
    for (const std::string& name :
         {path.lexically_relative(folder).generic_string(), path.filename().string()}) {
      const auto found = by_name_.find(name);
      if (found != by_name_.end() && found->second != kNowhere) return found->second;
    }
    return kNowhere;
  }

 private:
  void Add(const std::string& name, std::size_t image) {
    const auto [place, is_new] = by_name_.emplace(name, image);
    if (!is_new && place->second != image) place->second = kNowhere;
  }
  std::map<std::string, std::size_t> by_name_;
};

/// Returns the sizes of an array as a picture: [C, H, W], [H, W, C] or [H, W].
ImageSize SizeOf(const Dims& dims, const std::string& path) {
  const auto counts = [](std::int64_t extent) { return extent == 1 || extent == 3; };
  if (dims.size() == 2) return {.channels = 1, .height = dims[0], .width = dims[1]};
  if (dims.size() == 3 && counts(dims[0])) return {dims[0], dims[1], dims[2]};
  if (dims.size() == 3 && counts(dims[2])) return {dims[2], dims[0], dims[1]};
  throw UserError("'" + path + "' holds boxes, which are for pictures; samples are " +
                  ToString(dims));
}

std::string Sizes(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + " x " + std::to_string(height);
}

/// Appends the boxes of an image, as they are in the model's input.
void Append(const CocoImage& image, const Picture& picture, const ImageFit& fit,
            SampleLabels& labels) {
  const Placement placed = PlaceImage(fit, picture.input, picture.height, picture.width);
  const double across = static_cast<double>(placed.width) / static_cast<double>(picture.width);
  const double down = static_cast<double>(placed.height) / static_cast<double>(picture.height);
  const auto x_of = [&](double x) {
    return std::clamp(x * across + static_cast<double>(placed.left), 0.0,
                      static_cast<double>(picture.input.width));
  };
  const auto y_of = [&](double y) {
    return std::clamp(y * down + static_cast<double>(placed.top), 0.0,
                      static_cast<double>(picture.input.height));
  };
  std::vector<float> numbers;
  for (const CocoBox& box : image.boxes) {
    const double x0 = x_of(box.x);
    const double y0 = y_of(box.y);
    const double x1 = x_of(box.x + box.width);
    const double y1 = y_of(box.y + box.height);
    if (x1 <= x0 || y1 <= y0) continue;
    for (const double number : {x0, y0, x1, y1}) numbers.push_back(static_cast<float>(number));
    numbers.push_back(static_cast<float>(box.category));
  }
  labels.numbers.Append(numbers);
  labels.inputs.push_back(
      {static_cast<float>(picture.input.width), static_cast<float>(picture.input.height)});
}

}  // namespace

void ReadCoco(const DataConfig& config, const RawSamples& samples, SampleLabels& labels) {
  const Coco coco = Reader(labels.path).Read();
  const ByName by_name(coco);
  labels.form = LabelForm::kBoxes;
  labels.categories = coco.categories;
  const bool by_file = !samples.pictures.empty();
  const std::int64_t last = *std::ranges::max_element(labels.rows);
  const bool whole = samples.rows.empty() && config.count == 0;
  const std::int64_t images = std::ssize(coco.images);
  if (!by_file && (images <= last || (whole && images != last + 1))) {
    throw UserError("'" + labels.path + "' has " + std::to_string(images) + " images for " +
                    std::to_string(last + 1) + " samples");
  }
  for (std::size_t i = 0; i < labels.rows.size(); ++i) {
    const std::string sample =
        by_file ? "'" + samples.files[i] + "'"
                : "sample " + std::to_string(labels.rows[i]) + ", counted from 0,";
    const std::size_t at = by_file ? by_name.Find(samples.files[i], config.images)
                                   : static_cast<std::size_t>(labels.rows[i]);
    if (at == kNowhere) {
      throw UserError("'" + labels.path + "' has no image, or several, with the name of " + sample);
    }
    const CocoImage& image = coco.images[at];
    Picture picture;
    if (by_file) {
      picture = samples.pictures[i];
    } else {
      picture.input = SizeOf(samples.dims, labels.path);
      picture.height = picture.input.height;
      picture.width = picture.input.width;
    }
    if (picture.width != image.width || picture.height != image.height) {
      throw UserError("'" + labels.path + "' says that " + sample + " is " +
                      Sizes(image.width, image.height) + " pixels; it is " +
                      Sizes(picture.width, picture.height) +
                      ". Boxes must be in pixels of the samples as they are read");
    }
    Append(image, picture, config.image, labels);
  }
}

}  // namespace msc::cost
