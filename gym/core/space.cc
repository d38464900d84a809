#include "gym/core/space.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "compiler/base/error.h"

namespace msc::gym {

namespace {

using Integers = std::vector<std::int64_t>;
using Reals = std::vector<double>;

constexpr char kFirstPrintable = ' ';
constexpr char kLastPrintable = '~';

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

template <class Number>
std::string Print(Number number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end.ptr};
}

template <class Number>
std::string List(const std::vector<Number>& numbers) {
  std::string text = "[";
  for (const Number number : numbers) text += (text.size() == 1 ? "" : ", ") + Print(number);
  return text + "]";
}

bool InRange(std::int64_t value, std::int64_t n) {
  return value >= 0 && value < n;
}

/// Returns the number of elements, or -1 if a dimension is below 1 or the product overflows.
std::int64_t Elements(const Integers& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    // The division avoids the overflow that it tests for.
    if (dim < 1 || count > std::numeric_limits<std::int64_t>::max() / dim) return -1;
    count *= dim;
  }
  return count;
}

void Validate(const Discrete& space) {
  if (space.n < 1) throw UserError("a Discrete space needs n >= 1, not " + Print(space.n));
  if (space.start > std::numeric_limits<std::int64_t>::max() - (space.n - 1)) {
    throw UserError("a Discrete space must end below 2^63");
  }
}

void Validate(const MultiDiscrete& space) {
  if (space.n.empty()) throw UserError("a MultiDiscrete space needs at least one position");
  for (const std::int64_t n : space.n) {
    if (n < 1) throw UserError("a MultiDiscrete space needs every n >= 1, not " + List(space.n));
  }
}

void Validate(const MultiBinary& space) {
  if (space.n < 1) throw UserError("a MultiBinary space needs n >= 1, not " + Print(space.n));
}

void Validate(const Box& space) {
  if (space.low.size() != space.high.size() ||
      !std::cmp_equal(space.low.size(), Elements(space.shape))) {
    throw UserError("a Box space has " + Print(space.low.size()) + " low and " +
                    Print(space.high.size()) + " high bounds for shape " + List(space.shape));
  }
  const double infinity = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < space.low.size(); ++i) {
    // The condition is written so that NaN fails it too.
    if (space.low[i] <= space.high[i] && space.low[i] < infinity && space.high[i] > -infinity) {
      continue;
    }
    throw UserError("a Box space has no value between " + Print(space.low[i]) + " and " +
                    Print(space.high[i]));
  }
}

void Validate(const Text& space) {
  if (space.max_length < 0) {
    throw UserError("a Text space needs max_length >= 0, not " + Print(space.max_length));
  }
}

void Validate(const std::shared_ptr<const Space::Parts>& parts) {
  if (parts == nullptr) throw UserError("a Dict space needs its parts");
}

bool Holds(const Discrete& space, const Point& point) {
  const auto* value = std::get_if<std::int64_t>(&point.value);
  return value != nullptr && *value >= space.start && *value <= space.start + (space.n - 1);
}

bool Holds(const MultiDiscrete& space, const Point& point) {
  const auto* values = std::get_if<Integers>(&point.value);
  return values != nullptr &&
         std::equal(values->begin(), values->end(), space.n.begin(), space.n.end(), InRange);
}

bool Holds(const MultiBinary& space, const Point& point) {
  const auto* values = std::get_if<Integers>(&point.value);
  return values != nullptr && std::cmp_equal(values->size(), space.n) &&
         std::all_of(values->begin(), values->end(), [](auto value) { return InRange(value, 2); });
}

bool Holds(const Box& space, const Point& point) {
  const auto* values = std::get_if<Reals>(&point.value);
  if (values == nullptr || values->size() != space.low.size()) return false;
  for (std::size_t i = 0; i < values->size(); ++i) {
    const double value = (*values)[i];
    if (!std::isfinite(value) || value < space.low[i] || value > space.high[i]) return false;
  }
  return true;
}

bool Holds(const Text& space, const Point& point) {
  const auto* text = std::get_if<std::string>(&point.value);
  return text != nullptr && std::cmp_less_equal(text->size(), space.max_length) &&
         std::all_of(text->begin(), text->end(),
                     [](char c) { return c >= kFirstPrintable && c <= kLastPrintable; });
}

bool Holds(const std::shared_ptr<const Space::Parts>& parts, const Point& point) {
  const auto* values = std::get_if<std::shared_ptr<const PointMap>>(&point.value);
  return values != nullptr && *values != nullptr &&
         std::equal((*values)->begin(), (*values)->end(), parts->begin(), parts->end(),
                    [](const auto& value, const auto& part) {
                      return value.first == part.first && part.second.Contains(value.second);
                    });
}

std::int64_t Draw(std::int64_t n, Rng& rng) {
  return static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(n)));
}

double DrawReal(double low, double high, Rng& rng) {
  if (std::isfinite(low) && std::isfinite(high)) {
    const double u = rng.Uniform();
    // Not low + u * (high - low): the difference may overflow. Rounding may leave the interval.
    return std::clamp(low * (1 - u) + high * u, low, high);
  }
  if (std::isinf(low) && std::isinf(high)) return rng.Normal();
  // Exponential with mean 1, by inversion; log1p is accurate for small draws.
  const double away = -std::log1p(-rng.Uniform());
  return std::isfinite(low) ? low + away : high - away;
}

Point Pick(const Discrete& space, Rng& rng) {
  return {space.start + Draw(space.n, rng)};
}

Point Pick(const MultiDiscrete& space, Rng& rng) {
  Integers values;
  for (const std::int64_t n : space.n) values.push_back(Draw(n, rng));
  return {std::move(values)};
}

Point Pick(const MultiBinary& space, Rng& rng) {
  Integers values(static_cast<std::size_t>(space.n));
  for (std::int64_t& value : values) value = Draw(2, rng);
  return {std::move(values)};
}

Point Pick(const Box& space, Rng& rng) {
  Reals values;
  for (std::size_t i = 0; i < space.low.size(); ++i) {
    values.push_back(DrawReal(space.low[i], space.high[i], rng));
  }
  return {std::move(values)};
}

Point Pick(const Text& space, Rng& rng) {
  std::string text(rng.Below(static_cast<std::uint64_t>(space.max_length) + 1), ' ');
  for (char& c : text) {
    c = static_cast<char>(kFirstPrintable + Draw(kLastPrintable - kFirstPrintable + 1, rng));
  }
  return {std::move(text)};
}

Point Pick(const std::shared_ptr<const Space::Parts>& parts, Rng& rng) {
  PointMap values;
  for (const auto& [name, part] : *parts) values.emplace(name, part.Sample(rng));
  return {std::make_shared<const PointMap>(std::move(values))};
}

bool AllEqual(const Reals& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

std::string Print(const Box& space) {
  std::string bounds = List(space.low) + ", " + List(space.high);
  if (AllEqual(space.low) && AllEqual(space.high) && !space.low.empty()) {
    bounds = "[" + Print(space.low.front()) + ", " + Print(space.high.front()) + "]";
  }
  return "Box(" + bounds + ", shape=" + List(space.shape) + ")";
}

}  // namespace

bool operator==(const Point& a, const Point& b) {
  if (a.value.index() != b.value.index()) return false;
  const auto* parts = std::get_if<std::shared_ptr<const PointMap>>(&a.value);
  if (parts == nullptr) return a.value == b.value;
  const auto& others = std::get<std::shared_ptr<const PointMap>>(b.value);
  if (*parts == nullptr || others == nullptr) return *parts == others;
  return **parts == *others;
}

std::string ToString(const Point& point) {
  return std::visit(Overloaded{[](std::int64_t value) { return Print(value); },
                               [](const Integers& values) { return List(values); },
                               [](const Reals& values) { return List(values); },
                               [](const std::string& text) { return '"' + text + '"'; },
                               [](const std::shared_ptr<const PointMap>& parts) {
                                 std::string text = "{";
                                 if (parts == nullptr) return text + "}";
                                 for (const auto& [name, part] : *parts) {
                                   text += (text.size() == 1 ? "" : ", ") + name + ": " +
                                           ToString(part);
                                 }
                                 return text + "}";
                               }},
                    point.value);
}

Space::Space(Kind kind) : kind_(std::move(kind)) {
  std::visit([](const auto& space) { Validate(space); }, kind_);
}

Space Space::Dict(Parts parts) {
  return {std::make_shared<const Parts>(std::move(parts))};
}

bool Space::Contains(const Point& point) const {
  return std::visit([&](const auto& space) { return Holds(space, point); }, kind_);
}

Point Space::Sample(Rng& rng) const {
  return std::visit([&](const auto& space) { return Pick(space, rng); }, kind_);
}

std::string Space::ToString() const {
  return std::visit(
      Overloaded{[](const Discrete& space) {
                   const std::string start =
                       space.start == 0 ? "" : ", start=" + Print(space.start);
                   return "Discrete(" + Print(space.n) + start + ")";
                 },
                 [](const MultiDiscrete& space) { return "MultiDiscrete(" + List(space.n) + ")"; },
                 [](const MultiBinary& space) { return "MultiBinary(" + Print(space.n) + ")"; },
                 [](const Box& space) { return Print(space); },
                 [](const Text& space) { return "Text(" + Print(space.max_length) + ")"; },
                 [](const std::shared_ptr<const Parts>& parts) {
                   std::string text;
                   for (const auto& [name, part] : *parts) {
                     text += (text.empty() ? "" : ", ") + name + ": " + part.ToString();
                   }
                   return "Dict(" + text + ")";
                 }},
      kind_);
}

bool operator==(const Space& a, const Space& b) {
  const auto* parts = std::get_if<std::shared_ptr<const Space::Parts>>(&a.kind_);
  const auto* others = std::get_if<std::shared_ptr<const Space::Parts>>(&b.kind_);
  if (parts == nullptr || others == nullptr) return a.kind_ == b.kind_;
  return **parts == **others;
}

}  // namespace msc::gym
