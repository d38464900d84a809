#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/graph.h"

namespace msc {

/// The indices 0..size-1 of one axis, as a range of elements of AxisClasses. Size 0 means that the
/// size is unknown.
struct Axis {
  std::uint32_t first = 0;
  std::uint32_t size = 0;
};

/// Classes of indices that can only be removed together: a union-find over the indices of all axes.
///
/// A class is fixed, for a stated reason, if its removal would change the meaning of a node. A
/// product states that the indices of one axis are the pairs (or triples, ...) of the indices of
/// others, row-major, as Reshape makes them: removing index k of a factor removes all pairs that
/// contain it. One factor is followed, that is, may be cut; the others stay whole, so that shapes
/// stay rectangles.
class AxisClasses {
 public:
  /// Adds an axis; returns one of size 0 if `size` is negative or too large.
  [[nodiscard]] Axis Add(std::int64_t size);
  /// States that both axes have the same indices. Fixes both if sizes differ or one is unknown;
  /// `otherwise` is the reason.
  void Unite(Axis a, Axis b, const std::string& otherwise);
  /// States that `count` indices of `a` from `a_first` on are those of `b` from `b_first` on.
  void UniteRange(Axis a, std::uint32_t a_first, Axis b, std::uint32_t b_first,
                  std::uint32_t count);
  /// Fixes the classes of all indices of `axis`.
  void Fix(Axis axis, const std::string& reason);

  /// Which factor of a product is followed if several can be.
  enum class Prefer : std::uint8_t {
    kLargest,    ///< the one with most indices, such as channels inside the groups of a shuffle
    kOutermost,  ///< the outermost one, such as attention heads: whole vectors
  };
  /// States that `whole` is the product of `factors`. Fixes all of them if sizes do not match or
  /// are unknown.
  void AddProduct(Axis whole, const std::vector<Axis>& factors, Prefer prefer,
                  const std::string& otherwise);
  /// Decides all products: first those with a single factor that can be cut, then, in the order in
  /// which they were added, those with a choice.
  void ResolveProducts();

  /// Returns the representative of the class of an index: the lowest element in the class.
  [[nodiscard]] std::uint32_t Find(Axis axis, std::uint32_t index) {
    return Root(axis.first + index);
  }
  /// Returns why the class cannot be removed; nullptr if it can.
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
  /// Unites `whole` with the factor `followed` and fixes the others.
  void Follow(Product& product, std::size_t followed);
  /// Resolves the product if there is no choice.
  void TryResolve(Product& product);

  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> reason_;  ///< for roots: 0 = none, else index into reasons_ + 1
  std::vector<std::string> reasons_;
  std::map<std::string, std::uint32_t> reason_ids_;
  std::vector<Product> products_;
};

/// The axes of all values of a graph and their classes.
struct GraphAxes {
  AxisClasses classes;
  /// Sizes, with symbols counted as 1, or as more where 1 does not fit. Values whose shape is
  /// unknown before running are missing.
  std::map<ValueId, Dims> dims;
  std::map<ValueId, std::vector<Axis>> axes;

  /// Returns the axis; its size is 0 if it is unknown.
  [[nodiscard]] Axis Of(ValueId value, std::size_t axis) const;
};

}  // namespace msc
