#include "agents/tpe/parzen.h"

#include <cmath>

#include "agents/common/amounts.h"
#include "compiler/base/error.h"

namespace msc::agents {

namespace {

/// Returns for each choice, if choices are amounts, a normal density around it over all choices,
/// whose deviation is one of equal steps from the least to the largest place.
std::vector<std::vector<double>> NearAmounts(const gym::Decision& decision) {
  const std::vector<double> places = PlacesOf(decision);
  std::vector<std::vector<double>> near;
  const auto steps = static_cast<double>(places.size()) - 1;
  for (const double from : places) {
    std::vector<double>& own = near.emplace_back();
    double sum = 0;
    for (const double to : places) {
      const double apart = (to - from) * steps;
      own.push_back(std::exp(-apart * apart / 2));
      sum += own.back();
    }
    for (double& density : own) density /= sum;
  }
  return near;
}

}  // namespace

Parzen::Parzen(std::span<const gym::Decision> decisions, std::span<const Centre> centres,
               double bandwidth)
    : decisions_(decisions), bandwidth_(bandwidth) {
  Check(bandwidth > 0 && bandwidth <= 1, "a bandwidth is a probability above 0");
  for (const gym::Decision& decision : decisions_) {
    const std::size_t choices = decision.choices.size();
    const double uniform = 1 / static_cast<double>(choices);
    uniform_ += std::log(uniform);
    const auto& near = near_.emplace_back(NearAmounts(decision));
    auto& logs = logs_.emplace_back(choices, std::vector<double>(choices));
    for (std::size_t from = 0; from < choices; ++from) {
      for (std::size_t to = 0; to < choices; ++to) {
        const double same = from == to ? 1 : 0;
        logs[from][to] = std::log((1 - bandwidth) * (near.empty() ? same : near[from][to]) +
                                  bandwidth * uniform);
      }
    }
  }
  for (const Centre& centre : centres) Add(centre);
}

void Parzen::Add(const Centre& centre) {
  Check(centre.weight > 0, "a centre has a weight");
  centres_.push_back(centre);
  log_weights_.push_back(std::log(centre.weight));
  total_ += centre.weight;
}

gym::Assignment Parzen::Draw(Rng& rng) const {
  double left = total_ * rng.Uniform();
  std::size_t kernel = 0;
  for (; kernel < centres_.size(); ++kernel) {
    left -= centres_[kernel].weight;
    if (left < 0) break;
  }
  gym::Assignment drawn(decisions_.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    if (kernel == centres_.size() || rng.Uniform() < bandwidth_) {
      drawn[i] = static_cast<std::int32_t>(rng.Below(decisions_[i].choices.size()));
      continue;
    }
    drawn[i] = (*centres_[kernel].at)[i];
    if (near_[i].empty()) continue;
    const std::vector<double>& densities = near_[i][static_cast<std::size_t>(drawn[i])];
    double over = rng.Uniform();
    for (std::size_t choice = 0; choice < densities.size() && over >= 0; ++choice) {
      over -= densities[choice];
      // Rounding may leave a rest after the last choice, whose density may be 0: the centre stays.
      if (over < 0) drawn[i] = static_cast<std::int32_t>(choice);
    }
  }
  return drawn;
}

double Parzen::LogDensity(const gym::Assignment& at) const {
  // The terms are added relative to the largest so far, so that none overflows or underflows.
  double most = uniform_;
  double sum = 1;  // sum of exp(log density - most), with the uniform part
  for (std::size_t c = 0; c < centres_.size(); ++c) {
    const gym::Assignment& centre = *centres_[c].at;
    double log = log_weights_[c];
    for (std::size_t i = 0; i < at.size(); ++i) {
      log += logs_[i][static_cast<std::size_t>(centre[i])][static_cast<std::size_t>(at[i])];
    }
    if (log > most) {
      sum = sum * std::exp(most - log) + 1;
      most = log;
    } else if (log > most - 40) {  // smaller terms are below the precision of a double
      sum += std::exp(log - most);
    }
  }
  return most + std::log(sum / total_);
}

}  // namespace msc::agents
