#include "envs/schedule/schedule_choices.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/quantize.h"

namespace msc::envs {

ScheduleChoices::ScheduleChoices(std::shared_ptr<const Graph> graph,
                                 std::map<std::string, TensorScale> scales,
                                 const KernelContext& context)
    : graph_(std::move(graph)), scales_(std::move(scales)), kernels_of_(context.kernels_of) {
  if (context.kernels == nullptr || !kernels_of_) return;
  for (const ScheduledKernel& kernel : *context.kernels) {
    if (kernel.choices.size() < 2) continue;
    gym::Decision decision{.name = kernel.layers.at(0) + " schedule", .choices = {"default"}};
    for (std::size_t i = 1; i < kernel.choices.size(); ++i) {
      decision.choices.push_back(Name(kernel.choices[i]));
    }
    decisions_.push_back(std::move(decision));
    kernels_.push_back(kernel);
  }
}

const std::string& ScheduleChoices::FirstLayer(std::size_t decision) const {
  return kernels_.at(decision).layers.front();
}

void ScheduleChoices::Schedule(std::span<const std::int32_t> choices, Strategy& strategy) const {
  Check(choices.size() == decisions_.size(), "one choice a kernel");
  std::map<std::string, KernelSchedule> wanted;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == 0) continue;
    for (const std::string& layer : kernels_[i].layers) {
      wanted.emplace(layer, kernels_[i].choices.at(static_cast<std::size_t>(choices[i])));
    }
  }
  if (wanted.empty()) return;
  // Kernels depend neither on weights nor on the values of quantization scales, which a fit to
  // samples may not have found yet: use the scales of the unfitted model.
  Strategy known = strategy;
  known.fit = {};
  known.quantize.activations =
      ScalesNeeded(FindQuantizableLayers(*graph_), known.quantize.layers, scales_);
  for (const ScheduledKernel& kernel : kernels_of_(known)) {
    for (const std::string& layer : kernel.layers) {
      const auto wish = wanted.find(layer);
      if (wish == wanted.end() || wish->second == kernel.choices.at(0)) continue;
      if (std::find(kernel.choices.begin(), kernel.choices.end(), wish->second) !=
          kernel.choices.end()) {
        strategy.schedules.insert(*wish);
      }
    }
  }
}

std::vector<std::vector<double>> ScheduleChoices::Features() const {
  double flops = 0;
  double layers = 0;
  for (const ScheduledKernel& kernel : kernels_) {
    flops += kernel.flops;
    layers += static_cast<double>(kernel.layers.size());
  }
  std::vector<std::vector<double>> rows;
  for (const ScheduledKernel& kernel : kernels_) {
    rows.push_back({static_cast<double>(rows.size()) / static_cast<double>(kernels_.size()),
                    flops > 0 ? std::min(kernel.flops / flops, 1.0) : 0,
                    static_cast<double>(kernel.layers.size()) / layers});
  }
  return rows;
}

std::string ScheduleChoices::Meaning() const {
  std::string text;
  for (const ScheduledKernel& kernel : kernels_) {
    for (const std::string& layer : kernel.layers) text += layer + "\n";
    text += "\n";
  }
  return text;
}

}  // namespace msc::envs
