// Networks with one layer in fewer bits, and at several batches, on every target, against the
// reference kernels on the same decisions.

#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "compiler/targets/register.h"
#include "tests/support/exact_int8.h"
#include "tests/support/layer_sweep.h"
#include "tests/support/pipeline.h"
#include "tests/support/suite.h"

namespace msc {
namespace {

constexpr std::array<int, 6> kBatches = {1, 2, 3, 4, 8, 16};

/// A network like those of the suite, in small; N is the batch, and weights whose channel 1 is all
/// but zero are named dead.
struct Network {
  const char* label;
  const char* text;
  friend void PrintTo(const Network& network, std::ostream* out) { *out << network.label; }
};

constexpr Network kNetworks[] = {
    // NOLINT(modernize-avoid-c-arrays)
    {"lcnet", R"(graph g {
  input %x : f32[N,3,16,16]
  const %w0 : f32[16,3,3,3] = random 1
  const %w1 : f32[16,1,3,3] = random 2
  const %dead : f32[24,16,1,1] = random 3
  const %b2 : f32[24] = random 4
  const %w3 : f32[24,1,5,5] = random 5
  const %w4 : f32[6,24,1,1] = random 6
  const %w5 : f32[24,6,1,1] = random 7
  const %w6 : f32[20,24,1,1] = random 8
  const %up : f32[] = [0.7]
  %c0 = Conv(%x, %w0) @stem {strides = [2, 2], pads = [1, 1, 1, 1]}
  %c1 = Conv(%c0, %w1) @deep {group = 16, pads = [1, 1, 1, 1]}
  %h1 = HardSwish(%c1)
  %c2 = Conv(%h1, %dead, %b2) @point
  %h2 = HardSwish(%c2)
  %a2 = Add(%h2, %up)
  %c3 = Conv(%a2, %w3) @down {group = 24, pads = [2, 2, 2, 2], strides = [2, 1]}
  %p = GlobalAveragePool(%c3)
  %c4 = Conv(%p, %w4) @squeeze
  %r4 = Relu(%c4)
  %c5 = Conv(%r4, %w5) @excite
  %s5 = HardSigmoid(%c5) {alpha = 0.2, beta = 0.5}
  %m = Mul(%c3, %s5)
  %y = Conv(%m, %w6) @last
  output %y
})"},
    {"residual", R"(graph g {
  input %x : f32[N,16,9,9]
  const %w0 : f32[16,16,3,3] = random 1
  const %dead : f32[16,16,3,3] = random 2
  const %b1 : f32[16] = random 3
  const %w2 : f32[24,16,1,1] = random 4
  const %slope : f32[24,1,1] = random 5
  const %w3 : f32[10,24] = random 6
  %c0 = Conv(%x, %w0) @one {pads = [1, 1, 1, 1]}
  %r0 = Relu(%c0)
  %c1 = Conv(%r0, %dead, %b1) @two {pads = [1, 1, 1, 1]}
  %a1 = Add(%c1, %x)
  %r1 = Relu(%a1)
  %j = Concat(%r1, %r0) {axis = 2}
  %c2 = Conv(%j, %w2) @three {strides = [2, 2]}
  %q = PRelu(%c2, %slope)
  %g = GlobalAveragePool(%q)
  %f = Flatten(%g) {axis = 1}
  %y = Gemm(%f, %w3) @head {transB = 1}
  output %y
})"},
    {"transformer", R"(graph g {
  input %x : f32[N,5,32]
  const %g : f32[32] = splat 0.9
  const %o : f32[32] = random 9
  const %wv : f32[32,32] = random 1
  const %wq : f32[32,32] = random 2
  const %w1 : f32[32,48] = random 3
  const %w2 : f32[48,32] = random 4
  const %b2 : f32[32] = random 5
  const %scale : f32[] = [0.1]
  %n = LayerNormalization(%x, %g, %o) {axis = -1}
  %t = Transpose(%n) {perm = [1, 0, 2]}
  %v = MatMul(%t, %wv) @value
  %q = MatMul(%t, %wq) @query
  %vb = Transpose(%v) {perm = [1, 0, 2]}
  %qb = Transpose(%q) {perm = [1, 2, 0]}
  %s = MatMul(%vb, %qb)
  %sc = Mul(%s, %scale)
  %p = Softmax(%sc) {axis = -1}
  %a = MatMul(%p, %vb)
  %at = Transpose(%a) {perm = [1, 0, 2]}
  %ao = MatMul(%at, %wq) @out
  %ab = Transpose(%ao) {perm = [1, 0, 2]}
  %r = Add(%ab, %x)
  %h = MatMul(%r, %w1) @wide
  %e = Relu(%h)
  %d = MatMul(%e, %w2) @narrow
  %db = Add(%d, %b2)
  %y = Add(%db, %r)
  output %y
})"},
};

/// Canonical, with so many samples.
Graph Made(const Network& network, int batch) {
  std::string text = network.text;
  text.replace(text.find("[N,") + 1, 1, std::to_string(batch));
  Graph graph = ParseGraph(text);
  for (const NodeId id : graph.order()) {
    for (std::size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
      const ValueId value = graph.node(id).inputs[i];
      if (graph.value(value).name != "dead") continue;
      Tensor weights = *graph.constant(value);
      const auto count = static_cast<std::size_t>(weights.size() / weights.dims()[0]);
      for (float& w : weights.MutableValues<float>().subspan(count, count)) w *= 1e-39F;
      graph.SetInput(id, i, graph.AddConstant("weights", std::move(weights)));
    }
  }
  InferTypes(graph);
  Canonicalize(graph);
  return graph;
}

/// Why a target cannot be had here; empty if it can.
std::string AbsenceOf(const TargetRegistry& registry, const std::string& name) {
  try {
    (void)registry.Get(name);
    return "";
  } catch (const UserError& absent) {
    return absent.what();
  }
}

void TryLayers(const LayerSweep& sweep, const std::string& target, Extent extent,
               std::size_t stride) {
  const TargetRegistry registry = Targets();
  if (const std::string absence = AbsenceOf(registry, target); !absence.empty()) {
    GTEST_SKIP() << absence;
  }
  ASSERT_FALSE(sweep.layers().empty());
  for (std::size_t i = 0; i < sweep.layers().size(); i += stride) {
    for (const Precision precision : sweep.layers()[i].allowed) {
      if (precision == Precision::kInt8 && !IsExactInInt8(target)) continue;
      const LayerCase made = sweep.CaseOf(sweep.layers()[i], precision, extent);
      const Strategy strategy = StrategyOf(made);
      const Agreement agreement(ApplyStrategy(made.graph, strategy), made.inputs);
      EXPECT_EQ(WrongOn(target, made, strategy, agreement, registry).value_or("right"), "right")
          << made.layer << " in " << Name(precision);
    }
  }
}

/// All layers that allow it in `precision`, scales by what the first sample gives.
Strategy AllIn(const Graph& graph, Precision precision, const std::vector<Tensor>& inputs) {
  LayerCase whole{.layer = "", .precision = precision, .graph = graph, .inputs = inputs};
  Strategy strategy = StrategyOf(whole);
  strategy.quantize.layers.clear();
  for (const QuantizableLayer& layer : FindQuantizableLayers(graph)) {
    const bool allowed = std::ranges::find(layer.allowed, precision) != layer.allowed.end();
    if (allowed) strategy.quantize.layers[layer.name] = precision;
  }
  return strategy;
}

/// The sample so many times.
Tensor Repeated(const Tensor& sample, int times) {
  Dims dims = sample.dims();
  dims[0] *= times;
  Tensor all(sample.dtype(), dims);
  for (int i = 0; i < times; ++i) {
    std::memcpy(all.MutableRaw().data() + static_cast<std::size_t>(i) * sample.bytes(),
                sample.Raw().data(), sample.bytes());
  }
  return all;
}

/// Every sample of a batch is computed as it is by itself.
template <class Make>
void TryBatches(const Make& make, const std::string& target) {
  const TargetRegistry registry = Targets();
  if (const std::string absence = AbsenceOf(registry, target); !absence.empty()) {
    GTEST_SKIP() << absence;
  }
  const Graph one = make(1);
  const std::vector<Tensor> sample = NormalInputs(one, 1);
  for (const Precision precision : {Precision::kF32, Precision::kBF16, Precision::kInt8}) {
    if (precision == Precision::kInt8 && !IsExactInInt8(target)) continue;
    Strategy strategy = AllIn(one, precision, sample);
    const Agreement agreement(ApplyStrategy(one, strategy), sample);
    strategy.target = target;
    for (const int batch : kBatches) {
      SCOPED_TRACE(std::string(Name(precision)) + " at batch " + std::to_string(batch));
      Result<Executable> built = Compile(make(batch), strategy, registry, {});
      ASSERT_TRUE(built.ok()) << built.failure().detail;
      const std::vector<Tensor> got = built.value().Run(std::vector{Repeated(sample[0], batch)});
      for (int i = 0; i < batch; ++i) {
        std::vector<Tensor> rows;
        for (const Tensor& output : got) rows.push_back(Rows(output, i, 1));
        EXPECT_EQ(agreement.Wrong(rows).value_or("right"), "right") << "sample " << i;
      }
    }
  }
}

std::vector<std::string> Names() {
  const TargetRegistry registry = Targets();
  std::vector<std::string> names;
  for (const auto& [name, kind] : registry.kinds()) {
    if (name != "reference") names.push_back(name);  // the others are compared with it
  }
  return names;
}

class SmallMixes : public testing::TestWithParam<std::tuple<std::string, Network>> {};

TEST_P(SmallMixes, EachLayerAloneIsRightInEachPrecision) {
  const auto& [target, network] = GetParam();
  // A compiler runs for each kernel of native: a part will do beside the random models.
  TryLayers(LayerSweep(Made(network, 1), 1), target, Extent::kWhole, target == "native" ? 3 : 1);
}

TEST_P(SmallMixes, EachBatchIsRightInEachPrecision) {
  const auto& [target, network] = GetParam();
  TryBatches([&network = network](int batch) { return Made(network, batch); }, target);
}

INSTANTIATE_TEST_SUITE_P(All, SmallMixes,
                         testing::Combine(testing::ValuesIn(Names()), testing::ValuesIn(kNetworks)),
                         [](const auto& param) {
                           return std::get<0>(param.param) + "_" + std::get<1>(param.param).label;
                         });

class SuiteMixes : public testing::TestWithParam<std::tuple<std::string, SuiteModel>> {};

/// With native every sixteenth layer, as a compiler runs for each kernel: `mixes` tries them all.
TEST_P(SuiteMixes, EachLayerAloneIsRightInEachPrecision) {
  const auto& [target, model] = GetParam();
  if (const std::string absence = AbsenceOf(model); !absence.empty()) GTEST_SKIP() << absence;
  TryLayers(LayerSweep(LoadSuiteModel(model, 1), 1), target, Extent::kNear,
            target == "native" ? 16 : 1);
}

TEST_P(SuiteMixes, EachBatchIsRightInEachPrecision) {
  const auto& [target, model] = GetParam();
  if (const std::string absence = AbsenceOf(model); !absence.empty()) GTEST_SKIP() << absence;
  if (model.fixed_batch) GTEST_SKIP() << model.name << " has a fixed batch";
  TryBatches([&model = model](int batch) { return LoadSuiteModel(model, batch); }, target);
}

INSTANTIATE_TEST_SUITE_P(All, SuiteMixes,
                         testing::Combine(testing::ValuesIn(Names()), testing::ValuesIn(Suite())),
                         [](const auto& param) {
                           return std::get<0>(param.param) + "_" + std::get<1>(param.param).name;
                         });

}  // namespace
}  // namespace msc
