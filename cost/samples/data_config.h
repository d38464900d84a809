#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "cost/model/labels.h"
#include "cost/samples/image_fit.h"
#include "cost/samples/label_paths.h"

namespace msc::cost {

/// Where samples come from and how they become inputs of the model. Images, audio and arrays for a
/// model with one f32 input are normalised: (x * scale - mean) / std.
struct DataConfig {
  /// "idx": IDX, plain or gzip; "npy": NumPy arrays; "npz": archives of these, FILE.npz:NAME;
  /// "csv": one line of numbers per sample, plain or gzip; "folder": one file for each sample, in
  /// it and in its subfolders, see ListSamples; "auto": by the name, see FormOf.
  std::string format = "auto";
  std::string images = {};  ///< file or folder of samples, [N, ...]
  /// See ReadSampleLabels; empty if there are none. The format follows from the name, else it is
  /// that of the samples. For a CSV file FILE:COLUMN; if the samples come from the same file, that
  /// column is left out of them. "folders" takes the subfolder of a file as its class, numbered by
  /// name.
  LabelPaths labels = {};
  std::string alphabet = {};             ///< file with the classes of labels that are texts
  BoxUnits box_units = BoxUnits::kAuto;  ///< of the output that labelled boxes belong to
  /// 0: 1 / 255 for bytes, else 1
  double scale = 0;
  std::vector<double> mean = {0};  ///< one, or one per channel (axis 1 of [N, C, ...], or the last)
  std::vector<double> std = {1};   ///< one, or one per channel
  std::string layout = "as_is";    ///< of arrays; "hwc": channels last, converted to channels first
  ImageFit image = {};             ///< for images of a folder
  std::int64_t sample_rate = 0;    ///< of audio in Hz; 0 = any, but that of all files
  bool cut = false;                ///< whether audio gets the model's length, see FitWave
  /// Inputs that have one number for all samples, such as a threshold, by name.
  std::map<std::string, double> constants = {};
  /// Axis along which an input or output counts samples, by name; -1 = none, see PlaceSamples.
  std::map<std::string, std::int64_t> batch_axis = {};
  std::uint64_t shuffle = 0;  ///< 0: order of the file; else the seed of a random order
  std::int64_t first = 0;     ///< samples to skip, in that order
  std::int64_t count = 0;     ///< samples to take; 0 = all the others
  /// Whether fewer samples than `count` are accepted. Not a config key: callers set it for a
  /// default `count` that the user did not choose.
  bool or_fewer = false;
  static void Fields(auto& self, auto& visit) {
    visit(
        "format", self.format,
        "format of the files; auto = recognised by the name, a folder as one file for each sample",
        Within::OneOf({"auto", "idx", "npy", "npz", "csv", "folder"}));
    visit("images", self.images, "file or folder with the samples");
    visit("labels", self.labels,
          "what outputs should be: class numbers, label maps, values, texts or boxes (COCO JSON), "
          "see docs/samples.md: a file, FILE:COLUMN of a CSV file, a folder of maps, or `folders` "
          "(the subfolders of the samples are classes), for the first output that can have it; or "
          "an object with one for each output: {\"mask\": \"masks.npy\"}; empty = none");
    visit("alphabet", self.alphabet,
          "labels that are texts: file with the classes of the output, one on each line in their "
          "order");
    visit("box_units", self.box_units,
          "labels that are boxes: unit of the output's boxes: pixels of the model's input, unit "
          "(shares of its width and height), or auto (found by the uncompressed model's boxes)");
    visit("scale", self.scale,
          "factor of the values, before the mean is subtracted; 0 = 1/255 for bytes, else 1. With "
          "1, mean and std are in the range of bytes",
          Within{0, 1e30});
    visit("mean", self.mean, "subtracted from the values: one number, or one per channel",
          Within{-1e30, 1e30});
    visit("std", self.std, "divisor of the values: one number, or one per channel",
          Within{1e-30, 1e30});
    visit("layout", self.layout, "layout of arrays in the files; hwc = channels last",
          Within::OneOf({"as_is", "hwc"}));
    ImageFit::Fields(self.image, visit);
    visit(
        "sample_rate", self.sample_rate,
        "audio: samples per second that all files must have; 0 = any rate that is the same for all",
        Within{0, 1e7});
    visit("cut", self.cut,
          "audio: take the beginning of a file that is longer than the model's input, and fill up "
          "shorter ones with zeros");
    visit("constants", self.constants,
          "inputs that have one number for all samples, by name, such as a threshold",
          Within{-1e30, 1e30});
    visit("batch_axis", self.batch_axis,
          "axis along which an input or output counts samples, by name, where it is not found; "
          "-1 = it has none: one sample for each call",
          Within{-1, 15});
    visit("shuffle", self.shuffle, "seed of a random order of the samples; 0 = order of the files");
    visit("first", self.first, "number of samples to skip", Within{0, 2147483647});
    visit("count", self.count, "number of samples to use after that; 0 = all",
          Within{0, 2147483647});
  }
};

}  // namespace msc::cost
