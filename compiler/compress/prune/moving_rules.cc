#include "compiler/compress/prune/moving_rules.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compress/prune/axes.h"
#include "compiler/compress/prune/node_axes.h"
#include "compiler/ops/resize.h"

namespace msc {

void RelateConcat(NodeAxes& node) {
  const std::size_t joined = node.AxisAttr(0);
  std::uint32_t offset = 0;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    for (std::size_t axis = 0; axis < node.OutRank(); ++axis) {
      if (axis != joined) node.Unite(node.In(i, axis), node.Out(axis));
    }
    const Axis part = node.In(i, joined);
    node.UnitePart(part, node.Out(joined), offset);
    offset += part.size;
  }
}

void RelateSplit(NodeAxes& node) {
  const std::size_t parted = node.AxisAttr(0);
  if (node.Has(1) && !node.Ints(1)) return node.FixAll("splits where its data says");
  for (const ValueId out : node.node().outputs) {
    if (out == kNoValue) return node.FixAll("leaves a part unused");
  }
  std::uint32_t offset = 0;
  for (std::size_t out = 0; out < node.outputs(); ++out) {
    for (std::size_t axis = 0; axis < node.InRank(0); ++axis) {
      if (axis != parted) node.Unite(node.In(0, axis), node.Out(axis, out));
    }
    const Axis part = node.Out(parted, out);
    node.UnitePart(part, node.In(0, parted), offset);
    offset += part.size;
  }
}

void RelateSlice(NodeAxes& node) {
  const auto cuts = node.ReadSlice();
  if (!cuts) return node.FixAll("takes a slice where its data says");
  for (std::size_t axis = 0; axis < node.InRank(0); ++axis) {
    const auto cut = cuts->find(axis);
    if (cut == cuts->end()) {
      node.Unite(node.In(0, axis), node.Out(axis));
    } else if (cut->second.step == 1) {
      node.UnitePart(node.Out(axis), node.In(0, axis),
                     static_cast<std::uint32_t>(cut->second.first));
    } else {
      node.Fix(node.In(0, axis), "takes every n-th entry of this axis");
      node.Fix(node.Out(axis), "takes every n-th entry of this axis");
    }
  }
}

void RelateGather(NodeAxes& node) {
  const std::size_t gathered = node.AxisAttr(0);
  const std::size_t index_rank = node.InRank(1);
  for (std::size_t axis = 0; axis < node.InRank(0); ++axis) {
    if (axis == gathered) continue;
    const std::size_t out = axis < gathered ? axis : axis + index_rank - 1;
    node.Unite(node.In(0, axis), node.Out(out));
  }
  for (std::size_t axis = 0; axis < index_rank; ++axis) {
    node.Unite(node.In(1, axis), node.Out(gathered + axis));
  }
  const auto picks = node.Ints(1);
  if (!picks || index_rank != 1) {
    return node.Fix(node.In(0, gathered), "picks entries of this axis by number");
  }
  node.UnitePicks(node.Out(gathered), node.In(0, gathered), *picks);
}

void RelateTranspose(NodeAxes& node) {
  const std::size_t rank = node.InRank(0);
  const auto perm = AttrOr(node.node(), "perm", std::vector<std::int64_t>{});
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t from = perm.empty() ? rank - 1 - axis : static_cast<std::size_t>(perm[axis]);
    node.Unite(node.In(0, from), node.Out(axis));
  }
}

/// Squeeze removes and Unsqueeze adds axes of size 1; the other axes keep their order.
void RelateSqueeze(NodeAxes& node) {
  // Without a list, an axis that was cut down to one entry would be removed, too.
  if (node.node().op == "Squeeze" && !node.Has(1))
    return node.FixAll("drops all axes of one entry");
  const auto axes = node.Ints(1);
  if (!axes) return node.FixAll("changes axes as its data says");
  const std::size_t rank = std::max(node.InRank(0), node.OutRank());
  std::vector<bool> listed(rank, false);
  for (const std::int64_t axis : *axes) {
    listed[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] =
        true;
  }
  const bool drops = node.node().op == "Squeeze";
  std::size_t other = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (listed[axis]) {
      node.Fix(drops ? node.In(0, axis) : node.Out(axis), "must have one entry");
    } else if (drops) {
      node.Unite(node.In(0, axis), node.Out(other++));
    } else {
      node.Unite(node.In(0, other++), node.Out(axis));
    }
  }
}

void RelateFlatten(NodeAxes& node) {
  std::vector<Axis> left;
  std::vector<Axis> right;
  const std::int64_t rank = static_cast<std::int64_t>(node.InRank(0));
  std::int64_t split = AttrOr(node.node(), "axis", std::int64_t{1});
  if (split < 0) split += rank;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    (axis < split ? left : right).push_back(node.In(0, static_cast<std::size_t>(axis)));
  }
  node.AddProduct(node.Out(0), left, AxisClasses::Prefer::kLargest);
  node.AddProduct(node.Out(1), right, AxisClasses::Prefer::kLargest);
}

/// Relates the outermost axes of two runs that hold the same entries in one order, as of
/// [C, H, W] and [G, C / G * H * W]: index g of the smaller one stands for a block of `whole`, and
/// only whole blocks can go. GroupNormalization is written so.
void RelateOutermost(NodeAxes& node, Axis whole, Axis part) {
  constexpr const char* kWhy = "regroups several axes at once";
  if (part.size == 0 || whole.size % part.size != 0) {
    node.Fix(whole, kWhy);
    node.Fix(part, kWhy);
    return;
  }
  const Axis block = node.AddAxis(static_cast<std::int64_t>(whole.size / part.size));
  node.Fix(block, kWhy);
  node.AddProduct(whole, {part, block}, AxisClasses::Prefer::kOutermost);
}

/// Walks along the sizes of both sides: where a run of axes on one side has the product of one axis
/// on the other, that axis is the product of the run.
void RelateReshape(NodeAxes& node) {
  using enum AxisClasses::Prefer;
  if (!node.Ints(1)) {
    return node.FixAll("has a target shape that is not constant (give the model its --shape)");
  }
  std::size_t i = 0;
  std::size_t j = 0;
  const std::size_t in_rank = node.InRank(0);
  const std::size_t out_rank = node.OutRank();
  while (i < in_rank || j < out_rank) {
    std::vector<Axis> in;
    std::vector<Axis> out;
    std::uint64_t in_size = 1;
    std::uint64_t out_size = 1;
    const auto take = [](std::vector<Axis>& list, std::uint64_t& size, Axis axis) {
      list.push_back(axis);
      size *= axis.size;
    };
    if (i < in_rank) take(in, in_size, node.In(0, i++));
    if (j < out_rank) take(out, out_size, node.Out(j++));
    // The side with the smaller product grows until both hold the same number of entries.
    while (in_size != out_size && in_size != 0 && out_size != 0) {
      if (in_size < out_size && i < in_rank) {
        take(in, in_size, node.In(0, i++));
      } else if (out_size < in_size && j < out_rank) {
        take(out, out_size, node.Out(j++));
      } else {
        return node.FixAll("regroups axes of unknown size");
      }
    }
    if (in_size == 0 || out_size == 0) return node.FixAll("regroups axes of unknown size");
    // Axes of one entry change no product, so they do not count.
    const auto real = [](const std::vector<Axis>& list) {
      return std::count_if(list.begin(), list.end(), [](Axis axis) { return axis.size != 1; });
    };
    const auto first = [](const std::vector<Axis>& list) {
      return *std::find_if(list.begin(), list.end(), [](Axis axis) { return axis.size != 1; });
    };
    if (real(in) == 1) {
      node.AddProduct(first(in), out, i == in_rank ? kOutermost : kLargest);
    } else if (real(out) == 1) {
      node.AddProduct(first(out), in, j == out_rank ? kOutermost : kLargest);
    } else if (real(in) > 1) {
      const Axis whole = first(in);
      const Axis part = first(out);
      RelateOutermost(node, whole.size < part.size ? part : whole,
                      whole.size < part.size ? whole : part);
      for (const std::vector<Axis>* list : {&in, &out}) {
        for (const Axis axis : *list) {
          if (axis.first != whole.first && axis.first != part.first) {
            node.Fix(axis, "regroups several axes at once");
          }
        }
      }
    }
    for (const std::vector<Axis>* list : {&in, &out}) {
      for (const Axis axis : *list) {
        if (axis.size == 1) node.Fix(axis, "must have one entry");
      }
    }
  }
}

/// Unites axes of equal size; fixes axes that are repeated, padded or resized.
void RelateSameSizes(NodeAxes& node) {
  if (node.node().op == "Resize" && AttrOr(node.node(), "coordinate_transformation_mode",
                                           std::string()) == "tf_crop_and_resize") {
    return node.FixAll("crops by shares of the axes");
  }
  if (node.node().op == "Resize" && !IsPlainResize(node.node())) {
    return node.FixAll("resizes several axes together");
  }
  const std::size_t in_rank = node.InRank(0);
  const std::size_t shift = node.OutRank() - in_rank;
  for (std::size_t axis = 0; axis < in_rank; ++axis) {
    const Axis in = node.In(0, axis);
    const Axis out = node.Out(axis + shift);
    if (in.size == out.size && !(node.node().op == "Pad" && node.MovesByPadding(axis))) {
      node.Unite(in, out);
    } else {
      node.Fix(in, "changes the size of this axis");
      node.Fix(out, "changes the size of this axis");
    }
  }
  for (std::size_t axis = 0; axis < shift; ++axis) {
    node.Fix(node.Out(axis), "changes the size of this axis");
  }
}

}  // namespace msc
