#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"
#include "envs/common/model_context.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// Targets to choose from for the pieces of a model.
struct PlaceContext {
  std::string target;                      ///< spec of the first choice
  std::vector<std::string> targets = {};   ///< specs of the others; none = no decision
  std::int64_t pieces = 1;                 ///< number of pieces; 0 = each layer is one
  UnsupportedPrecisions unsupported = {};  ///< of `target`
  std::map<std::string, UnsupportedPrecisions> unsupported_on = {};  ///< of `targets`, by spec
};

/// The decisions which target runs which piece of a model, for envs that also decide its
/// compression and have no costs of regions.
///
/// A piece is a run of layers (FindQuantizableLayers) that are neighbours in the graph's order,
/// with about equal multiply-adds. Each other node belongs to the piece of the last layer before
/// it, nodes before the first layer to the first piece. Pieces are thus runs of nodes in
/// topological order, so every assignment can run. Neighbouring pieces on one target form one
/// region. Nodes that the target does not support run on other ones, as everywhere.
class PlaceChoices {
 public:
  /// Cuts a canonical graph into pieces.
  PlaceChoices(std::shared_ptr<const Graph> graph, const PlaceContext& context);

  /// Returns the decisions: "target" for a single piece, else "LAYER target" by the first layer of
  /// each piece. The first choice is the context's target. None if the context has no other target,
  /// or there is no layer.
  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return decisions_; }
  /// Returns the target specs by choice.
  [[nodiscard]] const std::vector<std::string>& targets() const { return targets_; }
  /// Returns the index of the first layer of a decision's piece.
  [[nodiscard]] std::size_t FirstLayer(std::size_t decision) const { return first_.at(decision); }
  /// Returns the decision whose piece contains `layer`.
  [[nodiscard]] std::size_t PieceOf(std::size_t layer) const;
  /// Returns whether the targets differ in the precisions that they support for some layer.
  [[nodiscard]] bool Differ() const;
  /// Returns whether the target of a choice does not support a precision of a layer itself.
  [[nodiscard]] bool Rejects(std::int32_t choice, const std::string& layer,
                             Precision precision) const;
  /// Returns by layer the precisions that no target supports.
  [[nodiscard]] UnsupportedPrecisions UnsupportedByAll() const;
  /// Returns by layer the precisions that at least one target does not support.
  [[nodiscard]] UnsupportedPrecisions UnsupportedByAny() const;
  /// Sets the target of the strategy, and its regions if there are several. Regions name the nodes
  /// of the model after its channels are removed.
  void Place(std::span<const std::int32_t> choices, Strategy& strategy) const;
  /// Returns a row for each decision, each value in [0, 1]: position in the network, share of the
  /// multiply-adds, share of the layers.
  [[nodiscard]] std::vector<std::vector<double>> Features() const;
  /// Returns text for the hash: what the meaning of choices depends on besides the model and
  /// themselves.
  [[nodiscard]] std::string Meaning() const;

 private:
  void Cut(std::int64_t pieces);

  std::shared_ptr<const Graph> graph_;
  std::vector<std::string> targets_;
  std::vector<UnsupportedPrecisions> unsupported_;  ///< by choice
  std::vector<std::string> layers_;
  std::vector<double> work_;        ///< share of the multiply-adds, by layer
  std::vector<std::size_t> first_;  ///< first layer, by piece
  std::vector<gym::Decision> decisions_;
};

}  // namespace msc::envs
