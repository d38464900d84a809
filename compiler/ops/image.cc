#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/strided.h"

// Operators that put parts of an image into their place. Source: ONNX operator pages
// CenterCropPad-18, Col2Im-18.

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

// CenterCropPad accepts all types, including strings.

/// Returns the axes that attribute 'axes' names, in its order; without it all.
std::vector<std::size_t> CentredAxes(const Node& node, std::size_t rank) {
  Ints axes = AttrOr(node, "axes", Ints{});
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
  }
  (void)NormalAxes(node, axes, rank);  // rejects an axis that is named twice
  std::vector<std::size_t> normal;
  for (const std::int64_t axis : axes) normal.push_back(NormalAxis(node, axis, rank));
  return normal;
}

std::vector<ValueType> InferCentred(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, 1, {DType::kI32, DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  const auto axes = CentredAxes(node, x->size());
  const auto sizes = ConstantInts(in, 1);
  if (sizes && sizes->size() != axes.size()) {
    RejectNode(node, "shape " + ToString(*sizes) + " must have a size for each of " +
                         std::to_string(axes.size()) + " axes");
  }
  Shape y = *x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (sizes && (*sizes)[i] < 0) RejectNode(node, "cannot crop to " + ToString(*sizes));
    y[axes[i]] = sizes ? Dim((*sizes)[i]) : Dim();
  }
  (void)ProductOf(node, y, 0, y.size());
  return OneOutput(TypeOf(in, 0), std::move(y));
}

std::vector<Tensor> EvalCentred(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferCentred, node, inputs);
  const Dims& x = inputs[0]->dims();
  const Dims& y = outputs[0].dims();
  const std::vector<Dims> strides = {StridesOf(x), StridesOf(y)};
  Dims kept(x.size());
  std::int64_t from = 0;
  std::int64_t to = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    kept[i] = std::min(x[i], y[i]);
    from += (x[i] - kept[i]) / 2 * strides[0][i];
    to += (y[i] - kept[i]) / 2 * strides[1][i];
  }
  const std::int64_t row = kept.empty() ? 1 : kept.back();
  ForEachRow(kept, strides, [&](std::span<const std::int64_t> offsets) {
    CopyElements(*inputs[0], outputs[0],
                 {.from_offset = from + offsets[0], .to_offset = to + offsets[1], .count = row});
  });
  return outputs;
}

// Col2Im (columns [N, C * block, blocks], image shape, block shape) -> [N, C, image...]: adds every
// block to its place in the image.

constexpr std::int64_t kMaxSide = std::int64_t{1} << 31;

/// One axis of the image.
struct Side {
  std::int64_t image = 0;
  std::int64_t block = 0;  ///< elements of a block
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad = 0;     ///< in front
  std::int64_t blocks = 0;  ///< places of a block
};

/// Returns entry `i` of a list, which must be in [least, 2^31]; `otherwise` if the list is empty.
std::int64_t EntryOf(const Node& node, const Ints& list, std::size_t i, std::int64_t least,
                     std::int64_t otherwise) {
  if (list.empty()) return otherwise;
  if (list[i] < least || list[i] > kMaxSide) {
    RejectNode(node, ToString(list) + " has an entry out of range");
  }
  return list[i];
}

/// Returns the axes of the image; nothing if a shape is not constant.
std::optional<std::vector<Side>> SidesOf(const InferInput& in) {
  const Node& node = *in.node;
  const auto image = ConstantInts(in, 1);
  const auto block = ConstantInts(in, 2);
  if (!image || !block) return std::nullopt;
  const std::size_t rank = image->size();
  const auto list = [&](const char* attr, std::size_t count) {
    Ints values = AttrOr(node, attr, Ints{});
    if (!values.empty() && values.size() != count) {
      RejectNode(node, "attribute '" + std::string(attr) + "' needs " + std::to_string(count) +
                           " entries");
    }
    return values;
  };
  const Ints strides = list("strides", rank);
  const Ints dilations = list("dilations", rank);
  const Ints pads = list("pads", 2 * rank);
  if (block->size() != rank) RejectNode(node, "the image and its blocks differ in rank");
  std::vector<Side> sides;
  for (std::size_t i = 0; i < rank; ++i) {
    Side side{.image = EntryOf(node, *image, i, 1, 1),
              .block = EntryOf(node, *block, i, 1, 1),
              .stride = EntryOf(node, strides, i, 1, 1),
              .dilation = EntryOf(node, dilations, i, 1, 1),
              .pad = EntryOf(node, pads, i, 0, 0)};
    // Every entry is at most 2^31, so that this stays below 2^63.
    const std::int64_t space = side.image + side.pad + EntryOf(node, pads, rank + i, 0, 0);
    const std::int64_t rest = space - side.dilation * (side.block - 1) - 1;
    if (rest < 0) RejectNode(node, "a block is larger than the padded image");
    side.blocks = rest / side.stride + 1;
    sides.push_back(side);
  }
  return sides;
}

/// Returns one size of every axis of the image.
Dims SizesOf(const std::vector<Side>& sides, std::int64_t Side::*size) {
  Dims sizes;
  for (const Side& side : sides) sizes.push_back(side.*size);
  return sizes;
}

std::vector<ValueType> InferCol2Im(const InferInput& in) {
  const Node& node = *in.node;
  for (const std::size_t i : {1U, 2U}) RequireType(in, i, {DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  if (x != nullptr && x->size() != 3) RejectNode(node, "needs 3 dimensions, not " + ToString(*x));
  const auto sides = SidesOf(in);
  if (!sides) {
    const auto rank = ListLength(in, 1);
    if (!rank) return OneOutput(TypeOf(in, 0), std::nullopt);
    Shape y(*rank + 2);
    if (x != nullptr) y[0] = x->front();
    return OneOutput(TypeOf(in, 0), std::move(y));
  }
  Shape y(2);
  const Shape block = ToShape(SizesOf(*sides, &Side::block));
  const Shape blocks = ToShape(SizesOf(*sides, &Side::blocks));
  const Dim each = ProductOf(node, block, 0, block.size());
  const Dim places = ProductOf(node, blocks, 0, blocks.size());
  if (x != nullptr) {
    y[0] = x->front();
    (void)MergeDims(node, (*x)[2], places);
    if ((*x)[1].known()) {
      if ((*x)[1].size() % each.size() != 0) {
        RejectNode(node, "columns " + ToString(*x) + " do not hold blocks of " +
                             std::to_string(each.size()));
      }
      y[1] = (*x)[1].size() / each.size();
    }
  }
  for (const Side& side : *sides) y.emplace_back(side.image);
  (void)ProductOf(node, y, 0, y.size());
  return OneOutput(TypeOf(in, 0), std::move(y));
}

/// Moves to the next position of a tensor of `dims`, in row-major order; wraps around at the end.
void Advance(Dims& position, const Dims& dims) {
  for (std::size_t axis = dims.size(); axis > 0; --axis) {
    if (++position[axis - 1] < dims[axis - 1]) return;
    position[axis - 1] = 0;
  }
}

/// Returns the offset in the image of an element of a block; -1 if it lies in the padding.
std::int64_t PlaceOf(const std::vector<Side>& sides, const Dims& element, const Dims& block) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Side& side = sides[i];
    const std::int64_t at = block[i] * side.stride + element[i] * side.dilation - side.pad;
    if (at < 0 || at >= side.image) return -1;
    offset = offset * side.image + at;
  }
  return offset;
}

std::vector<Tensor> EvalCol2Im(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferCol2Im, node, inputs);
  const std::vector<Side> sides = *SidesOf(InferInputOf(node, inputs));
  const Dims block = SizesOf(sides, &Side::block);
  const Dims blocks = SizesOf(sides, &Side::blocks);
  const std::int64_t each = ElementCount(block);
  const std::int64_t places = ElementCount(blocks);
  const std::int64_t pixels = ElementCount(SizesOf(sides, &Side::image));
  const std::int64_t rows = places == 0 ? 0 : inputs[0]->size() / places;
  WithNumber(node, outputs[0].dtype(), [&]<class T>() {
    const T* x = inputs[0]->Values<T>().data();
    T* y = outputs[0].template MutableValues<T>().data();
    Dims element(sides.size(), 0);
    for (std::int64_t row = 0; row < rows; ++row) {
      T* image = y + row / each * pixels;
      Dims at(sides.size(), 0);
      for (std::int64_t i = 0; i < places; ++i) {
        const std::int64_t place = PlaceOf(sides, element, at);
        Advance(at, blocks);
        if (place < 0) continue;
        const T value = x[row * places + i];
        if constexpr (std::is_integral_v<T>) {
          image[place] = static_cast<T>(static_cast<std::uint64_t>(image[place]) +
                                        static_cast<std::uint64_t>(value));
        } else {
          image[place] += value;
        }
      }
      Advance(element, block);
    }
  });
  return outputs;
}

double OneFlopAnInput(const Node& /*node*/, std::span<const ValueType> in,
                      std::span<const ValueType> /*out*/) {
  return ElementsOf(in[0]);
}

}  // namespace

void RegisterImageOps(OpRegistry& ops) {
  ops.Add({.name = "CenterCropPad",
           .inputs = {2, 2},
           .attrs = {{.name = "axes", .otherwise = Ints{}}},
           .infer = InferCentred,
           .eval = EvalCentred});
  ops.Add({.name = "Col2Im",
           .inputs = {3, 3},
           .attrs = {{.name = "dilations", .otherwise = Ints{}},
                     {.name = "pads", .otherwise = Ints{}},
                     {.name = "strides", .otherwise = Ints{}}},
           .infer = InferCol2Im,
           .eval = ViaF32(EvalCol2Im),
           .flops = OneFlopAnInput});
}

}  // namespace msc
