#include "compiler/targets/onnxruntime/onnxruntime.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/ir/extract.h"
#include "compiler/targets/onnxruntime/api.h"
#include "compiler/targets/onnxruntime/kernels.h"
#include "compiler/targets/options.h"

namespace msc {
namespace onnxruntime {
namespace {

struct OnnxRuntimeOptions {
  std::string optimize = "all";
  static void Fields(auto& self, auto& visit) {
    visit("optimize", self.optimize, "level of graph optimizations of ONNX Runtime",
          Within::OneOf({"none", "basic", "extended", "all"}));
  }
};

GraphOptimizationLevel LevelOf(const std::string& optimize) {
  if (optimize == "none") return ORT_DISABLE_ALL;
  if (optimize == "basic") return ORT_ENABLE_BASIC;
  return optimize == "extended" ? ORT_ENABLE_EXTENDED : ORT_ENABLE_ALL;
}

std::string ToOnnx(const Graph& graph) {
  return ExportOnnxBytes(graph, {.opset = 17, .bf16 = Bf16Export::kKeep});
}

/// Returns whether the type is a tensor of numbers or bools with known dims and at least one
/// element.
bool IsPlain(const ValueType& type) {
  if (type.container != Container::kTensor || !type.shape) return false;
  const auto dims = StaticDims(*type.shape);
  return dims && ElementCount(*dims) > 0 && ByteSize(type.dtype) > 0;
}

/// Returns a graph of one node under neutral names, so that equal nodes give equal bytes. Large
/// constants become inputs: they are weights, whose values do not matter here. Returns nullopt if a
/// value is not a plain tensor.
std::optional<Graph> Question(const Graph& graph, const Node& node) {
  constexpr std::size_t kSmall = 4096;
  Graph question("node");
  Node asked = node;
  asked.name = "node";
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (input == kNoValue) continue;
    if (!IsPlain(graph.type(input))) return std::nullopt;
    const std::string name = "in" + std::to_string(i);
    const TensorPtr constant = graph.constant(input);
    asked.inputs[i] = constant && constant->bytes() <= kSmall
                          ? question.AddConstant(name, constant)
                          : question.AddInput(name, graph.type(input));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    if (!IsPlain(graph.type(node.outputs[i]))) return std::nullopt;
    asked.outputs[i] = question.AddValue("out" + std::to_string(i), graph.type(node.outputs[i]));
  }
  const std::vector<ValueId> outputs = asked.outputs;
  question.AddNode(std::move(asked));
  for (const ValueId output : outputs) {
    if (output != kNoValue) question.AddOutput(output);
  }
  return question;
}

/// A session with its inputs and outputs bound to buffers. Several of these may share one session
/// and run on several threads. A run sets only the addresses that changed since the last run: those
/// of inputs and outputs of the whole graph. Not thread-safe.
class BoundSession {
 public:
  struct Place {
    std::string name;
    BufferId buffer{};
    DType dtype = DType::kF32;
    Dims dims;
    bool read = false;  ///< otherwise written
    void* address = nullptr;
  };

  BoundSession(std::shared_ptr<OrtSession> session, std::vector<Place> places)
      : session_(std::move(session)),
        memory_(CpuMemory()),
        binding_(nullptr, Api().ReleaseIoBinding),
        places_(std::move(places)) {
    OrtIoBinding* binding = nullptr;
    CheckStatus(Api().CreateIoBinding(session_.get(), &binding));
    binding_.reset(binding);
  }

  void Run(const StepContext& context) {
    for (Place& place : places_) {
      void* const address = context.At(place.buffer);
      if (address == place.address) continue;
      place.address = address;
      // The binding shares ownership of the value.
      const Owned<OrtValue> value = Wrap(*memory_, place.dtype, place.dims, address);
      const auto bind = place.read ? Api().BindInput : Api().BindOutput;
      CheckStatus(bind(binding_.get(), place.name.c_str(), value.get()));
    }
    CheckStatus(Api().RunWithBinding(session_.get(), nullptr, binding_.get()));
  }

 private:
  std::shared_ptr<OrtSession> session_;
  Owned<OrtMemoryInfo> memory_;
  Owned<OrtIoBinding> binding_;
  std::vector<Place> places_;
};

/// Returns one precision for all layers of a step: "f32", "int8" or "mixed".
std::string Together(const std::map<std::string, std::string>& precisions) {
  const auto narrow = std::count_if(precisions.begin(), precisions.end(),
                                    [](const auto& layer) { return layer.second != "f32"; });
  if (narrow == 0) return "f32";
  return narrow == std::ssize(precisions) ? "int8" : "mixed";
}

class OnnxRuntimeTarget final : public Target {
 public:
  explicit OnnxRuntimeTarget(const OnnxRuntimeOptions& options)
      // The library chooses its kernels by the CPU.
      : facts_{.name = "onnxruntime",
               .device = "cpu",
               .version = Version() + " " + ToString(DetectIsa())},
        level_(LevelOf(options.optimize)) {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return facts_; }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId id) const override;
  [[nodiscard]] std::optional<Failure> DoGraphToRuntime(const Region& region,
                                                        const TargetOptions& options,
                                                        ExecutableBuilder& builder) const override;

  TargetFacts facts_;
  GraphOptimizationLevel level_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, bool> answers_;  // by the hash of the model
};

bool OnnxRuntimeTarget::DoSupports(const Graph& graph, NodeId id) const {
  const Node& node = graph.node(id);
  if (!node.domain.empty() || !node.captures.empty()) return false;
  // It takes a cubic window around a position without clamping that to the border first, as ONNX
  // does.
  if (node.Is("GridSample") && AttrOr(node, "mode", std::string()) == "bicubic" &&
      AttrOr(node, "padding_mode", std::string()) == "border") {
    return false;
  }
  // A session accepts LRN of any rank, and fails at its first run unless the rank is 4.
  if (node.Is("LRN") && graph.type(node.inputs[0]).shape.value_or(Shape{}).size() != 4)
    return false;
  std::string model;
  try {
    const std::optional<Graph> question = Question(graph, node);
    if (!question) return false;
    model = ToOnnx(*question);
  } catch (const UserError&) {
    return false;  // the exporter cannot write it
  }
  const std::string key = Sha256Hex(model);
  {
    const std::scoped_lock lock(mutex_);
    if (const auto it = answers_.find(key); it != answers_.end()) return it->second;
  }
  bool answer = true;
  try {
    (void)MakeSession(model, {.threads = 1, .level = ORT_DISABLE_ALL});
  } catch (const UserError&) {
    answer = false;
  }
  const std::scoped_lock lock(mutex_);
  return answers_.emplace(key, answer).first->second;
}

/// Adds the step that runs `model` on the buffers of the boundary values of `part`. `model` uses
/// the value names of `graph`.
std::optional<Failure> AddModel(const Graph& graph, std::string_view model, const Extracted& part,
                                const SessionOptions& options, Step step,
                                ExecutableBuilder& builder) {
  std::vector<BoundSession::Place> places;
  const auto add = [&](ValueId value, bool read) {
    places.push_back({.name = graph.value(value).name,
                      .buffer = builder.BufferOf(value),
                      .dtype = graph.type(value).dtype,
                      .dims = StaticDims(graph.type(value).shape.value()).value(),
                      .read = read});
    (read ? step.reads : step.writes).push_back(places.back().buffer);
  };
  for (const ValueId input : part.inputs) add(input, true);
  for (const ValueId output : part.outputs) add(output, false);
  // The library chooses kernels for Q/DQ nodes by their form and the CPU, so the precisions are
  // read back from the optimized model.
  const bool reads_back = AnyWidened(part.graph);
  std::string optimized;
  SessionOptions asked = options;
  if (reads_back) asked.optimized = &optimized;
  try {
    const std::shared_ptr<OrtSession> session = MakeSession(model, asked);
    if (reads_back) {
      step.precisions = KernelPrecisions(part.graph, optimized);
      step.precision = Together(step.precisions);
    }
    step.make_run = [session, places = std::move(places)]() -> Step::Run {
      auto bound = std::make_shared<BoundSession>(session, places);
      return [bound](const StepContext& context) { bound->Run(context); };
    };
  } catch (const UserError& error) {
    return Failure{FailureKind::kCompile, error.what()};
  }
  builder.AddStep(std::move(step));
  return std::nullopt;
}

std::optional<Failure> OnnxRuntimeTarget::DoGraphToRuntime(const Region& region,
                                                           const TargetOptions& options,
                                                           ExecutableBuilder& builder) const {
  const Graph& graph = *region.graph;
  const Extracted part = Extract(graph, region.nodes);
  if (part.outputs.empty()) return std::nullopt;  // nothing outside reads its values
  Step step{
      .name = graph.node(region.nodes.front()).name, .target = "onnxruntime", .precision = "f32"};
  if (region.nodes.size() > 1) step.name += " ... " + graph.node(region.nodes.back()).name;
  for (const NodeId id : region.nodes) step.nodes.push_back(graph.node(id).name);
  return AddModel(graph, ToOnnx(part.graph), part, {.threads = options.threads, .level = level_},
                  std::move(step), builder);
}

/// Returns the sizes of the symbolic dimensions of the model's inputs, by the types of `boundary`.
/// The library optimizes for them, as in a deployment of the model for one size.
ShapeBindings SizesOf(std::string_view model, const Graph& boundary) {
  const auto session = MakeSession(model, {.threads = 1, .level = ORT_DISABLE_ALL});
  const std::vector<std::string> names = InputNames(*session);
  ShapeBindings sizes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ValueId input = boundary.FindValue(names[i]);
    if (input == kNoValue || !boundary.IsInput(input)) continue;  // a weight with a default
    const Dims dims = StaticDims(boundary.type(input).shape.value()).value();
    const std::vector<std::string> symbols = SymbolsOf(*session, i);
    for (std::size_t axis = 0; axis < std::min(symbols.size(), dims.size()); ++axis) {
      if (!symbols[axis].empty()) sizes[symbols[axis]] = dims[axis];
    }
  }
  return sizes;
}

std::unique_ptr<Target> MakeOnnxRuntimeTarget(const OnnxRuntimeOptions& options) {
  if (!LibraryProblem().empty()) throw UserError(LibraryProblem());
  return std::make_unique<OnnxRuntimeTarget>(options);
}

}  // namespace
}  // namespace onnxruntime

TargetKind OnnxRuntimeKind() {
  return KindOf<onnxruntime::OnnxRuntimeOptions>("onnxruntime", onnxruntime::MakeOnnxRuntimeTarget);
}

Result<Executable> BuildFromOnnx(std::string_view model, const Graph& boundary,
                                 const TargetOptions& options) {
  // A graph with the same inputs and outputs and one placeholder node that computes the outputs.
  Graph shell(boundary.name());
  Extracted part;
  Node node;
  node.name = "model";
  node.op = "Model";
  node.domain = "onnxruntime";
  for (const ValueId input : boundary.inputs()) {
    part.inputs.push_back(shell.AddInput(boundary.value(input).name, boundary.type(input)));
  }
  node.inputs = part.inputs;
  for (const ValueId output : boundary.outputs()) {
    part.outputs.push_back(shell.AddValue(boundary.value(output).name, boundary.type(output)));
  }
  node.outputs = part.outputs;
  shell.AddNode(std::move(node));
  shell.SetOutputs(part.outputs);
  ExecutableBuilder builder(shell);
  Step step{.name = "model", .target = "onnxruntime", .nodes = {"model"}};
  onnxruntime::SessionOptions session{.threads = options.threads};
  try {
    session.sizes = onnxruntime::SizesOf(model, boundary);
  } catch (const UserError& error) {
    return Failure{FailureKind::kCompile, error.what()};
  }
  if (auto failure = onnxruntime::AddModel(shell, model, part, session, std::move(step), builder)) {
    return *std::move(failure);
  }
  return std::move(builder).Build();
}

}  // namespace msc
