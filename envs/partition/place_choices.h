#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"
#include "envs/register.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// Which target runs which piece of a model, for all who decide that beside its compression and
/// know no costs of regions.
///
/// A piece is a run of layers (FindQuantizableLayers) that are neighbours in the graph's order, of
/// about equal multiply-adds; other nodes go with the last layer before them, those in front with
/// the first. So pieces are runs of nodes in an order in which none reads what a later one makes:
/// whatever is chosen can be run. Neighbours on one target are one region. What a target refuses of
/// its nodes "reference" runs, as everywhere.
class PlaceChoices {
 public:
  /// `context` has a model.
  explicit PlaceChoices(const EnvContext& context);

  /// "target" where there is one piece, else "LAYER target" by the first layer of each. The first
  /// choice is the context's target. None where no other is offered, or there is no layer.
  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return decisions_; }
  /// Specs, by choice.
  [[nodiscard]] const std::vector<std::string>& targets() const { return targets_; }
  /// Number of the layer that a decision's piece begins with.
  [[nodiscard]] std::size_t FirstLayer(std::size_t decision) const { return first_.at(decision); }
  /// The decision whose piece has a layer.
  [[nodiscard]] std::size_t PieceOf(std::size_t layer) const;
  /// Whether there is a target that lacks a precision of a layer which another has.
  [[nodiscard]] bool Differ() const;
  /// Whether the target of a choice does not compute a layer in a precision itself.
  [[nodiscard]] bool Lacks(std::int32_t choice, const std::string& layer,
                           Precision precision) const;
  /// By layer, what all of the targets lack.
  [[nodiscard]] std::map<std::string, std::vector<Precision>> LackedByAll() const;
  /// By layer, what any of the targets lacks.
  [[nodiscard]] std::map<std::string, std::vector<Precision>> LackedByAny() const;
  /// Gives the strategy its target, and its regions where there are several: of the nodes that the
  /// model has after its channels are removed.
  void Place(std::span<const std::int32_t> choices, Strategy& strategy) const;
  /// A row a decision, each in [0, 1]: place in the network, share of the multiply-adds, share of
  /// the layers.
  [[nodiscard]] std::vector<std::vector<double>> Features() const;
  /// What the choices mean besides the model and themselves.
  [[nodiscard]] std::string Meaning() const;

 private:
  void Cut(std::int64_t pieces);

  std::shared_ptr<const Graph> graph_;
  std::vector<std::string> targets_;
  std::vector<std::map<std::string, std::vector<Precision>>> lacked_;  ///< by choice
  std::vector<std::string> layers_;
  std::vector<double> work_;        ///< by layer, its share
  std::vector<std::size_t> first_;  ///< layer by piece
  std::vector<gym::Decision> decisions_;
};

}  // namespace msc::envs
