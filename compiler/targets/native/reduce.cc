#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "compiler/targets/native/row_writer.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Float;
using kernel::Int;
using kernel::Op;

/// Returns the axes that a node reduces, in order; empty if they are unknown.
std::vector<std::size_t> AxesOf(const Graph& graph, const Node& node, std::size_t rank) {
  std::vector<std::int64_t> axes = AttrOr(node, "axes", std::vector<std::int64_t>());
  if (node.HasInput(1)) {
    const TensorPtr given = graph.constant(node.inputs[1]);
    if (given == nullptr || given->dtype() != DType::kI64) return {};
    axes.assign(given->Values<std::int64_t>().begin(), given->Values<std::int64_t>().end());
  }
  std::set<std::size_t> reduced;
  for (const std::int64_t axis : axes) {
    const std::int64_t normal = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
    if (normal < 0 || normal >= static_cast<std::int64_t>(rank)) return {};
    reduced.insert(static_cast<std::size_t>(normal));
  }
  return {reduced.begin(), reduced.end()};
}

/// Reduces a value along several axes: along the longest as rows, along the others by loops.
class Reduction {
 public:
  Reduction(const Node& node, const Dims& dims, std::vector<std::size_t> axes)
      : max_(node.Is("ReduceMax")), mean_(node.Is("ReduceMean")), dims_(dims) {
    const auto longest = std::max_element(
        axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) { return dims[a] < dims[b]; });
    inner_ = *longest;
    axes.erase(longest);
    outer_ = std::move(axes);
  }
  [[nodiscard]] std::size_t inner() const { return inner_; }
  [[nodiscard]] bool Reduces(std::size_t axis) const {
    return axis == inner_ || std::find(outer_.begin(), outer_.end(), axis) != outer_.end();
  }

  /// Returns the result at `place`, which has 0 for each reduced axis.
  Expr At(KernelWriter& writer, const View& x, int lanes, const std::vector<Expr>& place,
          Body& body) const {
    Expr value = outer_.empty() ? AlongInner(writer, x, lanes, place, body)
                                : AlongAll(writer, x, lanes, place, body);
    if (!mean_) return value;
    auto count = static_cast<double>(dims_[inner_]);
    for (const std::size_t axis : outer_) count *= static_cast<double>(dims_[axis]);
    return std::move(value) * Float(1 / count);
  }

 private:
  // -infinity and 0 are neutral, because every lane of a maximum or sum starts from them.
  [[nodiscard]] double Start() const { return max_ ? -std::numeric_limits<double>::infinity() : 0; }

  Expr AlongInner(KernelWriter& writer, const View& x, int lanes, const std::vector<Expr>& place,
                  Body& body) const {
    const kernel::BufferRef from = writer.Use(x, Access::kRead);
    const Expr first = writer.Bind(KernelWriter::IndexOf(x, place), body);
    RowWriter row(writer, lanes, dims_[inner_]);
    return row.Reduce(
        max_ ? Op::kReduceMax : Op::kReduceAdd, Start(),
        [&](const Expr& column, int count, Body&) {
          return kernel::Load(from, first + column, {DType::kF32, count});
        },
        body);
  }

  Expr AlongAll(KernelWriter& writer, const View& x, int lanes, std::vector<Expr> place,
                Body& body) const {
    const kernel::VarId total = writer.NewVar();
    const kernel::Type scalar{DType::kF32, 1};
    body.push_back({kernel::Let{.var = total, .value = Float(Start())}});
    const auto nest = [&](const auto& self, std::size_t depth, Body& inside) -> void {
      if (depth == outer_.size()) {
        Expr value = AlongInner(writer, x, lanes, place, inside);
        inside.push_back({kernel::Assign{
            .var = total,
            .value = kernel::Binary(max_ ? Op::kMax : Op::kAdd, kernel::Var(total, scalar),
                                    std::move(value))}});
        return;
      }
      writer.Loop(dims_[outer_[depth]], inside, [&](const Expr& index) {
        Body step;
        place[outer_[depth]] = index;
        self(self, depth + 1, step);
        return step;
      });
    };
    nest(nest, 0, body);
    return kernel::Var(total, scalar);
  }

  bool max_;
  bool mean_;
  Dims dims_;
  std::size_t inner_ = 0;
  std::vector<std::size_t> outer_;
};

}  // namespace

bool LowerReduce(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  const Graph& graph = lowering.graph();
  if (!node.Is("ReduceMax") && !node.Is("ReduceMean") && !node.Is("ReduceSum")) return false;
  if (graph.type(node.inputs[0]).dtype != DType::kF32) return false;
  const Dims dims = lowering.DimsOf(node.inputs[0]);
  const std::vector<std::size_t> axes = AxesOf(graph, node, dims.size());
  if (axes.empty() || axes.size() == dims.size() || ElementCount(dims) == 0) return false;

  const Reduction reduction(node, dims, axes);
  const View x = lowering.WhereUnit(node.inputs[0], reduction.inner(), Halo(dims.size()));
  const ValueId result = ResultOf(graph, group);
  const Dims out_dims = lowering.DimsOf(result);
  const std::vector<std::size_t> order = AxisOrder(out_dims.size());
  const Epilogue epilogue(lowering, group, lowering.Out(result, order), order.back());
  const bool kept = out_dims.size() == dims.size();
  Dims others;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (!reduction.Reduces(axis)) others.push_back(dims[axis]);
  }

  KernelWriter writer = lowering.Writer("reduce");
  Body body = LoopOver(writer, others, 1, [&](const Place& place, Body& inside) {
    std::vector<Expr> whole;
    auto next = place.at.begin();
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      whole.push_back(reduction.Reduces(axis) ? Int(0) : *next++);
    }
    Expr value = reduction.At(writer, x, lowering.unit().lanes, whole, inside);
    const Place at{.at = kept ? whole : place.at, .axis = 0, .lanes = 1, .valid = 0};
    epilogue.Store(writer, at, std::move(value), inside);
  });
  lowering.AddCall(std::move(writer), std::move(body), static_cast<double>(ElementCount(dims)),
                   lowering.LabelOf(group.nodes(), "f32"));
  lowering.Finish(result);
  return true;
}

}  // namespace msc::native
