#include "compiler/ops/resize.h"

#include <array>
#include <optional>
#include <utility>

#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Binary;
using kernel::Int;
using kernel::Op;

/// A Resize that changes only the height and width of images.
struct Resize {
  Dims in;
  Dims out;
  std::array<std::vector<ResizeTaps>, 2> taps = {};  ///< taps of rows and of columns
};

std::optional<Resize> ReadResize(const Lowering& lowering, const Node& node) {
  const Graph& graph = lowering.graph();
  if (!node.Is("Resize")) return std::nullopt;
  if (graph.type(node.inputs[0]).dtype != DType::kF32) return std::nullopt;
  const auto place = AttrOr(node, "coordinate_transformation_mode", std::string());
  if (place == "tf_crop_and_resize" || !IsPlainResize(node)) {
    return std::nullopt;
  }
  Resize resize{.in = lowering.DimsOf(node.inputs[0]), .out = lowering.DimsOf(node.outputs[0])};
  if (resize.in.size() != 4 || ElementCount(resize.in) == 0 || ElementCount(resize.out) == 0) {
    return std::nullopt;
  }
  constexpr std::size_t kScales = 2;
  const bool scaled = node.HasInput(kScales);
  const TensorPtr scales = scaled ? graph.constant(node.inputs[kScales]) : nullptr;
  if (scaled && scales == nullptr) return std::nullopt;
  const auto scale_of = [&](std::size_t axis) {
    if (scales != nullptr && scales->size() == 4) {
      return static_cast<double>(scales->Values<float>()[axis]);
    }
    return static_cast<double>(resize.out[axis]) / static_cast<double>(resize.in[axis]);
  };
  for (const std::size_t axis : {0, 1}) {
    if (resize.in[axis] != resize.out[axis] || scale_of(axis) != 1) return std::nullopt;
  }
  for (const std::size_t axis : {2, 3}) {
    resize.taps[axis - 2] = ResizeTapsOf(node, resize.in[axis], resize.out[axis], scale_of(axis));
  }
  return resize;
}

/// The taps of one axis as lists that a kernel reads, with `count` taps per position.
struct Table {
  View index;
  View weight;
  std::size_t count = 1;
};

Table TableOf(Lowering& lowering, const std::vector<ResizeTaps>& taps) {
  Table table;
  table.count = taps.front().count;
  const auto elements = static_cast<std::int64_t>(taps.size() * table.count);
  const auto fill = [&](auto out, const auto& entry) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = entry(taps[i / table.count], i % table.count);
    }
  };
  table.index = lowering.Constant(DType::kI64, elements, [&](Tensor& tensor) {
    fill(tensor.MutableValues<std::int64_t>(),
         [](const ResizeTaps& at, std::size_t i) { return at.index.at(i); });
  });
  table.weight = lowering.Constant(DType::kF32, elements, [&](Tensor& tensor) {
    fill(tensor.MutableValues<float>(),
         // Weights are made in double and rounded once.
         [](const ResizeTaps& at, std::size_t i) { return static_cast<float>(at.weight.at(i)); });
  });
  return table;
}

}  // namespace

bool LowerResize(Lowering& lowering, const Group& group) {
  const std::optional<Resize> resize = ReadResize(lowering, lowering.node(group.anchor));
  if (!resize) return false;
  const int lanes = lowering.unit().lanes;
  const View x = lowering.WhereUnit(lowering.node(group.anchor).inputs[0], 1, Halo(4));
  const ValueId result = ResultOf(lowering.graph(), group);
  const Epilogue epilogue(lowering, group, lowering.Out(result, AxisOrder(4)), 1);
  const Table rows = TableOf(lowering, resize->taps[0]);
  const Table columns = TableOf(lowering, resize->taps[1]);

  KernelWriter writer = lowering.Writer("resize");
  const kernel::BufferRef from = writer.Use(x, Access::kRead);
  const auto entry = [&](const View& list, DType dtype, const Expr& position, std::size_t count,
                         std::size_t i) {
    const auto stride = static_cast<std::int64_t>(count);
    return kernel::Load(writer.Use(list, Access::kRead),
                        position * stride + static_cast<std::int64_t>(i), {dtype, 1});
  };
  // The verifier knows nothing about loaded values, so the index is clamped to its bounds.
  const auto index = [&](const Table& table, const Expr& position, std::size_t i, std::int64_t size,
                         Body& body) {
    const Expr read = entry(table.index, DType::kI64, position, table.count, i);
    return writer.Bind(Binary(Op::kMin, Binary(Op::kMax, read, Int(0)), Int(size - 1)), body);
  };
  const auto weighted = [&](const Table& table, const Expr& position, std::size_t i, Expr value) {
    // A single tap has weight 1: nearest copies values unchanged.
    if (table.count == 1) return value;
    return std::move(value) *
           kernel::Broadcast(entry(table.weight, DType::kF32, position, table.count, i), lanes);
  };
  const auto pixel = [&](const Place& at, Body& body) {
    // The weight of a tap is the product of its row's and its column's. Each row is summed by
    // column weights first and multiplied once by its own.
    Expr sum = nullptr;
    for (std::size_t r = 0; r < rows.count; ++r) {
      const Expr row = index(rows, at.at[1], r, resize->in[2], body);
      Expr line = nullptr;
      for (std::size_t c = 0; c < columns.count; ++c) {
        const Expr column = index(columns, at.at[2], c, resize->in[3], body);
        const std::vector<Expr> place{at.at[0], at.at[3], row, column};
        const Expr value =
            kernel::Load(from, KernelWriter::IndexOf(x, place), {DType::kF32, lanes}, at.valid);
        Expr part = weighted(columns, at.at[2], c, value);
        line = line == nullptr ? part : line + part;
      }
      Expr part = weighted(rows, at.at[1], r, writer.Bind(line, body));
      sum = sum == nullptr ? part : sum + part;
    }
    const Place place{.at = {at.at[0], at.at[3], at.at[1], at.at[2]},
                      .axis = 1,
                      .lanes = lanes,
                      .valid = at.valid};
    epilogue.Store(writer, place, std::move(sum), body);
  };
  const Dims& out = resize->out;
  Body body = LoopOver(writer, {out[0], out[2], out[3], out[1]}, lanes, pixel);
  lowering.AddCall(std::move(writer), std::move(body),
                   2.0 * static_cast<double>(ElementCount(out)) *
                       static_cast<double>(rows.count * columns.count),
                   lowering.LabelOf(group.nodes(), "f32"));
  lowering.Finish(result);
  return true;
}

}  // namespace msc::native
