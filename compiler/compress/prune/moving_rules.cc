#include "compiler/compress/prune/moving_rules.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/compress/prune/axes.h"
#include "compiler/compress/prune/node_axes.h"
#include "compiler/ops/resize.h"

namespace msc {
namespace {

/// Returns which entries of a Shape's output its readers take; nullopt if they may take any.
std::optional<std::set<std::int64_t>> EntriesRead(const NodeAxes& node) {
  const auto readers = node.Readers();
  if (!readers) return std::nullopt;
  std::set<std::int64_t> read;
  for (const Node* reader : *readers) {
    const auto entries = node.EntriesTakenBy(*reader);
    if (!entries) return std::nullopt;
    read.insert(entries->begin(), entries->end());
  }
  return read;
}

}  // namespace

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
  const auto parts = node.ReadSplit(parted);
  if (!parts) return node.FixAll("splits where its data says");
  std::uint32_t offset = 0;
  for (std::size_t out = 0; out < parts->size(); ++out) {
    const bool made = out < node.outputs() && node.node().outputs[out] != kNoValue;
    for (std::size_t axis = 0; made && axis < node.InRank(0); ++axis) {
      if (axis != parted) node.Unite(node.In(0, axis), node.Out(axis, out));
    }
    if (made) node.UnitePart(node.Out(parted, out), node.In(0, parted), offset);
    offset += static_cast<std::uint32_t>((*parts)[out]);
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
      node.UnitePicks(node.Out(axis), node.In(0, axis), PicksOf(cut->second));
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

/// Entries of the last axis of the indices are positions along the first axes of the data, so those
/// stay whole.
void RelateGatherNd(NodeAxes& node) {
  const auto batch = static_cast<std::size_t>(AttrOr(node.node(), "batch_dims", std::int64_t{0}));
  const std::size_t last = node.InRank(1) - 1;
  const std::size_t whole = batch + node.In(1, last).size;
  for (std::size_t axis = 0; axis < last; ++axis) {
    node.Unite(node.In(1, axis), node.Out(axis));
    if (axis < batch) node.Unite(node.In(0, axis), node.Out(axis));
  }
  node.Fix(node.In(1, last), "is a list of positions");
  for (std::size_t axis = batch; axis < node.InRank(0); ++axis) {
    if (axis < whole) {
      node.Fix(node.In(0, axis), "picks entries of this axis by number");
    } else {
      node.Unite(node.In(0, axis), node.Out(last + axis - whole));
    }
  }
}

void RelateGatherElements(NodeAxes& node) {
  const std::size_t gathered = node.AxisAttr(0);
  for (std::size_t axis = 0; axis < node.InRank(0); ++axis) {
    node.Unite(node.In(1, axis), node.Out(axis));
    if (axis == gathered) {
      node.Fix(node.In(0, axis), "picks entries of this axis by number");
    } else {
      node.Unite(node.In(0, axis), node.Out(axis));
    }
  }
}

/// The deeper side has a block of channels for each channel of the other side.
void RelateBlocks(NodeAxes& node) {
  const bool to_space = node.node().op == "DepthToSpace";
  const std::int64_t block = AttrOr(node.node(), "blocksize", std::int64_t{1});
  const Axis deep = to_space ? node.In(0, 1) : node.Out(1);
  const Axis flat = to_space ? node.Out(1) : node.In(0, 1);
  const Axis inside = node.AddAxis(block > 0 && block < 1024 ? block * block : -1);
  node.Fix(inside, "is a block of pixels");
  const bool inner = AttrOr(node.node(), "mode", std::string("DCR")) == "CRD";
  node.AddProduct(deep, inner ? std::vector{flat, inside} : std::vector{inside, flat},
                  AxisClasses::Prefer::kLargest);
  node.Unite(node.In(0, 0), node.Out(0));
  for (std::size_t axis = 2; axis < 4; ++axis) {
    node.Fix(node.In(0, axis), "moves pixels along this axis");
    node.Fix(node.Out(axis), "moves pixels along this axis");
  }
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
  const bool all = node.node().op == "Squeeze" && !node.Has(1);
  if (all && node.IsOpen(0)) return node.FixAll("drops all axes of one entry");
  const auto axes = all ? std::optional(node.AxesOfOneEntry()) : node.Ints(1);
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

/// Sizes may be read of axes that stay whole, such as the batch and the pixels.
void RelateShape(NodeAxes& node) {
  constexpr const char* kWhy = "reads the size of this axis";
  const auto read = EntriesRead(node);
  if (!read) return node.FixAll(kWhy);
  const auto rank = static_cast<std::int64_t>(node.InRank(0));
  std::int64_t first = AttrOr(node.node(), "start", std::int64_t{0});
  if (first < 0) first += rank;
  first = std::clamp(first, std::int64_t{0}, rank);
  node.FixOut(0, kWhy);
  for (const std::int64_t entry : *read) {
    if (first + entry < rank) {
      node.Fix(node.In(0, static_cast<std::size_t>(first + entry)), kWhy);
    }
  }
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
  const auto target = node.ReadTarget();
  if (!target || target->size() != node.OutRank()) {
    return node.FixAll("has a target shape that is not constant (give the model its --shape)");
  }
  for (std::size_t axis = 0; axis < target->size(); ++axis) {
    if (!(*target)[axis]) node.Fix(node.Out(axis), "has a size here that is computed");
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

/// Entries that are added stay; the others keep their places between them.
void RelatePad(NodeAxes& node) {
  constexpr const char* kWhy = "changes the size of this axis";
  const auto pads = node.Ints(1);
  const std::size_t rank = node.InRank(0);
  const bool plain = pads && pads->size() == 2 * rank && !node.Has(3) &&
                     AttrOr(node.node(), "mode", std::string("constant")) == "constant";
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Axis in = node.In(0, axis);
    const Axis out = node.Out(axis);
    if (!node.MovesByPadding(axis)) {
      node.Unite(in, out);
    } else if (plain && (*pads)[axis] >= 0 && (*pads)[axis + rank] >= 0) {
      const Axis front = node.AddAxis((*pads)[axis]);
      const Axis back = node.AddAxis((*pads)[axis + rank]);
      node.Fix(front, kWhy);
      node.Fix(back, kWhy);
      node.UnitePart(in, out, front.size);
      node.UnitePart(front, out, 0);
      node.UnitePart(back, out, front.size + in.size);
    } else {
      node.Fix(in, kWhy);
      node.Fix(out, kWhy);
    }
  }
}

/// Unites axes of equal size; fixes axes that are repeated or resized.
void RelateSameSizes(NodeAxes& node) {
  if (node.node().op == "Resize" && AttrOr(node.node(), "coordinate_transformation_mode",
                                           std::string()) == "tf_crop_and_resize") {
    return node.FixAll("crops by shares of the axes");
  }
  if (node.node().op == "Resize" && !IsPlainResize(node.node())) {
    return node.FixAll("resizes several axes together");
  }
  const bool expands = node.node().op == "Expand" && !node.Ints(1);
  const bool resizes = node.node().op == "Resize" && node.Has(3) && !node.Ints(3);
  if (expands || resizes) {
    return node.FixAll("has a target shape that is not constant (give the model its --shape)");
  }
  const std::size_t in_rank = node.InRank(0);
  const std::size_t shift = node.OutRank() - in_rank;
  for (std::size_t axis = 0; axis < in_rank; ++axis) {
    const Axis in = node.In(0, axis);
    const Axis out = node.Out(axis + shift);
    if (in.size == out.size) {
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
