#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/base/rng.h"

namespace msc::gym {

/// An element of a space. The alternatives are, in the order of Space's: integer (Discrete), list
/// of integers (MultiDiscrete, MultiBinary), list of reals (Box, row-major), text (Text), named
/// parts (Dict).
struct Point;
using PointMap = std::map<std::string, Point>;
struct Point {
  std::variant<std::int64_t, std::vector<std::int64_t>, std::vector<double>, std::string,
               std::shared_ptr<const PointMap>>
      value;
  /// Compares parts by value, not by pointer.
  friend bool operator==(const Point& a, const Point& b);
};
/// Returns text such as "3", "[1, 0]", "[0.5, 2]", "\"text\"", "{a: 1, b: [0]}". Numbers read back
/// the same.
[[nodiscard]] std::string ToString(const Point& point);

/// The integers start, start + 1, ..., start + n - 1. n >= 1.
struct Discrete {
  std::int64_t n = 1;
  std::int64_t start = 0;
  bool operator==(const Discrete&) const = default;
};
/// One integer in [0, n[i]) for each position i.
struct MultiDiscrete {
  std::vector<std::int64_t> n;
  bool operator==(const MultiDiscrete&) const = default;
};
/// n values, each 0 or 1.
struct MultiBinary {
  std::int64_t n = 1;
  bool operator==(const MultiBinary&) const = default;
};
/// Finite reals between low and high, both inclusive, for each position; bounds may be infinite.
/// The product of `shape` is low.size().
struct Box {
  std::vector<double> low;
  std::vector<double> high;
  std::vector<std::int64_t> shape;
  bool operator==(const Box&) const = default;
};
/// Printable ASCII text of 0 to max_length characters.
struct Text {
  std::int64_t max_length = 1;
  bool operator==(const Text&) const = default;
};

/// The set of legal observations or actions: Gymnasium's fundamental and composite spaces as
/// values. Source: Gymnasium 1.x documentation, "Spaces".
class Space {
 public:
  using Parts = std::map<std::string, Space>;
  using Kind =
      std::variant<Discrete, MultiDiscrete, MultiBinary, Box, Text, std::shared_ptr<const Parts>>;

  /// Throws UserError if a bound is impossible (n < 1, low > high, NaN, sizes that differ).
  // NOLINTBEGIN(google-explicit-constructor): `Space s = Discrete{3};`
  Space(Kind kind);
  Space(Discrete space) : Space(Kind(space)) {}
  Space(MultiDiscrete space) : Space(Kind(std::move(space))) {}
  Space(MultiBinary space) : Space(Kind(space)) {}
  Space(Box space) : Space(Kind(std::move(space))) {}
  Space(Text space) : Space(Kind(space)) {}
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] static Space Dict(Parts parts);

  [[nodiscard]] bool Contains(const Point& point) const;
  /// Draws an element: uniformly if the space is bounded. As in Gymnasium, a real without bounds is
  /// normal, and one with a single bound is an exponential draw away from it. Text has uniform
  /// length, then uniform characters.
  [[nodiscard]] Point Sample(Rng& rng) const;
  [[nodiscard]] const Kind& kind() const noexcept { return kind_; }
  /// Returns text such as "Discrete(3)", "Discrete(3, start=1)", "MultiDiscrete([2, 3])",
  /// "MultiBinary(4)", "Box([0, 1], shape=[4])", "Box([0, -1], [1, inf], shape=[2])", "Text(8)",
  /// "Dict(a: Discrete(2), b: ...)".
  [[nodiscard]] std::string ToString() const;
  friend bool operator==(const Space& a, const Space& b);

 private:
  Kind kind_;
};

}  // namespace msc::gym
