#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// A network of docs/benchmarks.md, on an input as small as it can take.
struct SuiteModel {
  std::string name;
  std::string path;  ///< from the source root
  Dims input;        ///< of one sample, without the batch
  bool fixed_batch = false;
  friend void PrintTo(const SuiteModel& model, std::ostream* out);
};
[[nodiscard]] const std::vector<SuiteModel>& Suite();

/// Why a model cannot be had here; empty if it can.
[[nodiscard]] std::string AbsenceOf(const SuiteModel& model);

/// The canonical graph of a model for so many samples, all sizes static.
[[nodiscard]] Graph LoadSuiteModel(const SuiteModel& model, std::int64_t batch);

}  // namespace msc
