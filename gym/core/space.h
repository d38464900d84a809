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

/// An element of a space. Alternatives in the order of Space's: integer (Discrete), list of
/// integers (MultiDiscrete, MultiBinary), list of reals (Box, row-major), text, named parts (Dict).
struct Point;
using PointMap = std::map<std::string, Point>;
struct Point {
  std::variant<std::int64_t, std::vector<std::int64_t>, std::vector<double>, std::string,
               std::shared_ptr<const PointMap>>
      value;
  friend bool operator==(const Point& a, const Point& b);  ///< parts by value
};
/// "3", "[1, 0]", "[0.5, 2]", "\"text\"", "{a: 1, b: [0]}". Numbers read back the same.
[[nodiscard]] std::string ToString(const Point& point);

/// Integers start, start + 1, ..., start + n - 1. n >= 1.
struct Discrete {
  std::int64_t n = 1;
  std::int64_t start = 0;
  bool operator==(const Discrete&) const = default;
};
/// One integer in [0, n[i]) per position.
struct MultiDiscrete {
  std::vector<std::int64_t> n;
  bool operator==(const MultiDiscrete&) const = default;
};
/// n zeros and ones.
struct MultiBinary {
  std::int64_t n = 1;
  bool operator==(const MultiBinary&) const = default;
};
/// Reals between low and high, both included, position by position; infinite bounds allowed, values
/// are finite. `shape` has low.size() elements in all.
struct Box {
  std::vector<double> low;
  std::vector<double> high;
  std::vector<std::int64_t> shape;
  bool operator==(const Box&) const = default;
};
/// Printable ASCII, empty up to max_length characters.
struct Text {
  std::int64_t max_length = 1;
  bool operator==(const Text&) const = default;
};

/// What an observation or an action may be: Gymnasium's fundamental and composite spaces as values.
/// Source: Gymnasium 1.x documentation, "Spaces".
class Space {
 public:
  using Parts = std::map<std::string, Space>;
  using Kind =
      std::variant<Discrete, MultiDiscrete, MultiBinary, Box, Text, std::shared_ptr<const Parts>>;

  /// UserError where a bound is impossible (n < 1, low > high, NaN, sizes that differ).
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
  /// Uniform over bounded spaces. A real without bounds is normal, one with a single bound lies an
  /// exponential draw away from it, as in Gymnasium. Text: uniform length, then uniform characters.
  [[nodiscard]] Point Sample(Rng& rng) const;
  [[nodiscard]] const Kind& kind() const noexcept { return kind_; }
  /// "Discrete(3)", "Discrete(3, start=1)", "MultiDiscrete([2, 3])", "MultiBinary(4)", "Box([0, 1],
  /// shape=[4])", "Box([0, -1], [1, inf], shape=[2])", "Text(8)", "Dict(a: Discrete(2), b: ...)".
  [[nodiscard]] std::string ToString() const;
  friend bool operator==(const Space& a, const Space& b);

 private:
  Kind kind_;
};

}  // namespace msc::gym
