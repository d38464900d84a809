#include "cost/partition/layout_conversion_costs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/pipeline/images.h"

namespace msc::cost {
namespace {

/// Returns the label for images channels last as `spec` exchanges them; adds it on first use.
Label LabelFor(const std::string& spec, CoverProblem& problem) {
  const auto it = std::find(problem.labels.begin(), problem.labels.end(), spec);
  if (it == problem.labels.end()) {
    if (problem.labels.size() == kMaxLabels) {
      throw UserError("more than " + std::to_string(kMaxLabels - 1) +
                      " targets exchange images channels last; name fewer");
    }
    problem.labels.push_back(spec);
    return static_cast<Label>(problem.labels.size() - 1);
  }
  return static_cast<Label>(it - problem.labels.begin());
}

}  // namespace

std::string ChannelsLastSpec(const std::string& spec) {
  TargetSpec parsed = ParseTargetSpec(spec);
  parsed.options["images"] = "channels_last";
  return ToString(parsed);
}

void ExchangeChannelsLast(const RegionSource& source, const TargetRegistry& registry, bool others,
                          CoverProblem& problem) {
  const DataflowGraph& flow = problem.flow;
  std::vector<bool> is_image;
  for (const FlowTensor& tensor : flow.tensors()) {
    is_image.push_back(tensor.producer != kNoFlow && !tensor.leaves &&
                       source.ExchangedImage(tensor.name) != nullptr);
  }
  const auto labelled = [&](std::vector<FlowIndex> tensors, Label label) {
    // CheckProblem wants labels by rising tensor.
    std::sort(tensors.begin(), tensors.end());
    std::vector<TensorLabel> labels;
    for (const FlowIndex tensor : tensors) {
      if (is_image[tensor]) labels.push_back({.tensor = tensor, .label = label});
    }
    return labels;
  };
  const auto exchange = [&](CandidateRegion& candidate) {
    const Label label = LabelFor(candidate.target, problem);
    candidate.wants = labelled(TensorsIn(flow, candidate.nodes), label);
    candidate.makes = labelled(TensorsOut(flow, candidate.nodes), label);
    return !candidate.wants.empty() || !candidate.makes.empty();
  };
  std::set<std::string> there;
  for (const CandidateRegion& candidate : problem.candidates) there.insert(candidate.target);
  std::vector<CandidateRegion> more;
  for (CandidateRegion& candidate : problem.candidates) {
    const Target& target = registry.Get(candidate.target);
    if (target.ExchangesChannelsLast()) {
      (void)exchange(candidate);
    } else if (others && target.LaysChannelsLast()) {
      CandidateRegion other = candidate;
      other.target = ChannelsLastSpec(candidate.target);
      if (!there.contains(other.target) && exchange(other)) more.push_back(std::move(other));
    }
  }
  std::move(more.begin(), more.end(), std::back_inserter(problem.candidates));
  // All labels but the dense one stand for channels last, so nothing is converted between them.
  for (Label from = 1; from < problem.labels.size(); ++from) {
    for (Label to = 1; to < problem.labels.size(); ++to) {
      if (from != to) problem.conversions.Set(from, to, 0);
    }
  }
}

/// A layout conversion of one size on one target, and the conversions in the problem that cost the
/// same.
struct LayoutConversionCosts::Turn {
  struct Edge {
    FlowIndex tensor;
    Label from;
    Label to;
  };
  MeasuredRegion region;
  std::vector<Edge> edges = {};
};

struct LayoutConversionCosts::Measuring {
  Measuring(Graph graph, const TargetRegistry& targets, const RegionMeterOptions& options,
            const std::string& folder, const RegionCostContext& context)
      : source(std::move(graph), {}),
        meter(source, options),
        costs(source, targets, meter, folder, context) {}
  RegionSource source;
  RegionMeter meter;
  RegionCosts costs;
};

LayoutConversionCosts::LayoutConversionCosts(
    const CoverProblem& problem, const RegionSource& source, const TargetRegistry& targets,
    const RegionMeterOptions& meter, const std::string& folder, const RegionCostContext& context) {
  std::set<TensorLabel, decltype([](const TensorLabel& a, const TensorLabel& b) {
             return std::pair(a.tensor, a.label) < std::pair(b.tensor, b.label);
           })>
      images;
  for (const CandidateRegion& candidate : problem.candidates) {
    images.insert(candidate.wants.begin(), candidate.wants.end());
    images.insert(candidate.makes.begin(), candidate.makes.end());
  }
  Graph graph("turns");
  std::map<std::pair<std::string, bool>, std::string> nodes;   // by type and direction
  std::map<std::pair<std::string, Label>, std::size_t> turns;  // by node and target
  for (const auto& [tensor, label] : images) {
    // The type as the label's target has it, which may compute in another precision.
    const std::string& name = problem.flow.tensor(tensor).name;
    const ValueType* type = source.For(problem.labels[label]).ExchangedImage(name);
    if (type == nullptr) type = source.ExchangedImage(name);
    Check(type != nullptr, "what is labelled is an image");
    for (const bool to_channels_last : {true, false}) {
      const auto [node, is_new] = nodes.try_emplace({ToString(*type), to_channels_last});
      if (is_new) node->second = AddLayoutConversion(*type, to_channels_last, graph);
      const auto [turn, is_first] = turns.try_emplace({node->second, label}, turns_.size());
      if (is_first) {
        turns_.push_back({.region = {{node->second}, problem.labels[label]}});
      }
      turns_[turn->second].edges.push_back({.tensor = tensor,
                                            .from = to_channels_last ? kDense : label,
                                            .to = to_channels_last ? label : kDense});
    }
  }
  if (turns_.empty()) return;
  measuring_ = std::make_unique<Measuring>(std::move(graph), targets, meter, folder, context);
}

LayoutConversionCosts::~LayoutConversionCosts() = default;

std::size_t LayoutConversionCosts::CountUnknown() {
  if (measuring_ == nullptr) return 0;
  std::vector<MeasuredRegion> regions;
  for (const Turn& turn : turns_) regions.push_back(turn.region);
  return measuring_->costs.CountUnknown(regions);
}

void LayoutConversionCosts::Measure(CoverProblem& problem, const std::function<bool()>& stop) {
  if (measuring_ == nullptr) return;
  std::vector<MeasuredRegion> regions;
  for (const Turn& turn : turns_) regions.push_back(turn.region);
  measuring_->costs.Measure(
      regions,
      [&](std::size_t i, const Result<Outcome>& outcome) {
        if (!outcome.ok()) return;
        const double micros = outcome.value().latency.value().median_ns * 1e-3;
        for (const Turn::Edge& edge : turns_[i].edges) {
          problem.conversions.SetFor(edge.tensor, edge.from, edge.to, micros);
        }
      },
      stop);
}

RegionCosts::Counts LayoutConversionCosts::counts() const {
  return measuring_ == nullptr ? RegionCosts::Counts{} : measuring_->costs.counts();
}

RegionMeter::Spent LayoutConversionCosts::spent() const {
  return measuring_ == nullptr ? RegionMeter::Spent{} : measuring_->costs.spent();
}

}  // namespace msc::cost
