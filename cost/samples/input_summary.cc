#include "cost/samples/input_summary.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/formatted.h"
#include "cost/samples/convert.h"

namespace msc::cost {
namespace {

/// Returns "3x224x224", and "scalar" for no dims.
std::string SizeText(const Dims& dims) {
  std::string text;
  for (const std::int64_t size : dims) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text.empty() ? "scalar" : text;
}

std::string SizesText(const InputSummary& input) {
  std::string text = input.sizes.empty() ? "" : SizeText(input.sizes[0]);
  if (input.sizes.size() > 1) {
    text += " to " + SizeText(input.sizes.back()) + ", " + std::to_string(input.sizes.size()) +
            " sizes";
  }
  return input.for_all ? text + ", the same for all" : text;
}

constexpr double kPercent = 100;

}  // namespace

void ValueStatistics::Add(const Tensor& sample) {
  if (!IsFloat(sample.dtype()) && !IsInteger(sample.dtype()) && sample.dtype() != DType::kBool) {
    return;
  }
  const std::vector<float> values = AsFloats(sample, "");
  if (values.empty()) return;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  low_ = count_ == 0 ? *low : std::min<double>(low_, *low);
  high_ = count_ == 0 ? *high : std::max<double>(high_, *high);
  if (values.size() > 1 && *low == *high) ++constant_;
  for (const float value : values) {
    const double number = value;
    ++count_;
    const double delta = number - mean_;
    mean_ += delta / count_;
    squares_ += delta * (number - mean_);
    if (number == 0) ++zeros_;
    if (votes_ == 0) frequent_ = number;
    votes_ += number == frequent_ ? 1 : -1;
  }
  if (samples_ == 0) first_ = sample;
  if (sample == first_) ++same_;
  ++samples_;
}

double ValueStatistics::deviation() const {
  return count_ == 0 ? 0 : std::sqrt(squares_ / count_);
}

double ValueStatistics::zeros() const {
  return count_ == 0 ? 0 : zeros_ / count_;
}

double ValueStatistics::frequent_share() const {
  return count_ == 0 ? 0 : votes_ / count_;
}

std::string FormatSummary(std::span<const InputSummary> inputs, std::int64_t samples) {
  std::size_t width = 5;
  std::size_t shape = 5;
  for (const InputSummary& input : inputs) {
    width = std::max(width, input.name.size());
    shape = std::max(shape, SizesText(input).size());
  }
  const auto pad = [](std::string text, std::size_t to) {
    text.resize(std::max(to, text.size()), ' ');
    return text;
  };
  std::string table = std::to_string(samples) + (samples == 1 ? " sample" : " samples") + "\n  " +
                      pad("input", width) + "  type  " + pad("shape", shape) +
                      "    smallest        mean   deviation     largest   zeros\n";
  for (const InputSummary& input : inputs) {
    const ValueStatistics& values = input.values;
    table += "  " + pad(input.name, width) + "  " + pad(std::string(Name(input.dtype)), 4) + "  " +
             pad(SizesText(input), shape) +
             Formatted("  %10.4g  %10.4g  %10.4g  %10.4g  %4.1f %%\n", values.low(), values.mean(),
                       values.deviation(), values.high(), kPercent * values.zeros());
  }
  return table;
}

std::vector<std::string> WarningsOf(std::span<const InputSummary> inputs) {
  std::vector<std::string> warnings;
  for (const InputSummary& input : inputs) {
    const ValueStatistics& values = input.values;
    if (input.for_all || values.samples() == 0) continue;
    const std::string name = "input '" + input.name + "': ";
    // A share above 99.9 % leaves more votes than this.
    constexpr double kAlmostAll = 0.998;
    if (values.low() == values.high() && values.samples() > 1) {
      warnings.push_back(name + Formatted("every number of all samples is %g", values.low()));
    } else if (values.samples() > 1 && values.same_samples() == values.samples()) {
      warnings.push_back(name + "all " + std::to_string(values.samples()) +
                         " samples are the same");
    } else if (values.frequent_share() >= kAlmostAll) {
      warnings.push_back(name + Formatted("at least %.2f %% of the numbers are %g",
                                          kPercent * values.frequent_share(), values.frequent()));
    } else if (values.constant_samples() > 0) {
      warnings.push_back(name + std::to_string(values.constant_samples()) + " of " +
                         std::to_string(values.samples()) + " samples hold a single number each");
    }
  }
  return warnings;
}

}  // namespace msc::cost
