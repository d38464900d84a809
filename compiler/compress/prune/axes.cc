#include "compiler/compress/prune/axes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace msc {
namespace {

// Limits of one axis and of the total. Longer axes are positions or words rather than channels, and
// memory must be bounded. Axes beyond the limits count as unknown, so nothing is cut there.
constexpr std::int64_t kLongestAxis = std::int64_t{1} << 17;
constexpr std::size_t kMaxElements = std::size_t{1} << 25;

}  // namespace

Axis AxisClasses::Add(std::int64_t size) {
  if (size < 0 || size > kLongestAxis ||
      parent_.size() + static_cast<std::size_t>(size) > kMaxElements) {
    return {};
  }
  const auto first = static_cast<std::uint32_t>(parent_.size());
  for (std::int64_t i = 0; i < size; ++i) {
    parent_.push_back(static_cast<std::uint32_t>(parent_.size()));
    reason_.push_back(0);
  }
  return {.first = first, .size = static_cast<std::uint32_t>(size)};
}

std::uint32_t AxisClasses::Root(std::uint32_t element) {
  while (parent_[element] != element) {
    parent_[element] = parent_[parent_[element]];
    element = parent_[element];
  }
  return element;
}

void AxisClasses::UniteElements(std::uint32_t a, std::uint32_t b) {
  a = Root(a);
  b = Root(b);
  if (a == b) return;
  if (b < a) std::swap(a, b);
  // The lower element represents a class, so representatives do not depend on the order of unions.
  parent_[b] = a;
  // The first reason is kept, as one is enough for the reader of the table.
  if (reason_[a] == 0) reason_[a] = reason_[b];
}

std::uint32_t AxisClasses::ReasonId(const std::string& text) {
  const auto [it, added] =
      reason_ids_.emplace(text, static_cast<std::uint32_t>(reasons_.size()) + 1);
  if (added) reasons_.push_back(text);
  return it->second;
}

void AxisClasses::FixElements(Axis axis, std::uint32_t reason) {
  for (std::uint32_t i = 0; i < axis.size; ++i) {
    std::uint32_t& fixed = reason_[Root(axis.first + i)];
    if (fixed == 0) fixed = reason;
  }
}

void AxisClasses::Fix(Axis axis, const std::string& reason) {
  if (axis.size > 0) FixElements(axis, ReasonId(reason));
}

void AxisClasses::Unite(Axis a, Axis b, const std::string& otherwise) {
  if (a.size != b.size) {
    Fix(a, otherwise);
    Fix(b, otherwise);
    return;
  }
  UniteRange(a, 0, b, 0, a.size);
}

void AxisClasses::UniteRange(Axis a, std::uint32_t a_first, Axis b, std::uint32_t b_first,
                             std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    UniteElements(a.first + a_first + i, b.first + b_first + i);
  }
}

const std::string* AxisClasses::FixedBecause(std::uint32_t representative) const {
  const std::uint32_t reason = reason_[representative];
  return reason == 0 ? nullptr : &reasons_[reason - 1];
}

bool AxisClasses::AllFixed(Axis axis) {
  for (std::uint32_t i = 0; i < axis.size; ++i) {
    if (reason_[Root(axis.first + i)] == 0) return false;
  }
  return true;
}

void AxisClasses::AddProduct(Axis whole, const std::vector<Axis>& factors, Prefer prefer,
                             const std::string& otherwise) {
  std::vector<Axis> real;
  std::uint64_t product = 1;
  for (const Axis& factor : factors) {
    // Sizes are below 2^32, so a product of two of them fits 64 bits; larger ones count as unknown.
    product *= factor.size;
    if (factor.size != 1) real.push_back(factor);
    if (product > std::numeric_limits<std::uint32_t>::max()) product = 0;
  }
  if (product == 0 || product != whole.size) {  // a size is unknown
    Fix(whole, otherwise);
    for (const Axis& factor : factors) Fix(factor, otherwise);
    return;
  }
  if (real.size() == 1) return Unite(whole, real.front(), otherwise);
  if (real.empty()) return;
  products_.push_back({whole, std::move(real), prefer, ReasonId(otherwise), false});
}

void AxisClasses::Follow(Product& product, std::size_t followed) {
  std::uint32_t inner = 1;
  for (std::size_t f = followed + 1; f < product.factors.size(); ++f) {
    // Elements of the whole are numbered row-major, so `inner` consecutive ones share an index of
    // the factor.
    inner *= product.factors[f].size;
  }
  const Axis& factor = product.factors[followed];
  for (std::uint32_t i = 0; i < product.whole.size; ++i) {
    UniteElements(product.whole.first + i, factor.first + i / inner % factor.size);
  }
  // If index i of one factor goes, all elements with i go, at all indices of the others: the others
  // stay whole.
  for (std::size_t f = 0; f < product.factors.size(); ++f) {
    if (f != followed) FixElements(product.factors[f], product.reason);
  }
  product.resolved = true;
}

void AxisClasses::TryResolve(Product& product) {
  std::vector<std::size_t> open;
  for (std::size_t f = 0; f < product.factors.size(); ++f) {
    if (!AllFixed(product.factors[f])) open.push_back(f);
  }
  if (open.size() == 1) return Follow(product, open.front());
  if (open.empty() || AllFixed(product.whole)) {
    FixElements(product.whole, product.reason);
    for (const Axis& factor : product.factors) FixElements(factor, product.reason);
    product.resolved = true;
  }
}

void AxisClasses::ResolveProducts() {
  for (;;) {
    // Forced choices come first: a preference that contradicted one of them would fix both axes.
    // A class that one product fixes may leave another product no choice.
    for (bool progress = true; progress;) {
      progress = false;
      for (Product& product : products_) {
        if (product.resolved) continue;
        TryResolve(product);
        progress |= product.resolved;
      }
    }
    const auto next = std::find_if(products_.begin(), products_.end(),
                                   [](const Product& product) { return !product.resolved; });
    if (next == products_.end()) return;
    std::size_t best = next->factors.size();
    for (std::size_t f = 0; f < next->factors.size(); ++f) {
      if (AllFixed(next->factors[f])) continue;
      const bool better =
          best == next->factors.size() ||
          (next->prefer == Prefer::kLargest && next->factors[f].size > next->factors[best].size);
      if (better) best = f;
    }
    Follow(*next, best);
  }
}

Axis GraphAxes::Of(ValueId value, std::size_t axis) const {
  const auto it = axes.find(value);
  return it == axes.end() || axis >= it->second.size() ? Axis{} : it->second[axis];
}

}  // namespace msc
