#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/graph.h"

namespace msc {

/// The indices 0..size-1 along one axis, as a range of elements of AxisClasses. Size 0 stands for
/// an axis that nothing is known of.
struct Axis {
  std::uint32_t first = 0;
  std::uint32_t size = 0;
};

/// Which indices of which axes can only be removed together: a union-find over all indices.
///
/// A class is fixed, for a stated reason, where removing it would change what a node means. A
/// product says that the indices of one axis are the pairs (or triples, ...) of the indices of
/// others, row-major, as Reshape makes them: removing index k of a factor removes all pairs that
/// hold it. One factor is followed; the other ones stay whole, so that shapes stay rectangles.
class AxisClasses {
 public:
  [[nodiscard]] Axis Add(std::int64_t size);
  /// Same indices. Where sizes differ, or one is unknown, both are fixed.
  void Unite(Axis a, Axis b, const std::string& otherwise);
  /// `count` indices of `a` from `a_first` on are those of `b` from `b_first` on.
  void UniteRange(Axis a, std::uint32_t a_first, Axis b, std::uint32_t b_first,
                  std::uint32_t count);
  void Fix(Axis axis, const std::string& reason);

  /// Which factor of a product is followed when several could be.
  enum class Prefer : std::uint8_t {
    kLargest,    ///< the finest cut: channels inside the groups of a shuffle
    kOutermost,  ///< whole vectors: attention heads
  };
  void AddProduct(Axis whole, const std::vector<Axis>& factors, Prefer prefer,
                  const std::string& otherwise);
  /// Decides all products: those with one factor that can be cut first, then, in the order they
  /// were added, those with a choice.
  void ResolveProducts();

  /// Representative of the class of an index: the lowest element in it.
  [[nodiscard]] std::uint32_t Find(Axis axis, std::uint32_t index) {
    return Root(axis.first + index);
  }
  /// Why the class cannot be removed, or nullptr.
  [[nodiscard]] const std::string* FixedBecause(std::uint32_t representative) const;

 private:
  struct Product {
    Axis whole;
    std::vector<Axis> factors;
    Prefer prefer = Prefer::kLargest;
    std::uint32_t reason = 0;
    bool resolved = false;
  };

  std::uint32_t Root(std::uint32_t element);
  void UniteElements(std::uint32_t a, std::uint32_t b);
  void FixElements(Axis axis, std::uint32_t reason);
  std::uint32_t ReasonId(const std::string& text);
  [[nodiscard]] bool AllFixed(Axis axis);
  /// Unites the whole with factor `followed` and fixes the others.
  void Follow(Product& product, std::size_t followed);
  /// Resolves the product if no choice is left.
  void TryResolve(Product& product);

  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> reason_;  ///< of roots: 0 = none, else index into reasons_ + 1
  std::vector<std::string> reasons_;
  std::map<std::string, std::uint32_t> reason_ids_;
  std::vector<Product> products_;
};

/// The axes of all values of a graph with their classes.
struct GraphAxes {
  AxisClasses classes;
  /// Sizes used: symbols count as 1. Absent where they are not known before running.
  std::map<ValueId, Dims> dims;
  std::map<ValueId, std::vector<Axis>> axes;

  /// Size 0 where it is not known.
  [[nodiscard]] Axis Of(ValueId value, std::size_t axis) const;
};

/// Relates the axes of everything a node reads and makes, for every node. Axes of graph inputs and
/// outputs, symbolic axes, and all axes of operators without a rule are fixed.
[[nodiscard]] GraphAxes RelateAxes(const Graph& graph);

}  // namespace msc
