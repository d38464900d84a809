#include "agents/tpe/parzen.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/error.h"

namespace msc::agents {

Parzen::Parzen(std::span<const gym::Decision> decisions,
               std::vector<const gym::Assignment*> centres, double bandwidth)
    : decisions_(decisions), centres_(std::move(centres)), bandwidth_(bandwidth) {
  Check(bandwidth > 0 && bandwidth <= 1, "a bandwidth is a probability above 0");
  for (const gym::Decision& decision : decisions_) {
    const auto choices = static_cast<double>(decision.choices.size());
    uniform_ -= std::log(choices);
    differing_ += std::log(bandwidth / choices);
    gains_.push_back(std::log(1 - bandwidth + bandwidth / choices) - std::log(bandwidth / choices));
  }
}

gym::Assignment Parzen::Draw(Rng& rng) const {
  const std::uint64_t kernel = rng.Below(centres_.size() + 1);
  gym::Assignment drawn(decisions_.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const bool keep = kernel < centres_.size() && rng.Uniform() >= bandwidth_;
    drawn[i] = keep ? (*centres_[kernel])[i]
                    : static_cast<std::int32_t>(rng.Below(decisions_[i].choices.size()));
  }
  return drawn;
}

double Parzen::LogDensity(const gym::Assignment& at) const {
  double most = uniform_;
  double sum = 1;  // of exp(log density - most), the uniform part included
  for (const gym::Assignment* centre : centres_) {
    double log = differing_;
    for (std::size_t i = 0; i < at.size(); ++i) {
      log += at[i] == (*centre)[i] ? gains_[i] : 0.0;
    }
    if (log > most) {
      sum = sum * std::exp(most - log) + 1;
      most = log;
    } else if (log > most - 40) {  // else below what a double keeps
      sum += std::exp(log - most);
    }
  }
  return most + std::log(sum / static_cast<double>(centres_.size() + 1));
}

}  // namespace msc::agents
