#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/onnx/lift.h"
#include "compiler/import/onnx/steps.h"

// Sets 18 to 28, as far as one operator of set 17 can express theirs. A rule rejects other new
// features, or the operator's schema rejects the unknown attribute.

namespace msc::detail {
namespace {

using Ints = std::vector<std::int64_t>;

/// Returns the integers of a constant input; rejects an input that is not constant.
Ints ConstantList(const Lift& lift, std::size_t index, const std::string& what) {
  const TensorPtr tensor = lift.InputConstant(index);
  if (tensor != nullptr && tensor->dtype() == DType::kI32) {
    const auto narrow = tensor->Values<std::int32_t>();
    return {narrow.begin(), narrow.end()};
  }
  if (tensor == nullptr || tensor->dtype() != DType::kI64) {
    lift.Reject(what + " must be a constant list of i64 or i32");
  }
  const auto values = tensor->Values<std::int64_t>();
  return {values.begin(), values.end()};
}

/// Converts a reduction of no axes to what it does with each element.
void ReduceNoAxes(Lift& lift) {
  const std::string op = std::exchange(lift.node.op, "Identity");
  lift.node.attrs.clear();
  if (op == "ReduceL1" || op == "ReduceL2") lift.node.op = "Abs";
  if (op == "ReduceLogSum") lift.node.op = "Log";
  if (op != "ReduceSumSquare") return;
  lift.node.op = "Mul";
  lift.node.inputs.push_back(lift.Input(0));
}

/// Converts ReduceMax-18 and similar, whose axes are an input. One that is only known in a run
/// stays an input.
void LiftReduce(Lift& lift) {
  if (lift.HasInput(1) && lift.InputConstant(1) == nullptr) return;
  const bool keeps_all = lift.Take("noop_with_empty_axes", std::int64_t{0}) != 0;
  Ints axes;
  if (lift.HasInput(1)) axes = ConstantList(lift, 1, "axes");
  if (lift.node.inputs.size() > 1) lift.node.inputs.resize(1);
  if (!axes.empty()) {
    lift.node.attrs["axes"] = std::move(axes);
  } else if (keeps_all) {
    ReduceNoAxes(lift);
  }
}

/// Converts num_outputs of Split-18; if the parts cannot be equal, the last one is smaller.
void LiftSplit(Lift& lift) {
  const bool counted = lift.node.attrs.contains("num_outputs");
  const std::int64_t parts = lift.Take("num_outputs", std::int64_t{0});
  if (!counted || lift.HasInput(1)) return;
  if (parts != static_cast<std::int64_t>(lift.node.outputs.size()) || parts < 1) {
    lift.Reject("num_outputs is not the number of its outputs");
  }
  const auto shape = lift.InputType(0).shape;
  const auto at = lift.node.attrs.find("axis");
  std::int64_t axis = 0;
  if (at != lift.node.attrs.end() && std::holds_alternative<std::int64_t>(at->second)) {
    axis = std::get<std::int64_t>(at->second);
  }
  const auto rank = shape ? static_cast<std::int64_t>(shape->size()) : 0;
  if (axis < 0) axis += rank;
  if (!shape || axis < 0 || axis >= rank) return;
  const std::int64_t size = (*shape)[static_cast<std::size_t>(axis)].size();
  if (size < 0 || size % parts == 0) return;
  const std::int64_t each = (size + parts - 1) / parts;
  Ints sizes(static_cast<std::size_t>(parts), each);
  sizes.back() = size - each * (parts - 1);
  if (sizes.back() < 0) lift.Reject("cannot be split in so many parts");
  lift.SetConstantInput(1, "split", Tensor::From<std::int64_t>(DType::kI64, {parts}, sizes));
}

/// Computes in the run which pads all axes have, where a Pad has pads for some.
void ComposePads(Lift& lift, std::size_t rank) {
  const auto axes_count = static_cast<std::int64_t>(rank);
  Steps steps(lift);
  std::string axes = lift.Input(3);
  if (lift.InputType(3).dtype != DType::kI64) {
    axes = steps.Add("Cast", {axes}, "axes_wide", {{"to", static_cast<std::int64_t>(DType::kI64)}});
  }
  const std::string count = steps.List({axes_count}, "rank");
  // Mod gives an axis that is counted from the end its number from the front.
  const std::string begins = steps.Add("Mod", {axes, count}, "begins");
  const std::string ends = steps.Add("Add", {begins, count}, "ends");
  const std::string places =
      steps.Add("Concat", {begins, ends}, "places", {{"axis", std::int64_t{0}}});
  const std::string none = steps.List(Ints(2 * rank, 0), "no_pads");
  const std::string pads = steps.Add("ScatterElements", {none, places, lift.Input(1)}, "pads",
                                     {{"axis", std::int64_t{0}}});
  lift.node.inputs.resize(3);
  lift.node.inputs[1] = pads;
  if (lift.node.inputs[2].empty()) lift.node.inputs.resize(2);
}

/// Converts Pad-18 with pads for some axes only.
void LiftPad(Lift& lift) {
  if (!lift.HasInput(3)) return;
  if (lift.InputConstant(1) == nullptr || lift.InputConstant(3) == nullptr) {
    const auto x = lift.InputType(0).shape;
    if (!x) lift.Reject("needs an input whose number of axes is known");
    ComposePads(lift, x->size());
    return;
  }
  const Ints axes = ConstantList(lift, 3, "axes");
  const Ints pads = ConstantList(lift, 1, "pads with axes");
  const auto shape = lift.InputType(0).shape;
  if (!shape || pads.size() != 2 * axes.size()) lift.Reject("its axes do not fit its input");
  const std::size_t rank = shape->size();
  Ints all(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(rank) : axes[i];
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) lift.Reject("an axis does not fit");
    all[static_cast<std::size_t>(axis)] = pads[i];
    all[rank + static_cast<std::size_t>(axis)] = pads[axes.size() + i];
  }
  lift.node.inputs.resize(3);
  lift.node.inputs[1].clear();
  lift.SetConstantInput(
      1, "pads",
      Tensor::From<std::int64_t>(DType::kI64, {static_cast<std::int64_t>(2 * rank)}, all));
  if (lift.node.inputs[2].empty()) lift.node.inputs.resize(2);
}

/// Makes input `index` of a Resize, a constant with one or two lists of an entry for each of
/// `axes`, a constant for all axes; `all` has the entries of the others.
template <class T>
void CompleteInput(Lift& lift, std::size_t index, const char* what, const Ints& axes,
                   std::vector<T> all) {
  const TensorPtr given = lift.InputConstant(index);
  const auto values = given->Values<T>();
  const std::size_t lists = values.size() / axes.size();
  const std::size_t rank = all.size() / lists;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i % axes.size()]);
    all[i / axes.size() * rank + axis] = values[i];
  }
  const auto count = static_cast<std::int64_t>(all.size());
  lift.node.inputs[index].clear();
  lift.SetConstantInput(index, what, Tensor::From<T>(given->dtype(), {count}, all));
}

/// Returns whether an input of a Resize is absent, or a constant with `count` elements of T.
template <class T>
bool IsAbsentOrList(const Lift& lift, std::size_t index, std::size_t count) {
  if (!lift.HasInput(index)) return true;
  const TensorPtr given = lift.InputConstant(index);
  return given != nullptr && Holds<T>(given->dtype()) &&
         given->size() == static_cast<std::int64_t>(count);
}

/// Returns axes in [0, rank), in their order; rejects others, and axes that are given twice.
Ints CountedAxes(const Lift& lift, const Ints& given, std::size_t rank) {
  std::vector<bool> seen(rank, false);
  Ints axes;
  for (std::int64_t axis : given) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    const bool exists = axis >= 0 && axis < static_cast<std::int64_t>(rank);
    if (!exists || seen[static_cast<std::size_t>(axis)]) {
      lift.Reject("its axes do not fit its input");
    }
    seen[static_cast<std::size_t>(axis)] = true;
    axes.push_back(axis);
  }
  return axes;
}

/// Gives a Resize of some axes scales or sizes of all, as set 17 does. Returns false if these are
/// not known.
bool CompleteAxes(Lift& lift, const Ints& axes, const Shape& shape) {
  if (!IsAbsentOrList<float>(lift, 1, 2 * axes.size()) ||
      !IsAbsentOrList<float>(lift, 2, axes.size()) ||
      !IsAbsentOrList<std::int64_t>(lift, 3, axes.size())) {
    return false;
  }
  Ints sizes;
  for (const Dim& dim : shape) sizes.push_back(dim.size());
  Ints others = sizes;
  for (const std::int64_t axis : axes) others[static_cast<std::size_t>(axis)] = 0;
  if (lift.HasInput(3) && std::ranges::find(others, -1) != others.end()) return false;
  std::vector<float> whole(2 * shape.size(), 1.0F);  // from 0 to 1
  std::fill_n(whole.begin(), shape.size(), 0.0F);
  const std::vector<float> ones(shape.size(), 1.0F);
  if (lift.HasInput(1)) CompleteInput(lift, 1, "roi", axes, whole);
  if (lift.HasInput(2)) CompleteInput(lift, 2, "scales", axes, ones);
  if (lift.HasInput(3)) CompleteInput(lift, 3, "sizes", axes, sizes);
  return true;
}

/// Returns whether a Resize can do without its axes, after completing its inputs.
bool DropsAxes(Lift& lift, const Ints& given, bool stretches) {
  const auto shape = lift.InputType(0).shape;
  if (!shape) return false;
  const Ints axes = CountedAxes(lift, given, shape->size());
  // All axes, in order.
  if (axes.size() == shape->size() && std::ranges::is_sorted(axes)) return true;
  // A policy is about the listed axes alone.
  return stretches && CompleteAxes(lift, axes, *shape);
}

/// Removes what Resize-18 and -19 added, where set 17 says the same without it.
void LiftResize18(Lift& lift) {
  AttrMap& attrs = lift.node.attrs;
  if (const std::int64_t on = lift.Take("antialias", std::int64_t{0}); on != 0) {
    attrs["antialias"] = on;
  }
  const std::string policy = lift.Take("keep_aspect_ratio_policy", std::string("stretch"));
  // The policy says what sizes mean, not scales.
  const bool stretches = policy == "stretch" || !lift.HasInput(3);
  if (!stretches) attrs["keep_aspect_ratio_policy"] = policy;
  const Ints axes = lift.Take("axes", Ints{});
  if (!axes.empty() && !DropsAxes(lift, axes, stretches)) attrs["axes"] = axes;
  const auto place = attrs.find("coordinate_transformation_mode");
  if (place == attrs.end() || !stretches || !lift.HasInput(3) || lift.HasInput(2)) return;
  // Sizes are not rounded as scales are, and there is no other difference.
  auto* mode = std::get_if<std::string>(&place->second);
  if (mode != nullptr && *mode == "half_pixel_symmetric") *mode = "half_pixel";
}

/// Renames the modes of GridSample-20 to those of set 16.
void LiftGridSample(Lift& lift) {
  const std::string mode = lift.Take("mode", std::string("linear"));
  lift.node.attrs["mode"] = mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode;
}

/// Removes the mode of SpaceToDepth-28 that older sets have, too.
void DropBlockMode(Lift& lift) {
  const std::string mode = lift.Take("mode", std::string("DCR"));
  if (mode != "DCR" && mode != "CRD") lift.Reject("mode cannot be '" + mode + "'");
  if (mode == "CRD") lift.node.attrs["mode"] = mode;
}

/// Removes `stash_type` of Range-27: kernels compute in f64.
void DropStashType(Lift& lift) {
  (void)lift.Take("stash_type", std::int64_t{1});
}

/// Removes dilations of 1 of AveragePool-19: set 17 has none.
void LiftAveragePool(Lift& lift) {
  const Ints dilations = lift.Take("dilations", Ints{});
  if (std::any_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d != 1; })) {
    lift.node.attrs["dilations"] = dilations;
  }
}

constexpr std::array<LiftRule, 16> kRules = {{
    {"AveragePool", kNoEnd, LiftAveragePool, 19},
    {"GridSample", kNoEnd, LiftGridSample, 20},
    {"Pad", kNoEnd, LiftPad, 18},
    {"Range", kNoEnd, DropStashType, 27},
    {"ReduceL1", kNoEnd, LiftReduce, 18},
    {"ReduceL2", kNoEnd, LiftReduce, 18},
    {"ReduceLogSum", kNoEnd, LiftReduce, 18},
    {"ReduceLogSumExp", kNoEnd, LiftReduce, 18},
    {"ReduceMax", kNoEnd, LiftReduce, 18},
    {"ReduceMean", kNoEnd, LiftReduce, 18},
    {"ReduceMin", kNoEnd, LiftReduce, 18},
    {"ReduceProd", kNoEnd, LiftReduce, 18},
    {"ReduceSumSquare", kNoEnd, LiftReduce, 18},
    {"Resize", kNoEnd, LiftResize18, 18},
    {"SpaceToDepth", kNoEnd, DropBlockMode, 28},
    {"Split", kNoEnd, LiftSplit, 18},
}};

}  // namespace

std::span<const LiftRule> NewerLifts() {
  return kRules;
}

}  // namespace msc::detail
