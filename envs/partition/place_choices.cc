#include "envs/partition/place_choices.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/compile.h"

namespace msc::envs {
namespace {

bool Has(const UnsupportedPrecisions& unsupported, const std::string& layer, Precision precision) {
  const auto it = unsupported.find(layer);
  return it != unsupported.end() &&
         std::find(it->second.begin(), it->second.end(), precision) != it->second.end();
}

/// Returns the share of each layer in the multiply-adds of all layers, for one sample.
std::vector<double> Shares(const Graph& canonical, const std::vector<std::string>& layers) {
  const Graph graph = BindSizes(canonical, {});
  std::vector<double> shares;
  for (const std::string& name : layers) {
    const NodeId id = graph.FindNode(name);
    shares.push_back(id == kNoNode ? 0.0 : CostOf(graph, id).flops);
  }
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) {
    share = all > 0 ? share / all : 1.0 / static_cast<double>(layers.size());
  }
  return shares;
}

}  // namespace

PlaceChoices::PlaceChoices(std::shared_ptr<const Graph> graph, const PlaceContext& context)
    : graph_(std::move(graph)) {
  targets_.push_back(context.target);
  unsupported_.push_back(context.unsupported);
  for (const std::string& target : context.targets) {
    if (std::find(targets_.begin(), targets_.end(), target) != targets_.end()) continue;
    targets_.push_back(target);
    const auto found = context.unsupported_on.find(target);
    unsupported_.push_back(found == context.unsupported_on.end() ? UnsupportedPrecisions()
                                                                 : found->second);
  }
  if (targets_.size() == 1) return;
  for (const QuantizableLayer& layer : FindQuantizableLayers(*graph_)) {
    layers_.push_back(layer.name);
  }
  if (layers_.empty()) return;
  work_ = Shares(*graph_, layers_);
  Cut(context.pieces);
  for (const std::size_t layer : first_) {
    decisions_.push_back(
        {.name = first_.size() == 1 ? "target" : layers_[layer] + " target", .choices = targets_});
  }
}

void PlaceChoices::Cut(std::int64_t pieces) {
  const auto wanted = static_cast<double>(pieces);
  double before = 0;
  double last = -1;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    // A layer belongs to the piece that contains the middle of its work; with 0 pieces each layer
    // is one.
    const double middle = before + work_[i] / 2;
    const double piece = pieces == 0 ? static_cast<double>(i) : std::floor(middle * wanted);
    if (piece > last) first_.push_back(i);
    last = std::max(last, piece);
    before += work_[i];
  }
}

std::size_t PlaceChoices::PieceOf(std::size_t layer) const {
  const auto after = std::upper_bound(first_.begin(), first_.end(), layer);
  return static_cast<std::size_t>(after - first_.begin()) - 1;
}

bool PlaceChoices::Differ() const {
  return std::any_of(unsupported_.begin(), unsupported_.end(),
                     [&](const UnsupportedPrecisions& unsupported) {
                       return unsupported != unsupported_.front();
                     });
}

bool PlaceChoices::Rejects(std::int32_t choice, const std::string& layer,
                           Precision precision) const {
  return Has(unsupported_.at(static_cast<std::size_t>(choice)), layer, precision);
}

UnsupportedPrecisions PlaceChoices::UnsupportedByAll() const {
  UnsupportedPrecisions all;
  for (const auto& [name, precisions] : unsupported_.front()) {
    const std::string& layer = name;  // Clang cannot capture a structured binding in a lambda
    for (const Precision precision : precisions) {
      if (std::all_of(unsupported_.begin(), unsupported_.end(),
                      [&](const UnsupportedPrecisions& unsupported) {
                        return Has(unsupported, layer, precision);
                      })) {
        all[layer].push_back(precision);
      }
    }
  }
  return all;
}

UnsupportedPrecisions PlaceChoices::UnsupportedByAny() const {
  UnsupportedPrecisions any;
  for (const UnsupportedPrecisions& unsupported : unsupported_) {
    for (const auto& [layer, precisions] : unsupported) {
      std::vector<Precision>& all = any[layer];
      all.insert(all.end(), precisions.begin(), precisions.end());
    }
  }
  return any;
}

void PlaceChoices::Place(std::span<const std::int32_t> choices, Strategy& strategy) const {
  Check(choices.size() == decisions_.size(), "one choice a piece");
  if (choices.empty()) return;
  const auto target_of = [&](std::size_t piece) -> const std::string& {
    return targets_.at(static_cast<std::size_t>(choices[piece]));
  };
  strategy.target = target_of(0);
  const bool one = std::all_of(choices.begin(), choices.end(),
                               [&](std::int32_t choice) { return choice == choices.front(); });
  if (one) return;
  std::map<std::string, std::size_t> piece_of;
  for (std::size_t i = 0; i < layers_.size(); ++i) piece_of.emplace(layers_[i], PieceOf(i));
  // Regions need the names of nodes as they are when the strategy is lowered.
  Graph pruned = *graph_;
  ApplyPrunePlan(strategy.prune, pruned);
  const Graph bound = BindSizes(pruned, {});
  std::size_t piece = 0;
  for (const NodeId id : bound.order()) {
    const std::string& name = bound.node(id).name;
    if (const auto it = piece_of.find(name); it != piece_of.end()) piece = it->second;
    if (strategy.partition.empty() || strategy.partition.back().target != target_of(piece)) {
      strategy.partition.push_back({.target = target_of(piece)});
    }
    strategy.partition.back().nodes.push_back(name);
  }
}

std::vector<std::vector<double>> PlaceChoices::Features() const {
  const auto layers = static_cast<double>(layers_.size());
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < first_.size(); ++i) {
    const std::size_t end = i + 1 < first_.size() ? first_[i + 1] : layers_.size();
    double work = 0;
    for (std::size_t layer = first_[i]; layer < end; ++layer) work += work_[layer];
    rows.push_back({static_cast<double>(first_[i]) / layers, std::min(work, 1.0),
                    static_cast<double>(end - first_[i]) / layers});
  }
  return rows;
}

std::string PlaceChoices::Meaning() const {
  std::string text;
  if (decisions_.empty()) return text;
  for (const std::size_t layer : first_) text += layers_[layer] + "\n";
  for (std::size_t choice = 0; choice < targets_.size(); ++choice) {
    text += targets_[choice] + " lacks";
    for (const auto& [layer, precisions] : unsupported_[choice]) {
      for (const Precision precision : precisions) {
        text += " " + layer + " " + std::string(Name(precision));
      }
    }
    text += "\n";
  }
  return text;
}

}  // namespace msc::envs
