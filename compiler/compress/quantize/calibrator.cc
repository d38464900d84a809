#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/grid.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/compress/quantize/storage.h"

namespace msc {
namespace {

// Disjoint sets of names; each is represented by its first member.
class Groups {
 public:
  [[nodiscard]] std::string Find(const std::string& name) const {
    const auto it = above_.find(name);
    return it == above_.end() ? name : Find(it->second);
  }
  void Join(const std::string& a, const std::string& b) {
    const std::string first = Find(a);
    const std::string second = Find(b);
    if (first != second) above_.emplace(second, first);
  }

 private:
  std::map<std::string, std::string> above_;
};

// Groups tensors that share a range because operators only move values between them.
Groups RangeGroups(const Graph& graph) {
  Groups groups;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!KeepsRange(node)) continue;
    const std::string& output = graph.value(node.outputs.front()).name;
    const std::size_t count = node.Is("Concat") ? node.inputs.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      groups.Join(graph.value(node.inputs[i]).name, output);
    }
    for (const ValueId other : node.outputs) {
      if (other != kNoValue) groups.Join(output, graph.value(other).name);
    }
  }
  return groups;
}

/// Returns the largest unsigned integer of so many bits.
int LargestOf(std::int64_t bits) {
  return (1 << bits) - 1;
}

/// Returns a u8 scale from the least to the largest value, both clipped to the range chosen for
/// magnitudes.
TensorScale AffineScale(const StreamingHistogram& histogram, const CalibrationOptions& options) {
  // min() is negative here, so the width is positive. 0.0 + widens the floats before the
  // subtraction, which could overflow.
  const double largest = std::max(-static_cast<double>(histogram.min()), 0.0 + histogram.max());
  const double width = std::max(0.0 + histogram.max(), 0.0) - histogram.min();
  // ChooseRange expects the number of steps on one side of 0. The longer side gets this part of all
  // steps.
  const int most = LargestOf(options.bits);
  const int steps =
      std::clamp(static_cast<int>(std::lround(most * largest / width)), most / 2, most);
  const float kept = ChooseRange(histogram, options, steps);
  const double low = std::max(histogram.min(), -kept);
  const double high = std::clamp(histogram.max(), 0.0F, kept);
  const float scale =
      std::max(static_cast<float>((high - low) / most), std::numeric_limits<float>::min());
  return {.dtype = "u8",
          .scale = scale,
          .zero_point = std::clamp<std::int64_t>(std::lround(-low / scale), 0, most),
          .bits = options.bits};
}

TensorScale ScaleOf(const StreamingHistogram& histogram, const CalibrationOptions& options) {
  const bool is_signed = histogram.min() < 0.0F;
  const int steps =
      is_signed ? LargestLevel(static_cast<int>(options.bits)) : LargestOf(options.bits);
  const float kept = ChooseRange(histogram, options, steps);
  float scale = kept == 0.0F ? 1.0F : kept / static_cast<float>(steps);
  // A subnormal scale would lose bits, and the processor may flush it to zero, a division by zero.
  scale = std::max(scale, std::numeric_limits<float>::min());
  TensorScale symmetric = {
      .dtype = is_signed ? "i8" : "u8", .scale = scale, .zero_point = 0, .bits = options.bits};
  if (!is_signed || !options.affine) return symmetric;
  const TensorScale affine = AffineScale(histogram, options);
  return options.affine_gain * affine.scale <= symmetric.scale || options.affine_gain == 1
             ? affine
             : symmetric;
}

void CheckObserved(const std::string& name, const StreamingHistogram& histogram) {
  if (histogram.not_finite() > 0) {
    throw UserError("calibration: tensor '" + name + "' held " +
                    std::to_string(histogram.not_finite()) +
                    " values that are not finite; check the model and the calibration inputs");
  }
  if (histogram.count() == 0) {
    throw UserError("calibration: tensor '" + name +
                    "' was never observed; run at least one batch through the model first");
  }
}

}  // namespace

Calibrator::Calibrator(const Graph& graph) {
  std::set<std::string, std::less<>> wanted;
  for (const QuantizableLayer& layer : FindQuantizableLayers(graph)) {
    wanted.insert({layer.input, layer.output});
    read_.insert(layer.input);
    if (!layer.residual.empty()) wanted.insert(layer.residual);
    if (!layer.inner.empty() && wanted.insert(layer.inner).second) inner_.insert(layer.inner);
  }
  const Groups groups = RangeGroups(graph);
  const auto take = [&](ValueId value) {
    if (value == kNoValue || !wanted.contains(graph.value(value).name)) return;
    const std::string& name = graph.value(value).name;
    names_.push_back(name);
    histograms_.emplace(name, StreamingHistogram());
    range_of_.emplace(name, groups.Find(name));
  };
  for (const ValueId input : graph.inputs()) take(input);
  for (const NodeId id : graph.order()) {
    for (const ValueId output : graph.node(id).outputs) take(output);
  }
}

void Calibrator::Observe(std::string_view tensor, std::span<const float> values) {
  const auto it = histograms_.find(tensor);
  if (it == histograms_.end()) {
    throw UserError("calibration: '" + std::string(tensor) +
                    "' is not a tensor that a quantizable layer reads or writes");
  }
  it->second.Add(values);
}

std::size_t Calibrator::bytes() const {
  std::size_t bytes = 0;
  for (const auto& [name, histogram] : histograms_) {
    bytes += sizeof(histogram) + histogram.counts().size_bytes();
  }
  return bytes;
}

std::map<std::string, TensorScale> Calibrator::Scales(const CalibrationOptions& options) const {
  std::map<std::string, StreamingHistogram> ranges;
  for (const std::string& name : names_) {
    const StreamingHistogram& histogram = histograms_.find(name)->second;
    CheckObserved(name, histogram);
    // Limits are powers of two, so a merged histogram equals that of all its values together.
    const auto [it, is_new] = ranges.emplace(range_of_.find(name)->second, histogram);
    if (!is_new) it->second.Merge(histogram);
  }
  // The ranges of values that layers read.
  std::set<std::string, std::less<>> read;
  for (const std::string& name : read_) {
    const auto range = range_of_.find(name);
    if (range != range_of_.end()) read.insert(range->second);
  }
  CalibrationOptions of_inner = options;
  of_inner.affine = true;
  of_inner.affine_gain = 1;
  of_inner.bits = 8;
  // Layers subtract a zero point for nothing; elementwise operators need a pass for it in some
  // runtimes.
  CalibrationOptions of_others = options;
  if (options.affine_gain > 1) of_others.affine = false;
  const auto options_for = [&](const std::string& name) -> const CalibrationOptions& {
    if (inner_.contains(name)) return of_inner;
    return read.contains(range_of_.find(name)->second) ? options : of_others;
  };
  std::map<std::string, TensorScale> scales;
  for (const std::string& name : names_) {
    scales.emplace(name, ScaleOf(ranges.at(range_of_.find(name)->second), options_for(name)));
  }
  return scales;
}

std::map<std::string, TensorScale> Calibrator::Scales(
    const CalibrationOptions& options,
    const std::map<std::string, CalibrationOptions>& others) const {
  std::map<std::string, TensorScale> scales = Scales(options);
  std::vector<std::pair<CalibrationOptions, std::map<std::string, TensorScale>>> made;
  for (const auto& [value, own] : others) {
    const auto found = scales.find(value);
    if (found == scales.end()) {
      throw UserError("the model has no value '" + value + "' to scale");
    }
    auto with = std::find_if(made.begin(), made.end(),
                             [&own = own](const auto& each) { return each.first == own; });
    if (with == made.end()) with = made.insert(made.end(), {own, Scales(own)});
    found->second = with->second.at(value);
  }
  return scales;
}

std::map<std::string, std::string> RangeMethods(const Graph& graph,
                                                const std::map<std::string, std::string>& ranges) {
  const std::vector<QuantizableLayer> layers = FindQuantizableLayers(graph);
  std::map<std::string, std::string> methods;
  const auto take = [&](std::string QuantizableLayer::*value) {
    for (const QuantizableLayer& layer : layers) {
      const auto method = ranges.find(layer.name);
      if (method == ranges.end() || (layer.*value).empty()) continue;
      methods.emplace(layer.*value, method->second);
    }
  };
  take(&QuantizableLayer::input);
  take(&QuantizableLayer::output);
  take(&QuantizableLayer::residual);
  const Groups groups = RangeGroups(graph);
  std::map<std::string, std::string> of_group;
  const Calibrator values(graph);
  for (const std::string& name : values.tensors()) {  // in graph order
    const auto method = methods.find(name);
    if (method != methods.end()) of_group.emplace(groups.Find(name), method->second);
  }
  for (auto& [name, method] : methods) {
    const auto shared = of_group.find(groups.Find(name));
    if (shared != of_group.end()) method = shared->second;
  }
  return methods;
}

}  // namespace msc
