#include "agents/common/amounts.h"

#include <algorithm>
#include <cmath>

namespace msc::agents {

std::vector<double> PlacesOf(const gym::Decision& decision) {
  std::vector<double> amounts = decision.values;
  std::sort(amounts.begin(), amounts.end());
  amounts.erase(std::unique(amounts.begin(), amounts.end()), amounts.end());
  if (amounts.size() < 2) return {};
  const bool positive = amounts.front() > 0;
  const auto scaled = [&](double amount) { return positive ? std::log(amount) : amount; };
  const double low = scaled(amounts.front());
  const double range = scaled(amounts.back()) - low;
  const auto steps = static_cast<double>(amounts.size() - 1);
  std::vector<double> places;
  for (const double value : decision.values) {
    const auto rank = std::lower_bound(amounts.begin(), amounts.end(), value) - amounts.begin();
    places.push_back((static_cast<double>(rank) / steps + (scaled(value) - low) / range) / 2);
  }
  return places;
}

std::optional<std::int32_t> DrawNextAmount(const gym::Decision& decision, std::int32_t from,
                                           Rng& rng) {
  if (!decision.ordinal()) return std::nullopt;
  const std::uint64_t draw = rng.Below(4);
  if (draw >= 2) return std::nullopt;
  const bool up = draw % 2 == 0;
  const std::vector<double>& values = decision.values;
  const double own = values[static_cast<std::size_t>(from)];
  std::optional<std::size_t> larger;
  std::optional<std::size_t> smaller;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > own && (!larger || values[i] < values[*larger])) larger = i;
    if (values[i] < own && (!smaller || values[i] > values[*smaller])) smaller = i;
  }
  const std::optional<std::size_t> next =
      up ? (larger ? larger : smaller) : (smaller ? smaller : larger);
  if (!next) return std::nullopt;
  return static_cast<std::int32_t>(*next);
}

}  // namespace msc::agents
