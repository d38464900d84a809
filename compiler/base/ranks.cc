#include "compiler/base/ranks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "compiler/base/error.h"

namespace msc {

std::vector<double> Ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double mean = (static_cast<double>(first + end) + 1) / 2;
    for (; first < end; ++first) ranks[order[first]] = mean;
  }
  return ranks;
}

std::optional<double> RankCorrelation(std::span<const double> a, std::span<const double> b) {
  Check(a.size() == b.size() && a.size() >= 2, "ranks are compared of as many values");
  const std::vector<double> x = Ranks(a);
  const std::vector<double> y = Ranks(b);
  const double mean = (static_cast<double>(a.size()) + 1) / 2;
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

}  // namespace msc
