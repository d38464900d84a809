#include "cost/measure/metric_library.h"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <span>

#include <dlfcn.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/ir/tensor.h"
#include "cost/measure/metric_abi.h"
#include "cost/measure/metric_folder.h"
#include "cost/samples/array_file.h"

namespace msc::cost {
namespace {

using Function = int (*)(const MscMetricCall*, double*);

Function Load(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  // NOLINTBEGIN(concurrency-mt-unsafe): one thread
  if (library == nullptr) throw UserError("cannot load it: " + std::string(::dlerror()));
  void* const function = ::dlsym(library, "MscMetric");
  if (function == nullptr) throw UserError("it has no function MscMetric (metric_abi.h)");
  // NOLINTEND(concurrency-mt-unsafe)
  return reinterpret_cast<Function>(function);
}

/// Arrays in the form of the interface.
class Arrays {
 public:
  explicit Arrays(const std::vector<MetricArray>& files) {
    for (const MetricArray& file : files) {
      names_.push_back(file.name);
      tensors_.push_back(ReadNpy(file.file));
      types_.emplace_back(Name(tensors_.back().dtype()));
    }
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Dims& dims = tensors_[i].dims();
      arrays_.push_back({.name = names_[i].c_str(),
                         .type = types_[i].c_str(),
                         .values = tensors_[i].Raw().data(),
                         .dims = dims.data(),
                         .rank = static_cast<std::int64_t>(dims.size())});
    }
  }
  [[nodiscard]] const MscMetricArray* data() const { return arrays_.data(); }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(arrays_.size()); }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> types_;
  std::vector<Tensor> tensors_;
  std::vector<MscMetricArray> arrays_;
};

/// What is printed; one of the two.
struct Printed {
  std::optional<double> value;
  std::optional<std::vector<double>> values;
  static void Fields(auto& self, auto& visit) {
    visit("value", self.value, "of all samples");
    visit("values", self.values, "of each sample");
  }
};

std::string Compute(Function function, std::span<const std::string> words) {
  const MetricManifest manifest = ReadMetricManifest(".");
  const Arrays samples(manifest.samples);
  const Arrays outputs(manifest.outputs);
  const Tensor labels = manifest.labels.empty() ? Tensor() : ReadNpy(manifest.labels);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const MscMetricCall call{
      .first = manifest.first,
      .count = manifest.count,
      .samples = samples.data(),
      .sample_arrays = samples.size(),
      .outputs = outputs.data(),
      .output_arrays = outputs.size(),
      .labels = manifest.labels.empty() ? nullptr : labels.Values<std::int32_t>().data(),
      .arguments = arguments.data(),
      .argument_count = static_cast<std::int64_t>(arguments.size())};
  std::vector<double> values(static_cast<std::size_t>(manifest.count));
  switch (function(&call, values.data())) {
    case MSC_METRIC_ONE:
      return ToJsonText(Printed{.value = values.at(0), .values = {}});
    case MSC_METRIC_EACH:
      return ToJsonText(Printed{.value = {}, .values = values});
    default:
      throw UserError("MscMetric failed");
  }
}

}  // namespace

int MetricChildMain(const std::vector<std::string>& words) {
  try {
    // The answer has stdout for itself.
    const int out = ::dup(STDOUT_FILENO);
    if (out < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
      throw SystemError("cannot set up stdout");
    }
    const std::string text = Compute(Load(words.at(0)), std::span(words).subspan(1)) + "\n";
    std::fflush(stdout);
    if (::write(out, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      throw SystemError("cannot write the answer");
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "'" << words.at(0) << "': " << error.what() << "\n";
    return 1;
  }
}

}  // namespace msc::cost
