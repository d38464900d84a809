#pragma once

#include <cstdint>
#include <vector>

#include "cost/model/labels.h"
#include "cost/samples/data_config.h"
#include "cost/samples/sample_files.h"

namespace msc::cost {

/// Reads all files of `config.labels` for the samples that were read, those that come for no output
/// by name first. The form follows from a file:
///
/// - .json: boxes of COCO (coco_file.h);
/// - a folder of grey images or .npy files: label maps, one for each sample; if the samples are a
///   folder, too, those of the same names;
/// - .txt, with one line for each sample, and FILE:COLUMN of a CSV file with `config.alphabet`:
///   texts;
/// - others: the rows of an array, or a column of a CSV file: integers or numbers.
///
/// UserError naming the file, and the sample where one is at fault.
[[nodiscard]] std::vector<SampleLabels> ReadSampleLabels(const DataConfig& config,
                                                         const RawSamples& samples);

/// Returns whether labels are one integer >= 0 for each sample.
[[nodiscard]] bool AreClassNumbers(const SampleLabels& labels);
/// Returns the first labels that are class numbers, or none.
[[nodiscard]] std::vector<std::int32_t> ClassNumbersOf(const std::vector<SampleLabels>& labels);

/// Brings labels into another order: sample `i` becomes what sample `order[i]` was.
void Reorder(const std::vector<std::size_t>& order, SampleLabels& labels);

}  // namespace msc::cost
