#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/enum_form.h"
#include "compiler/base/shape.h"
#include "compiler/base/string_form.h"

namespace msc::cost {

/// Some numbers for each sample, which need not be equally many.
struct NumbersBySample {
  std::vector<float> values;       ///< of all samples, one after the other
  std::vector<std::int64_t> ends;  ///< for each sample, where its numbers end in `values`
  [[nodiscard]] std::int64_t size() const { return std::ssize(ends); }
  [[nodiscard]] std::span<const float> Of(std::int64_t sample) const {
    const auto i = static_cast<std::size_t>(sample);
    const std::int64_t first = i == 0 ? 0 : ends[i - 1];
    return std::span(values).subspan(static_cast<std::size_t>(first),
                                     static_cast<std::size_t>(ends.at(i) - first));
  }
  void Append(std::span<const float> numbers) {
    values.insert(values.end(), numbers.begin(), numbers.end());
    ends.push_back(std::ssize(values));
  }
  bool operator==(const NumbersBySample&) const = default;
};

/// The unit of the boxes that an output holds.
enum class BoxUnits : unsigned char {
  kAuto,    ///< found by the boxes of the uncompressed model
  kPixels,  ///< pixels of the model's input
  kUnit,    ///< shares of its width and height, from 0 to 1
};
inline constexpr std::array<std::string_view, 3> kBoxUnits = {"auto", "pixels", "unit"};

/// What a file of labels holds.
enum class LabelForm : unsigned char { kIntegers, kNumbers, kTexts, kBoxes };

/// Labels of samples, as a file holds them. What they mean follows from the output that they belong
/// to (BindLabels).
struct SampleLabels {
  LabelForm form = LabelForm::kIntegers;
  std::string output = {};              ///< empty = the first one that can have them
  std::string path = {};                ///< for errors
  std::vector<std::int64_t> rows = {};  ///< for errors: number of each sample, from 0
  /// Integers and numbers; of boxes x0, y0, x1, y1 in pixels of the model's input, and the class.
  NumbersBySample numbers = {};
  Dims dims = {};                          ///< of the first sample's integers or numbers
  std::vector<std::string> texts = {};     ///< one for each sample
  std::vector<std::string> alphabet = {};  ///< of texts: names of the classes
  std::string alphabet_path = {};
  std::int64_t categories = 0;  ///< of boxes: classes in the file
  std::vector<std::array<float, 2>> inputs =
      {};                            ///< of boxes: width and height of each sample's input
  BoxUnits units = BoxUnits::kAuto;  ///< of the output's boxes
  [[nodiscard]] std::int64_t size() const { return std::ssize(rows); }
};

/// How labels are compared with an output.
enum class LabelKind : unsigned char {
  kClasses,    ///< a class for each decision; -1 = not labelled
  kMaps,       ///< the same for the positions of a map
  kValues,     ///< what each number should be
  kSequences,  ///< what a CTC decoder should read; -1 = none
  kBoxes,      ///< x0, y0, x1, y1 in the units of the output, and the class
};
inline constexpr std::array<std::string_view, 5> kLabelKinds = {"classes", "maps", "values",
                                                                "sequences", "boxes"};

/// Labels of one output, checked to fit it.
struct OutputLabels {
  std::string output = {};
  LabelKind kind = LabelKind::kClasses;
  NumbersBySample numbers = {};
};

/// The labels of a batch: those of the samples from `first` on, none by default.
struct LabelRows {
  std::span<const OutputLabels> labels = {};
  std::int64_t first = 0;
};

}  // namespace msc::cost

namespace msc {

template <>
struct StringForm<cost::BoxUnits> : EnumForm<cost::BoxUnits, cost::kBoxUnits> {};
template <>
struct StringForm<cost::LabelKind> : EnumForm<cost::LabelKind, cost::kLabelKinds> {};

}  // namespace msc
