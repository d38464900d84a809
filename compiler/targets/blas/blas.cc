#include "compiler/targets/blas/blas.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/runtime/threads.h"
#include "compiler/targets/blas/close.h"
#include "compiler/targets/blas/library.h"
#include "compiler/targets/blas/plan.h"
#include "compiler/targets/options.h"

namespace msc {
namespace blas {
namespace {

struct BlasOptions {
  std::string library = "openblas";
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("library", self.library, "who multiplies", Within::OneOf({"openblas", "blis", "xsmm"}));
  }
};

/// A plan with the buffers it works on.
struct Call {
  Plan plan;
  const Library* library = nullptr;
  int threads = 1;
  BufferId a{};
  BufferId b{};
  BufferId c{};
  BufferId start{};
  BufferId residual{};
};

void Spread(const Call& call, const float* start, float* c) {
  const Product& p = call.plan.product;
  for (std::int64_t row = 0; row < p.m; ++row) {
    const float* const from = start + row * call.plan.start_row;
    for (std::int64_t i = 0; i < p.n; ++i) c[row * p.n + i] = from[i * call.plan.start_column];
  }
}

void Run(const Call& call, const StepContext& context) {
  const auto at = [&](BufferId id) { return reinterpret_cast<float*>(context.At(id)); };
  const Plan& plan = call.plan;
  const Product& p = plan.product;
  float* const c = at(call.c);
  UseThreads(call.threads);
  if (plan.start != kNoValue) Spread(call, at(call.start), c);
  for (const Offsets& part : plan.parts) {
    call.library->multiply(p, call.threads, at(call.a) + part.a, at(call.b) + part.b, c + part.c);
  }
  if (plan.closing.empty()) return;
  const float* const residual = plan.closing.residual ? at(call.residual) : nullptr;
  const std::int64_t rows = static_cast<std::int64_t>(plan.parts.size()) * p.m;
  ParallelFor(call.threads, rows, [&](std::int64_t begin, std::int64_t end) {
    CloseRows(plan.closing, residual, p.n, begin, end, c);
  });
}

class BlasTarget final : public Target {
 public:
  explicit BlasTarget(const Library& library)
      : library_(&library), facts_{.name = "blas", .device = "cpu", .version = library.version} {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoWantsFusedOps() const override { return true; }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId id) const override {
    return PlanNode(graph, id, *library_).has_value();
  }
  [[nodiscard]] std::optional<Failure> DoGraphToRuntime(const Region& region,
                                                        const TargetOptions& options,
                                                        ExecutableBuilder& builder) const override;

  const Library* library_;
  TargetFacts facts_;
};

/// The constant B, given as [n,k], as [k,n].
BufferId PackB(const Graph& graph, const Plan& plan, ExecutableBuilder& builder) {
  const TensorPtr given = graph.constant(plan.b);
  const auto from = given->Values<float>();
  auto packed = std::make_shared<Tensor>(DType::kF32, Dims{plan.product.k, plan.product.n});
  const auto to = packed->MutableValues<float>();
  const auto n = static_cast<std::size_t>(plan.product.n);
  const auto k = static_cast<std::size_t>(plan.product.k);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < k; ++j) to[j * n + i] = from[i * k + j];
  }
  return builder.AddConstant(packed, packed->Raw().data(), packed->bytes());
}

std::optional<Failure> BlasTarget::DoGraphToRuntime(const Region& region,
                                                    const TargetOptions& options,
                                                    ExecutableBuilder& builder) const {
  for (const NodeId id : region.nodes) {
    const Node& node = region.graph->node(id);
    std::optional<Plan> plan = PlanNode(*region.graph, id, *library_);
    Check(plan.has_value(), "the nodes of a region are supported");
    auto call = std::make_shared<Call>();
    call->plan = *std::move(plan);
    call->library = library_;
    call->threads = options.threads;
    Step step{.name = node.name,
              .target = "blas",
              .nodes = {node.name},
              .precision = "f32",
              .reads = {},
              .writes = {},
              .run = {}};
    const auto read = [&](ValueId value) {
      const BufferId buffer = builder.BufferOf(value);
      if (region.graph->constant(value) == nullptr) step.reads.push_back(buffer);
      return buffer;
    };
    call->a = read(call->plan.a);
    call->b = call->plan.b_packed ? PackB(*region.graph, call->plan, builder) : read(call->plan.b);
    if (call->plan.start != kNoValue) call->start = read(call->plan.start);
    if (call->plan.residual != kNoValue) call->residual = read(call->plan.residual);
    call->c = builder.BufferOf(call->plan.c);
    step.writes = {call->c};
    step.run = [call](const StepContext& context) { Run(*call, context); };
    builder.AddStep(std::move(step));
  }
  return std::nullopt;
}

std::unique_ptr<Target> MakeBlasTarget(const BlasOptions& options) {
  return std::make_unique<BlasTarget>(LoadLibrary(options.library));
}

}  // namespace
}  // namespace blas

TargetKind BlasKind() {
  return KindOf<blas::BlasOptions>("blas", blas::MakeBlasTarget);
}

}  // namespace msc
