#include "compiler/targets/blas/lower.h"

#include <utility>

#include "compiler/base/error.h"
#include "compiler/kernel/call.h"
#include "compiler/targets/native/operands.h"

namespace msc::blas {
namespace {

using kernel::Access;
using kernel::Expr;
using kernel::LoopKind;
using kernel::Op;
using native::Body;
using native::Epilogue;
using native::KernelWriter;
using native::Place;
using native::View;

/// Splits the row-major index of an entry of the first `count` axes of `dims` into one index per
/// axis.
std::vector<Expr> Apart(const Dims& dims, std::size_t count, const Expr& index) {
  std::vector<Expr> at(count);
  std::int64_t inner = 1;
  for (std::size_t axis = count; axis-- > 0; inner *= dims[axis]) {
    const Expr whole = kernel::Binary(Op::kDiv, index, kernel::Int(inner));
    at[axis] = axis == 0 ? whole : kernel::Binary(Op::kMod, whole, kernel::Int(dims[axis]));
  }
  return at;
}

std::int64_t Entries(const Dims& dims, std::size_t count) {
  return ElementCount({dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(count)});
}

/// The operations after the sums, computed in place.
class Closing {
 public:
  Closing(native::Lowering& lowering, const native::Group& group, const Plan& plan, const View& out)
      : plan_(plan),
        lanes_(lowering.unit().lanes),
        epilogue_(lowering, group, out, out.rank() - 1, plan.channels) {
    views_ = epilogue_.views();
    if (plan.start != kNoValue) {
      views_.push_back(native::OperandOf(lowering, plan.start, out.dims, out.rank() - 1));
    }
    for (View& view : views_) {
      std::optional<View> seen = native::Reshape(view, plan.seen);
      Check(seen.has_value(), "axes that are cut are seen in every view");
      view = *std::move(seen);
    }
  }

  /// Appends loops over the axes of the result after the first `at.size()`, whose indices are `at`.
  void Write(KernelWriter& writer, const std::vector<Expr>& at, Body& body) {
    const std::vector<View> views = Joined(at.size());
    const auto given = static_cast<std::ptrdiff_t>(at.size());
    const View& out = views.front();
    std::vector<View> own(views.begin(), views.end() - (plan_.start != kNoValue ? 1 : 0));
    epilogue_.SetViews(std::move(own));
    const Dims inside(out.dims.begin() + given, out.dims.end());
    Body loops = native::LoopOver(
        writer, inside, lanes_,
        [&](const Place& within, Body& inner) {
          Place place = within;
          place.at.insert(place.at.begin(), at.begin(), at.end());
          place.axis += at.size();
          Expr value = native::LoadAt(writer, out, place);
          if (plan_.alpha != 1) {
            value = std::move(value) * kernel::Float(static_cast<double>(plan_.alpha), place.lanes);
          }
          if (plan_.start != kNoValue) {
            const Expr start = native::LoadAt(writer, views.back(), place);
            value = std::move(value) +
                    start * kernel::Float(static_cast<double>(plan_.beta), place.lanes);
          }
          epilogue_.Store(writer, place, std::move(value), inner);
        },
        LoopKind::kSerial);
    for (kernel::Stmt& stmt : loops) body.push_back(std::move(stmt));
  }

 private:
  /// Returns the views with the axes after the first `kept` merged where possible.
  [[nodiscard]] std::vector<View> Joined(std::size_t kept) const {
    const auto first = static_cast<std::ptrdiff_t>(kept);
    std::vector<View> inner = views_;
    for (View& view : inner) {
      view.dims.erase(view.dims.begin(), view.dims.begin() + first);
      view.strides.erase(view.strides.begin(), view.strides.begin() + first);
    }
    std::vector<View> joined = native::JoinAxes(inner);
    for (std::size_t i = 0; i < joined.size(); ++i) {
      View& view = joined[i];
      const View& from = views_[i];
      view.dims.insert(view.dims.begin(), from.dims.begin(), from.dims.begin() + first);
      view.strides.insert(view.strides.begin(), from.strides.begin(), from.strides.begin() + first);
    }
    return joined;
  }

  const Plan& plan_;
  const int lanes_;
  Epilogue epilogue_;
  std::vector<View> views_;  ///< views of the epilogue, then C of a Gemm, with dims plan.seen
};

/// Returns B in the layout that the library needs.
View PlaceOfB(native::Lowering& lowering, const Plan& plan) {
  if (!plan.b_packed) return lowering.Where(plan.b);
  return lowering.Constant(DType::kF32, plan.product.k * plan.product.n, [&](Tensor& packed) {
    const TensorPtr given = lowering.graph().constant(plan.b);
    const auto from = given->Values<float>();
    const auto to = packed.MutableValues<float>();
    const auto n = static_cast<std::size_t>(plan.product.n);
    const auto k = static_cast<std::size_t>(plan.product.k);
    for (std::size_t i = 0; i < n; ++i) {
      // Given [n, k], needed [k, n].
      for (std::size_t j = 0; j < k; ++j) to[j * n + i] = from[i * k + j];
    }
  });
}

/// Returns whether the threads share the products, so that each product runs on one thread.
bool ShareParts(std::int64_t parts, int threads) {
  constexpr std::int64_t kEven = 4;  // enough products per thread that one more hardly matters
  return parts % threads == 0 || parts >= kEven * threads;
}

}  // namespace

void LowerProduct(native::Lowering& lowering, const native::Group& group, const Plan& plan,
                  int threads) {
  const View out = lowering.Where(ResultOf(lowering.graph(), group));
  const View a = lowering.Where(plan.a);
  const View b = PlaceOfB(lowering, plan);
  const std::int64_t parts = plan.parts();
  const bool shared = ShareParts(parts, threads);
  const bool closes = plan.closes || !group.followers.empty();
  Closing closing(lowering, group, plan, out);

  const auto product_at = [&](KernelWriter& writer, const std::vector<Expr>& at) {
    const auto address = [&](const View& view, Access access, std::int64_t Plan::Axis::*stride) {
      Expr index = kernel::Int(view.offset);
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        if (plan.batch[axis].*stride == 0) continue;
        index = std::move(index) + at[axis] * (plan.batch[axis].*stride);
      }
      return kernel::Call::Address{writer.Use(view, access), std::move(index)};
    };
    kernel::Sgemm product = plan.product;
    product.threads = shared ? 1 : threads;
    return kernel::Stmt{kernel::ToCall(product, address(a, Access::kRead, &Plan::Axis::a),
                                       address(b, Access::kRead, &Plan::Axis::b),
                                       address(out, Access::kWrite, &Plan::Axis::c))};
  };
  const kernel::Sgemm& p = plan.product;
  const double flops = 2.0 * static_cast<double>(parts) * static_cast<double>(p.m) *
                       static_cast<double>(p.n) * static_cast<double>(p.k);

  // If threads share the products, each product is followed by its closing loops.
  KernelWriter writer = lowering.Writer("product");
  Body body =
      writer.Loop(parts, shared ? LoopKind::kParallel : LoopKind::kSerial, [&](const Expr& part) {
        const std::vector<Expr> at = Apart(plan.seen, plan.batch.size(), part);
        Body inside{product_at(writer, at)};
        if (closes && shared) closing.Write(writer, at, inside);
        return inside;
      });
  const native::Label label = lowering.LabelOf(group.nodes(), "f32");
  lowering.AddCall(std::move(writer), std::move(body), flops, label);
  if (!closes || shared) return;

  // If each product uses all threads, the closing loops are a kernel whose rows the threads share.
  KernelWriter closer = lowering.Writer("close");
  Body rows = closer.Loop(Entries(plan.seen, plan.rows), LoopKind::kParallel, [&](const Expr& row) {
    Body inside;
    closing.Write(closer, Apart(plan.seen, plan.rows, row), inside);
    return inside;
  });
  lowering.AddCall(std::move(closer), std::move(rows), 0, label);
}

}  // namespace msc::blas
