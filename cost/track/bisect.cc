#include "cost/track/bisect.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ir/extract.h"
#include "compiler/ops/op.h"

namespace msc::cost {
namespace {

class Search {
 public:
  Search(const TrackStage& stage, const std::string& reference, const TrackStore& store,
         std::span<const Tensor> inputs, double tolerance, const TargetRegistry& registry)
      : stage_(stage),
        reference_(reference),
        store_(store),
        inputs_(inputs),
        tolerance_(tolerance),
        registry_(registry) {
    for (const std::string& name : TrackedValues(stage)) {
      const ValueId id = stage.model.graph.FindValue(name);
      if (store.TypeOf(reference, name) == stage.model.graph.type(id).dtype) {
        names_.push_back(name);
      }
    }
  }

  BisectResult Run(const std::function<void(std::int64_t, std::int64_t)>& progress) {
    std::ptrdiff_t bad = FirstBadOutput();
    if (bad < 0) return result_;
    std::ptrdiff_t good = -1;
    result_.error = error_;
    // Whatever lies between them, the search ends at a value that departs, directly behind one that
    // does not.
    while (bad - good > 1) {
      if (progress) progress(good + 1, bad);
      const std::ptrdiff_t middle = good + (bad - good) / 2;
      if (IsBad(names_[static_cast<std::size_t>(middle)])) {
        bad = middle;
        result_.error = error_;
      } else {
        good = middle;
      }
    }
    result_.value = names_[static_cast<std::size_t>(bad)];
    if (good >= 0) result_.last_good = names_[static_cast<std::size_t>(good)];
    const Graph& graph = stage_.model.graph;
    const NodeId id = graph.producer(graph.FindValue(result_.value));
    result_.node = graph.node(id).name;
    result_.op = graph.node(id).domain.empty() ? graph.node(id).op
                                               : graph.node(id).domain + "." + graph.node(id).op;
    Judge(id);
    return result_;
  }

 private:
  [[nodiscard]] double ErrorOf(const std::string& name, const Tensor& value) const {
    const Tensor wanted = store_.Get(reference_, name).value();
    if (wanted.size() != value.size()) {
      throw UserError("'" + name + "' has different sizes in " + reference_ + " and in " +
                      stage_.name + ": compare with the stage that has the strategy's channels");
    }
    return ErrorOf(wanted.Reshaped(value.dims()), value);
  }

  [[nodiscard]] double ErrorOf(const Tensor& wanted, const Tensor& value) const {
    const TensorError error = CompareNumbers(wanted, value);
    return tolerance_ == kNotFiniteAlone && error.not_finite == 0 ? 0 : error.relative;
  }

  [[nodiscard]] bool IsOutput(const std::string& name) const {
    return stage_.model.graph.IsOutput(stage_.model.graph.FindValue(name));
  }

  /// Returns the index of the first output that departs, or -1. Runs the model without additional
  /// outputs.
  std::ptrdiff_t FirstBadOutput() {
    std::vector<std::string> outputs;
    for (const std::string& name : names_) {
      if (IsOutput(name)) outputs.push_back(name);
    }
    if (outputs.empty()) {
      throw UserError("no output of " + stage_.name + " is among the values of " + reference_);
    }
    std::ptrdiff_t bad = -1;
    ++result_.runs;
    CollectValues(stage_, outputs, inputs_, registry_,
                  [&](const std::string& name, const Tensor& value) {
                    const double error = ErrorOf(name, value);
                    if (bad >= 0 || error <= tolerance_) return;
                    error_ = error;
                    bad = std::find(names_.begin(), names_.end(), name) - names_.begin();
                  });
    return bad;
  }

  bool IsBad(const std::string& name) {
    std::vector<std::string> watched = {name};
    for (const std::string& other : names_) {
      if (other != name && IsOutput(other)) watched.push_back(other);
    }
    ++result_.runs;
    bool outputs_are_bad = false;
    CollectValues(stage_, watched, inputs_, registry_,
                  [&](const std::string& n, const Tensor& value) {
                    const double error = ErrorOf(n, value);
                    if (n == name) error_at_ = error;
                    if (IsOutput(n)) outputs_are_bad = outputs_are_bad || error > tolerance_;
                  });
    if (!outputs_are_bad) result_.vanishes = true;
    if (error_at_ <= tolerance_) return false;
    error_ = error_at_;
    return true;
  }

  /// Sets `blame`, after running the node alone on the inputs that the reference kernels compute.
  void Judge(NodeId id) {
    const Graph& graph = stage_.model.graph;
    const std::vector<NodeId> nodes = {id};
    const Extracted part = Extract(graph, nodes);
    std::map<std::string, Tensor> values;
    (void)Interpret(graph, inputs_, [&](ValueId value, const Tensor& tensor) {
      const bool needed =
          std::find(part.inputs.begin(), part.inputs.end(), value) != part.inputs.end() ||
          std::find(part.outputs.begin(), part.outputs.end(), value) != part.outputs.end();
      if (needed) values[graph.value(value).name] = tensor;
    });
    result_.lowered_error = ErrorOf(result_.value, values.at(result_.value));
    TrackStage alone;
    alone.name = stage_.name;
    alone.threads = stage_.threads;
    alone.model = {part.graph, TargetOf(graph.node(id).name), {}};
    std::vector<Tensor> inputs;
    for (const ValueId value : part.inputs) inputs.push_back(values.at(graph.value(value).name));
    const std::vector<std::string> names = {result_.value};
    ++result_.runs;
    CollectValues(
        alone, names, inputs, registry_, [&](const std::string& name, const Tensor& value) {
          result_.alone_error = ErrorOf(AsNumbers(values.at(name)).Reshaped(value.dims()), value);
        });
    if (result_.alone_error > tolerance_) {
      result_.blame = Blame::kTarget;
    } else if (result_.lowered_error > tolerance_) {
      result_.blame = Blame::kLowering;
    } else {
      result_.blame = Blame::kSurroundings;
    }
  }

  [[nodiscard]] std::string TargetOf(const std::string& node) const {
    for (const PartitionRegion& region : stage_.model.regions) {
      const bool here =
          std::find(region.nodes.begin(), region.nodes.end(), node) != region.nodes.end();
      if (here) return region.target;
    }
    return stage_.model.target;
  }

  const TrackStage& stage_;
  const std::string& reference_;
  const TrackStore& store_;
  std::span<const Tensor> inputs_;
  double tolerance_;
  const TargetRegistry& registry_;
  std::vector<std::string> names_;
  double error_ = 0;
  double error_at_ = 0;
  BisectResult result_;
};

}  // namespace

BisectResult BisectStage(const TrackStage& stage, const std::string& reference,
                         const TrackStore& store, std::span<const Tensor> inputs, double tolerance,
                         const TargetRegistry& registry,
                         const std::function<void(std::int64_t, std::int64_t)>& progress) {
  Check(stage.compiled(), "a compiled stage is searched");
  return Search(stage, reference, store, inputs, tolerance, registry).Run(progress);
}

std::string CauseText(const BisectResult& result, const std::string& target) {
  std::string text;
  switch (result.blame) {
    case Blame::kNone:
      return "the outputs are correct";
    case Blame::kLowering:
      text = "the lowered graph computes something else at this node, on every target";
      break;
    case Blame::kTarget:
      text = target + " computes this node wrongly, also when it runs the node alone";
      break;
    case Blame::kSurroundings:
      text = target +
             " computes this node correctly when it runs the node alone: examine memory and fusion "
             "with other nodes";
      break;
  }
  if (result.vanishes) text += "; reading some values as outputs made the outputs correct";
  return text;
}

}  // namespace msc::cost
