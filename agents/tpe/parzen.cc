#include "agents/tpe/parzen.h"

#include <cmath>

#include "compiler/base/error.h"

namespace msc::agents {

Parzen::Parzen(std::span<const gym::Decision> decisions, std::span<const Centre> centres,
               double bandwidth)
    : decisions_(decisions), bandwidth_(bandwidth) {
  Check(bandwidth > 0 && bandwidth <= 1, "a bandwidth is a probability above 0");
  for (const gym::Decision& decision : decisions_) {
    const auto choices = static_cast<double>(decision.choices.size());
    uniform_ -= std::log(choices);
    differing_ += std::log(bandwidth / choices);
    gains_.push_back(std::log(1 - bandwidth + bandwidth / choices) - std::log(bandwidth / choices));
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
    const bool keep = kernel < centres_.size() && rng.Uniform() >= bandwidth_;
    drawn[i] = keep ? (*centres_[kernel].at)[i]
                    : static_cast<std::int32_t>(rng.Below(decisions_[i].choices.size()));
  }
  return drawn;
}

double Parzen::LogDensity(const gym::Assignment& at) const {
  // The terms are added relative to the largest so far, so that none overflows or underflows.
  double most = uniform_;
  double sum = 1;  // sum of exp(log density - most), with the uniform part
  for (std::size_t c = 0; c < centres_.size(); ++c) {
    const gym::Assignment& centre = *centres_[c].at;
    double log = differing_ + log_weights_[c];
    for (std::size_t i = 0; i < at.size(); ++i) {
      log += at[i] == centre[i] ? gains_[i] : 0.0;
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
