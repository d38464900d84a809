#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/ir/tensor.h"
#include "cost/samples/data_config.h"
#include "cost/samples/image_fit.h"
#include "cost/samples/sample_dims.h"
#include "cost/samples/sample_folder.h"

namespace msc::cost {

/// A picture before and after it got the sizes of a model's input.
struct Picture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  ImageSize input = {};
};

/// A sample of a folder.
struct OneSample {
  Tensor values;                        ///< [1, ...]
  std::optional<Picture> picture = {};  ///< if it is an image
};

/// Reads a file of a folder that holds one sample. Images and audio get the sizes of
/// `input`, where it has any; arrays may have a first axis of 1 that counts samples. `rate` is that
/// of the audio so far, 0 for none, and becomes that of this file. UserError naming the file if it
/// is damaged or does not fit.
[[nodiscard]] OneSample ReadOne(FileKind kind, const std::string& file, const DataConfig& config,
                                const InputForm& input, std::int64_t& rate);

/// Returns the name of the array for `input` in a file of a folder of .npz files: that of the
/// input, unless the file holds one array.
[[nodiscard]] std::string MemberOf(const std::string& file, const std::string& input);

/// Converts [N, H, W, C] to [N, C, H, W], and [N, L, C] likewise. UserError naming `path` if there
/// are no channels.
[[nodiscard]] Tensor ChannelsFirst(const Tensor& images, const std::string& path);

}  // namespace msc::cost
