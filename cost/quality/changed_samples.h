#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// A sample whose output changed much.
struct ChangedSample {
  std::int64_t sample = 0;  ///< its number, from 0
  std::string output;       ///< the output that changed most
  std::string measure;      ///< name of a loss (cost/model/loss.h), or kLargestDifference
  double change = 0;
  std::string before;  ///< what the uncompressed model decides: "3", "17 4 4", "0.12, 3.4"
  std::string after;
  bool operator==(const ChangedSample&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("sample", self.sample, "number of the sample, from 0", Within{.least = 0});
    visit("output", self.output, "output that changed most");
    visit("measure", self.measure, "what `change` is");
    visit("change", self.change, "how much it changed");
    visit("before", self.before, "decision or values of the uncompressed model");
    visit("after", self.after, "those of the candidate");
  }
};

/// Measure of outputs that are only numbers: the largest difference of one of them. Their losses
/// are relative to the deviation over many samples.
inline constexpr std::string_view kLargestDifference = "largest_difference";

/// Collects the samples whose outputs a candidate changes most. Each output is measured on one
/// sample at a time: by `loss` if its form has it for a single sample, else by the distillation
/// loss, the cosine distance of an embedding, or kLargestDifference.
class ChangeMeter {
 public:
  /// Keeps at most `most` samples.
  ChangeMeter(OutputForms forms, std::string loss, std::size_t most);

  /// Adds outputs of the same samples, the first of which has the number `first`. Both have equal
  /// dims and hold finite numbers.
  void Add(std::int64_t first, std::span<const Tensor> reference,
           std::span<const Tensor> candidate);

  /// Returns the samples that changed at all, the most changed one first. With several outputs,
  /// measures in different units are compared as they are.
  [[nodiscard]] std::vector<ChangedSample> Largest() const;

 private:
  struct Ranked {
    double first = 0;   ///< by the measure
    double second = 0;  ///< by the distillation loss, where measures are equal
    ChangedSample sample;
  };
  [[nodiscard]] Ranked Measure(const NamedForm& form, const Dims& dims, std::span<const double> p,
                               std::span<const double> q) const;

  OutputForms forms_;
  std::string loss_;
  std::size_t most_;
  std::vector<Ranked> kept_;  // the most changed one first
};

}  // namespace msc::cost
