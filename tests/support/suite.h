#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// A network of docs/benchmarks.md, with an input as small as the network accepts.
struct SuiteModel {
  std::string name;
  std::string path;  ///< relative to the source root
  Dims input;        ///< of one sample, without the batch axis
  bool fixed_batch = false;
  friend void PrintTo(const SuiteModel& model, std::ostream* out);
};
[[nodiscard]] const std::vector<SuiteModel>& Suite();

/// Returns why a model is missing here; empty if it is available.
[[nodiscard]] std::string AbsenceOf(const SuiteModel& model);

/// Returns the canonical graph of a model for `batch` samples, with all sizes static.
[[nodiscard]] Graph LoadSuiteModel(const SuiteModel& model, std::int64_t batch);

}  // namespace msc
