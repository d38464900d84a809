#pragma once

#include "cost/model/labels.h"
#include "cost/samples/data_config.h"
#include "cost/samples/sample_files.h"

namespace msc::cost {

/// Reads the boxes of `labels.path`, an object detection file of COCO, for the samples that were
/// read, whose rows `labels` has. Sets form, numbers, inputs and categories.
///
/// - Images of a folder have the boxes of the file name that COCO gives them, relative to the
///   folder or without folders; other samples those of `images` in its order.
/// - Boxes are in pixels of the picture before it got the model's sizes, and go through the same
///   scaling, padding and cropping. What is cut off is left out, as are boxes without an area and
///   crowds (`iscrowd`).
/// - Categories become classes from 0 on, in the order of their ids.
///
/// UserError naming the file and the annotation or sample for a damaged file, an unknown image or
/// category, sizes that are not those of the picture, and numbers that are not finite or negative
/// sizes. Source: https://cocodataset.org/#format-data.
void ReadCoco(const DataConfig& config, const RawSamples& samples, SampleLabels& labels);

}  // namespace msc::cost
