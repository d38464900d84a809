#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cost/model/labels.h"

namespace msc::cost {

/// Labels of an output, one list for each sample.
inline OutputLabels LabelsOf(std::string output, LabelKind kind,
                             const std::vector<std::vector<float>>& samples) {
  OutputLabels labels{.output = std::move(output), .kind = kind};
  for (const std::vector<float>& sample : samples) labels.numbers.Append(sample);
  return labels;
}

/// What a file of one class number for each sample holds.
inline SampleLabels ClassFile(const std::vector<std::int32_t>& classes) {
  SampleLabels labels{.form = LabelForm::kIntegers, .output = "", .path = "labels.npy"};
  for (const std::int32_t number : classes) {
    labels.rows.push_back(labels.size());
    const auto value = static_cast<float>(number);
    labels.numbers.Append({&value, 1});
  }
  return labels;
}

}  // namespace msc::cost
