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

}  // namespace msc::agents
