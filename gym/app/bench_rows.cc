#include "gym/app/bench_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <span>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/formatted.h"
#include "compiler/base/rng.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/partition/generate/origins.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/export_onnx.h"
#include "compiler/pipeline/observe.h"
#include "compiler/pipeline/samples.h"
#include "cost/model/closeness.h"
#include "cost/track/finite.h"
#include "gym/app/input_files.h"
#include "gym/app/layer_kind.h"
#include "gym/app/not_finite.h"
#ifdef MSC_WITH_ONNXRUNTIME
#include "compiler/targets/onnxruntime/onnxruntime.h"
#endif

namespace msc::gym {
namespace {

/// Largest accepted difference of f32 outputs from those of the first f32 row (cost::Difference).
/// Compressed rows are not held to a limit among each other, only reported: rounding differences
/// are about 0.01 on most models, and unbounded on a model that random inputs saturate.
constexpr double kExactError = 1e-4;
/// Likewise for a model that computes in half precision somewhere: one step of f16 is 1e-3.
constexpr double kHalfError = 0.02;
/// Limits of a compressed variant against the f32 row, on given samples. Outputs that exceed both,
/// the largest difference and the fraction of the outputs' variance that is missed, are those of
/// another computation. Accuracy is judged by a search, on real data.
constexpr double kCompressedError = 0.5;
constexpr double kCompressedLoss = 0.5;

/// Returns the accepted difference between f32 rows of a model. A model that rounds to integers
/// itself gets the limit of compressed rows: targets may round a value that is near a tie
/// differently.
double ExactError(const Graph& graph) {
  double error = kExactError;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.Is("QuantizeLinear") || node.Is("DynamicQuantizeLinear")) return kCompressedError;
    for (const ValueId output : node.outputs) {
      if (output == kNoValue) continue;
      const DType dtype = graph.type(output).dtype;
      if (dtype == DType::kF16 || dtype == DType::kBF16) error = kHalfError;
    }
  }
  return error;
}

/// Returns the precision in which a node of a graph with explicit Q/DQ and Cast nodes multiplies.
std::string PrecisionOf(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kNoValue) return "f32";
  const NodeId before = graph.producer(node.inputs[0]);
  if (before != kNoNode && graph.node(before).Is("DequantizeLinear")) return "int8";
  return graph.type(node.inputs[0]).dtype == DType::kBF16 ? "bf16" : "f32";
}

/// Returns the seconds that all multiplications and additions take at the peak of their precision.
double RoofSeconds(const Graph& applied, const BenchSetup& setup) {
  const Graph bound = BindSizes(applied, setup.compile);
  double seconds = 0;
  for (const NodeId id : bound.order()) {
    const cost::Peak& peak = cost::PeakOf(setup.roof, PrecisionOf(bound, bound.node(id)));
    seconds += CostOf(bound, id).flops / peak.per_second;
  }
  return seconds;
}

/// Moves an executable into the row and runs it once.
void Fill(BenchRow& row, Result<Executable> built, const BenchSetup& setup) {
  if (!built.ok()) {
    row.why = built.failure().detail;
    return;
  }
  row.executable = std::move(built).value();
  row.outputs = row.executable->Run(setup.inputs);
}

/// Rejects a row if its outputs are not finite although those of the uncompressed model are.
void RequireFinite(const Graph& applied, const Strategy& strategy, const TargetRegistry& targets,
                   const BenchSetup& setup, BenchRow& row) {
  const auto found = cost::FindNotFinite({.canonical = setup.graph,
                                          .strategy = &strategy,
                                          .targets = &targets,
                                          .compile = setup.compile,
                                          .inputs = setup.inputs,
                                          .outputs = row.outputs,
                                          .applied = &applied,
                                          .compiled_here = row.target != kPeer});
  if (!found) return;
  row.not_finite = true;
  row.why = NotFiniteText(*found);
}

/// Calls `fill` and stores an exception as the row's reason. Internal errors pass through.
template <class FillRow>
BenchRow Guarded(std::string target, const Variant& variant, const FillRow& fill) {
  BenchRow row;
  row.target = std::move(target);
  row.variant = variant.name;
  row.why = variant.why;
  try {
    if (row.why.empty()) fill(row);
  } catch (const InternalError&) {
    throw;
  } catch (const std::exception& error) {
    row.why = error.what();
  }
  if (!row.why.empty()) row.executable.reset();
  return row;
}

double MaxError(const std::vector<Tensor>& expected, const std::vector<Tensor>& actual) {
  if (expected.size() != actual.size()) return INFINITY;
  double error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error = std::max(error, cost::TensorDifference(expected[i], actual[i]));
  }
  return error;
}

/// Returns the fraction of the variance of the expected f32 values that the actual values miss.
/// Both have the same shapes (compared before). Infinite if values differ although the expected
/// ones are constant.
double MissedVariance(const std::vector<Tensor>& expected, const std::vector<Tensor>& actual) {
  double missed = 0;
  double all = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].dtype() != DType::kF32) continue;
    const auto want = expected[i].Values<float>();
    const auto got = actual[i].Values<float>();
    double sum = 0;
    std::size_t finite = 0;
    for (const float x : want) {
      if (!std::isfinite(x)) continue;
      sum += static_cast<double>(x);
      ++finite;
    }
    const double mean = sum / static_cast<double>(std::max<std::size_t>(finite, 1));
    for (std::size_t j = 0; j < want.size(); ++j) {
      if (!std::isfinite(want[j])) continue;  // MaxError found the actual value to be the same
      missed += std::pow(static_cast<double>(want[j]) - static_cast<double>(got[j]), 2);
      all += std::pow(static_cast<double>(want[j]) - mean, 2);
    }
  }
  if (missed == 0) return 0;
  return all > 0 ? missed / all : INFINITY;
}

/// Returns whether the outputs of a compressed row are unrelated to those of `exact`. Both limits
/// must be exceeded, so that a single outlier does not reject a row.
bool IsAnother(const BenchRow& exact, const BenchRow& row) {
  if (*row.f32_error <= kCompressedError) return false;
  return !std::isfinite(*row.f32_error) ||
         MissedVariance(exact.outputs, row.outputs) > kCompressedLoss;
}

bool HaveOneForm(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.dtype() == y.dtype() && x.dims() == y.dims();
  });
}

std::string DiffersText(const BenchRow& from, double error) {
  return "outputs differ from those of " + from.target + " " + from.variant +
         Formatted(" by %.2g of their range or size", error);
}

/// Returns a few batches of random inputs. UserError if an input has no batch dimension.
std::vector<Tensor> RandomSamples(const BenchSetup& setup) {
  constexpr std::int64_t kBatches = 4;
  std::vector<ValueType> types = BoundInputs(*setup.graph, setup.compile.bindings);
  for (ValueType& type : types) {
    if (type.shape->empty()) throw UserError("an input without dimensions has no batch dimension");
    type.shape->front() = Dim(BatchSize(*setup.graph, setup.batch) * kBatches);
  }
  return RandomInputs(types, 1);
}

/// Calibrates an int8 variant. UserError if the model cannot be calibrated.
void Calibrate(const std::vector<Tensor>& samples, const BenchSetup& setup,
               const TargetRegistry& targets, Variant& variant) {
  const CalibrationRun run{
      .target = targets.Find("onednn") != nullptr ? "onednn" : "reference",
      .threads = setup.compile.threads,
      .batch = BatchSize(*setup.graph, setup.batch),
  };
  variant.strategy.quantize.activations =
      ObserveActivations(*setup.graph, TensorSamples(samples), run, targets)
          .Scales({.method = "minmax"});
}

/// Returns the samples of one run. UserError if `samples`, read from `file`, do not fit `type`.
Tensor FirstBatch(const Tensor& samples, const ValueType& type, const std::string& file) {
  const std::vector<std::int64_t> dims = StaticDims(type.shape.value()).value();
  std::vector<std::int64_t> given = samples.dims();
  const bool more = !dims.empty() && given.size() == dims.size() && given[0] > dims[0];
  if (more) given[0] = dims[0];
  if (samples.dtype() != type.dtype || given != dims) {
    throw UserError("'" + file + "' holds " + std::string(Name(samples.dtype())) +
                    ToString(samples.dims()) + "; the model needs " +
                    std::string(Name(type.dtype)) + ToString(dims) +
                    ", or more along the first dimension");
  }
  return more ? Rows(samples, 0, dims[0]) : samples;
}

}  // namespace

std::vector<Tensor> RandomInputs(const std::vector<ValueType>& types, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> inputs;
  for (const ValueType& type : types) {
    Tensor& tensor = inputs.emplace_back(type.dtype, StaticDims(type.shape.value()).value());
    if (type.dtype != DType::kF32) continue;
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  }
  return inputs;
}

std::vector<ValueType> BoundInputs(const Graph& graph, const ShapeBindings& bindings) {
  if (const std::string open = OpenSizesText(graph, bindings); !open.empty()) {
    throw UserError(open);
  }
  std::vector<ValueType> types;
  for (const ValueId id : graph.inputs()) {
    ValueType type = graph.type(id);
    if (!type.shape) throw UserError("input '" + graph.value(id).name + "' has no rank");
    for (Dim& dim : *type.shape) {
      if (!dim.known()) dim = Dim(bindings.at(dim.symbol()));
    }
    types.push_back(std::move(type));
  }
  return types;
}

void ReadInputs(const std::vector<std::string>& files, BenchSetup& setup) {
  const Graph& graph = *setup.graph;
  if (files.size() != graph.inputs().size()) {
    throw UserError("--input names " + std::to_string(files.size()) +
                    " files; inputs of the model: " + std::to_string(graph.inputs().size()));
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    setup.samples.push_back(ReadInput(files[i], value.name, value.type.dtype));
  }
  // Files have the sizes that the model leaves open, and may have more samples than a batch.
  setup.compile.bindings.merge(BindingsFor(graph, setup.samples));
  const std::vector<ValueType> types = BoundInputs(graph, setup.compile.bindings);
  for (std::size_t i = 0; i < files.size(); ++i) {
    setup.inputs.push_back(FirstBatch(setup.samples[i], types[i], files[i]));
  }
}

Variant AllLayersIn(Precision precision, const BenchSetup& setup, const TargetRegistry& targets) {
  Variant variant{.name = std::string(Name(precision))};
  if (precision == Precision::kF32) return variant;
  for (const QuantizableLayer& layer : FindQuantizableLayers(*setup.graph)) {
    const auto& allowed = layer.allowed;
    if (std::find(allowed.begin(), allowed.end(), precision) == allowed.end()) continue;
    variant.strategy.quantize.layers[layer.name] = precision;
  }
  if (variant.strategy.quantize.layers.empty()) variant.why = "no layer can be " + variant.name;
  if (precision != Precision::kInt8 || !variant.why.empty()) return variant;
  try {
    const bool random = setup.samples.empty();
    Calibrate(random ? RandomSamples(setup) : setup.samples, setup, targets, variant);
    std::fprintf(stderr,
                 "note: int8 scales are the smallest and largest values over %s; use them for "
                 "timing only, not to judge outputs\n",
                 random ? "random inputs" : "the given samples");
  } catch (const UserError& error) {
    variant.why = error.what();
  }
  return variant;
}

namespace {

/// Q/DQ and Cast nodes serve the layers on both sides, so they are assigned to none.
bool IsConversion(const FlowNode& node) {
  return node.op == "QuantizeLinear" || node.op == "DequantizeLinear" || node.op == "Cast";
}

std::map<std::string, BenchNode> NodesOf(const Graph& lowered, const Graph& graph) {
  const DataflowGraph flow(graph);
  const Origins origins(graph, flow, lowered);
  std::map<std::string, BenchNode> nodes;
  for (const NodeId id : lowered.order()) {
    BenchNode& node = nodes[lowered.node(id).name];
    node = {.cost = CostOf(lowered, id), .kind = LayerKind(lowered, id)};
    const std::optional<IndexSet> found = origins.Of(id);
    if (!found) continue;
    found->ForEach([&](std::size_t i) {
      const FlowNode& origin = flow.node(static_cast<FlowIndex>(i));
      if (!IsConversion(origin)) node.origins.push_back(origin.name);
    });
  }
  return nodes;
}

}  // namespace

BenchRow MakeRow(const std::string& spec, const Variant& variant, const BenchSetup& setup,
                 const TargetRegistry& targets) {
  return Guarded(spec, variant, [&](BenchRow& row) {
    const Target& target = targets.Get(spec);
    // Set the target with its options, which may change the precision of layers.
    Variant own = variant;
    Strategy& strategy = own.strategy;
    if (spec != strategy.target) RunAllOn(spec, strategy);
    const Graph applied = ApplyStrategy(*setup.graph, strategy);
    const bool mixed = !strategy.partition.empty();
    const Lowered lowered = LowerFor(applied, strategy, targets, setup.compile);
    Fill(row, BuildExecutable(lowered, targets, setup.compile), setup);
    if (!row.executable) return;
    row.nodes = NodesOf(lowered.graph, BindSizes(applied, setup.compile));
    for (const Step& step : row.executable->steps()) {
      const bool wanted = mixed ? step.target != "reference" : step.target == target.facts().name;
      if (!wanted) ++row.elsewhere[step.target];
    }
    row.roof_seconds = RoofSeconds(applied, setup);
    RequireFinite(applied, strategy, targets, setup, row);
  });
}

BenchRow MakePeerRow(const std::string& file, const Variant& variant, const BenchSetup& setup,
                     const TargetRegistry& targets) {
  return Guarded(kPeer, variant, [&](BenchRow& row) {
#ifdef MSC_WITH_ONNXRUNTIME
    if (variant.name == Name(Precision::kBF16)) {
      row.why = "ONNX Runtime has no bf16 kernels for this device";
      return;
    }
    const ReaderRules& reader = FindReader("onnxruntime");
    const ReaderModel exported = ModelForReader(*setup.graph, variant.strategy, reader);
    const bool as_is =
        variant.name == Name(Precision::kF32) && file.ends_with(".onnx") && !setup.fixed_inputs;
    const std::string model = as_is ? ReadFile(file) : WriteForReader(exported, reader).bytes;
    // Also folds what computes sizes, so that those of outputs are known.
    const Graph bound = BindSizes(*setup.graph, setup.compile);
    Fill(row, BuildFromOnnx(model, bound, {.threads = setup.compile.threads}), setup);
    row.roof_seconds = RoofSeconds(exported.graph, setup);
    RequireFinite(exported.graph, variant.strategy, targets, setup, row);
#else
    static_cast<void>(file);
    static_cast<void>(setup);
    static_cast<void>(targets);
    row.why = "this build has no ONNX Runtime";
#endif
  });
}

void CompareOutputs(const BenchSetup& setup, std::vector<BenchRow>& rows) {
  const std::string f32(Name(Precision::kF32));
  const double exact_error = ExactError(*setup.graph);
  const bool random = setup.samples.empty();
  std::map<std::string, const BenchRow*> firsts;  // by variant
  for (BenchRow& row : rows) {
    if (!row.executable) continue;
    const BenchRow& first = *firsts.try_emplace(row.variant, &row).first->second;
    row.max_error = MaxError(first.outputs, row.outputs);
    if (row.variant == f32 && row.max_error > exact_error) {
      row.why = DiffersText(first, row.max_error);
    }
    const auto exact = firsts.find(f32);
    if (exact == firsts.end() || row.variant == f32) continue;
    row.f32_error = MaxError(exact->second->outputs, row.outputs);
    if (!IsAnother(*exact->second, row)) continue;
    const std::string text = DiffersText(*exact->second, *row.f32_error);
    if (random && HaveOneForm(exact->second->outputs, row.outputs)) {
      std::fprintf(stderr, "note: %s %s: %s, on random inputs; give real ones by --input\n",
                   row.target.c_str(), row.variant.c_str(), text.c_str());
    } else {
      row.why = text;
    }
  }
  for (BenchRow& row : rows) {
    if (!row.why.empty()) row.executable.reset();
  }
}

}  // namespace msc::gym
