#include "agents/policy/walk_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Core>

namespace msc::agents {

using gym::Assignment;

namespace {

constexpr Eigen::Index kHidden = 24;
// kClip and kEntropy are those of Schulman et al., 2017 (section 3; table 5).
constexpr double kRate = 0.03;
constexpr double kClip = 0.2;
constexpr double kEntropy = 0.01;

Eigen::Index Size(std::size_t n) {
  return static_cast<Eigen::Index>(n);
}

std::size_t MostChoices(const std::vector<gym::Decision>& decisions) {
  std::size_t most = 1;
  for (const gym::Decision& decision : decisions) most = std::max(most, decision.choices.size());
  return most;
}

/// Output of the network at one decision.
struct Answer {
  Eigen::VectorXd hidden;
  Eigen::VectorXd probabilities;  ///< 0 for illegal choices
};

}  // namespace

struct WalkPolicy::State {
  gym::AgentSetup setup;
  Eigen::Index places;
  Eigen::Index choices;            // largest number of choices of a decision
  Eigen::MatrixXd features;        // one column per decision; no rows without features
  std::vector<double> parameters;  // the matrices below one after another, column-major
  std::vector<double> first_moment;
  std::vector<double> second_moment;
  int steps = 0;

  explicit State(const gym::AgentSetup& of)
      : setup(of),
        places(Size(of.decisions.size())),
        choices(Size(MostChoices(of.decisions))),
        features(of.prior.features.empty() ? 0 : Size(of.prior.features.front().size()), places) {
    for (std::size_t i = 0; i < of.prior.features.size(); ++i) {
      features.col(Size(i)) =
          Eigen::Map<const Eigen::VectorXd>(of.prior.features[i].data(), features.rows());
    }
    const Eigen::Index count =
        kHidden * (places + choices + 1 + features.rows()) + choices * (kHidden + 1);
    parameters.resize(static_cast<std::size_t>(count));
    constexpr std::uint64_t kTag = 0x77616c6b;  // "walk": a random stream of its own
    Rng rng(MixSeed({of.seed, kTag}));
    // With small weights all logits are near 0, and the first walks nearly uniform.
    for (double& value : parameters) value = 0.2 * (rng.Uniform() - 0.5);
    first_moment.assign(parameters.size(), 0);
    second_moment.assign(parameters.size(), 0);
  }

  using Map = Eigen::Map<Eigen::MatrixXd>;
  using View = Eigen::Map<const Eigen::MatrixXd>;
  /// The parameters as matrices. `place` has a column per decision, `before` one per previous
  /// choice (the last one for none), `out` and `bias` map to choices, `feature` has a column per
  /// feature.
  template <class M, class P>
  struct Parts {
    M place;
    M before;
    M out;
    M bias;
    M feature;
    Parts(P* data, Eigen::Index places, Eigen::Index choices, Eigen::Index features)
        : place(data, kHidden, places),
          before(place.data() + place.size(), kHidden, choices + 1),
          out(before.data() + before.size(), choices, kHidden),
          bias(out.data() + out.size(), choices, 1),
          feature(bias.data() + bias.size(), kHidden, features) {}
  };
  [[nodiscard]] Parts<View, const double> Weights() const {
    return {parameters.data(), places, choices, features.rows()};
  }

  [[nodiscard]] Eigen::Index Before(const Assignment& walk, std::size_t i) const {
    return i == 0 ? choices : Eigen::Index{walk[i - 1]};
  }

  /// Returns whether each choice of decision i is legal after those of the walk before it.
  [[nodiscard]] std::vector<bool> Legal(const Assignment& walk, std::size_t i) const {
    std::vector<bool> legal =
        setup.mask ? setup.mask(std::span(walk).first(i)) : std::vector<bool>();
    if (legal.empty()) legal.assign(setup.decisions[i].choices.size(), true);
    legal.resize(static_cast<std::size_t>(choices), false);
    return legal;
  }

  [[nodiscard]] Answer At(const Assignment& walk, std::size_t i) const {
    const auto weights = Weights();
    Answer answer;
    answer.hidden = (weights.place.col(Size(i)) + weights.before.col(Before(walk, i)) +
                     weights.feature * features.col(Size(i)))
                        .array()
                        .tanh()
                        .matrix();
    const Eigen::VectorXd logits = weights.out * answer.hidden + weights.bias.col(0);
    const std::vector<bool> legal = Legal(walk, i);
    // Softmax over the legal choices, shifted by the largest logit against overflow.
    double most = -std::numeric_limits<double>::infinity();
    for (Eigen::Index c = 0; c < choices; ++c) {
      if (legal[static_cast<std::size_t>(c)]) most = std::max(most, logits(c));
    }
    answer.probabilities = Eigen::VectorXd::Zero(choices);
    for (Eigen::Index c = 0; c < choices; ++c) {
      if (legal[static_cast<std::size_t>(c)]) {
        answer.probabilities(c) = std::exp(logits(c) - most);
      }
    }
    answer.probabilities /= answer.probabilities.sum();
    return answer;
  }

  /// Adds the gradient of the parameters that follows from the gradient `by_logits` at decision i.
  void Back(const Assignment& walk, std::size_t i, const Answer& answer,
            const Eigen::VectorXd& by_logits, std::vector<double>& gradient) const {
    Parts<Map, double> sums(gradient.data(), places, choices, features.rows());
    const auto weights = Weights();
    sums.out += by_logits * answer.hidden.transpose();
    sums.bias.col(0) += by_logits;
    const Eigen::VectorXd by_hidden =
        ((weights.out.transpose() * by_logits).array() * (1 - answer.hidden.array().square()))
            .matrix();
    sums.place.col(Size(i)) += by_hidden;
    sums.before.col(Before(walk, i)) += by_hidden;
    sums.feature += by_hidden * features.col(Size(i)).transpose();
  }

  [[nodiscard]] bool Possible(const Assignment& walk) const {
    return gym::IsLegal(setup.mask, walk);
  }

  /// Takes one step of Adam along the gradient (ascent).
  void Step(const std::vector<double>& gradient) {
    constexpr double kFirst = 0.9;
    constexpr double kSecond = 0.99;
    ++steps;
    // Both moments start at 0; the divisors correct that bias (D. P. Kingma and J. Ba, "Adam",
    // 2015).
    const double first = 1 - std::pow(kFirst, steps);
    const double second = 1 - std::pow(kSecond, steps);
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      first_moment[k] = kFirst * first_moment[k] + (1 - kFirst) * gradient[k];
      second_moment[k] = kSecond * second_moment[k] + (1 - kSecond) * gradient[k] * gradient[k];
      parameters[k] +=
          kRate * first_moment[k] / first / (std::sqrt(second_moment[k] / second) + 1e-8);
    }
  }
};

WalkPolicy::WalkPolicy(const gym::AgentSetup& setup) : state_(std::make_unique<State>(setup)) {}
WalkPolicy::WalkPolicy(WalkPolicy&&) noexcept = default;
WalkPolicy::~WalkPolicy() = default;

Assignment WalkPolicy::Draw(Rng& rng) const {
  Assignment walk;
  for (std::size_t i = 0; i < state_->setup.decisions.size(); ++i) {
    const Eigen::VectorXd probabilities = state_->At(walk, i).probabilities;
    double rest = rng.Uniform();
    std::int32_t drawn = 0;
    for (std::int32_t c = 0; c < state_->choices; ++c) {
      if (probabilities(c) <= 0) continue;
      drawn = c;  // rounding may leave a rest, which the last legal choice takes
      rest -= probabilities(c);
      if (rest < 0) break;
    }
    walk.push_back(drawn);
  }
  return walk;
}

double WalkPolicy::LogProbability(const Assignment& walk) const {
  if (!state_->Possible(walk)) return -std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t i = 0; i < walk.size(); ++i) {
    sum += std::log(state_->At(walk, i).probabilities(walk[i]));
  }
  return sum;
}

void WalkPolicy::Learn(std::span<const Lesson> lessons, int epochs) {
  std::vector<Lesson> possible;
  std::vector<std::vector<double>> before;  // probability of each choice before the update
  for (const Lesson& lesson : lessons) {
    if (!state_->Possible(*lesson.walk)) continue;
    possible.push_back(lesson);
    std::vector<double>& own = before.emplace_back();
    for (std::size_t i = 0; i < lesson.walk->size(); ++i) {
      own.push_back(state_->At(*lesson.walk, i).probabilities((*lesson.walk)[i]));
    }
  }
  if (possible.empty()) return;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::vector<double> gradient(state_->parameters.size(), 0);
    for (std::size_t k = 0; k < possible.size(); ++k) {
      const auto& [walk, worth] = possible[k];
      for (std::size_t i = 0; i < walk->size(); ++i) {
        const Answer answer = state_->At(*walk, i);
        const Eigen::VectorXd& p = answer.probabilities;
        const double ratio = p((*walk)[i]) / std::max(before[k][i], 1e-12);
        // Beyond the clip the objective is flat, so a choice that has already moved by kClip in the
        // direction of its reward is not pushed further (Schulman et al., 2017, equation 7).
        const bool clipped = worth > 0 ? ratio > 1 + kClip : ratio < 1 - kClip;
        const double push = clipped ? 0 : worth * ratio;
        const Eigen::VectorXd log = p.array().max(1e-12).log().matrix();
        const double entropy = -p.dot(log);
        // Gradient by the logits: push * (onehot - p) for the log probability, and -p * (log p + H)
        // for the entropy H. The bounds of 1e-12 keep logarithms and ratios finite.
        Eigen::VectorXd by_logits =
            -push * p - kEntropy * (p.array() * (log.array() + entropy)).matrix();
        by_logits((*walk)[i]) += push;
        state_->Back(*walk, i, answer, by_logits / static_cast<double>(possible.size()), gradient);
      }
    }
    state_->Step(gradient);
  }
}

std::vector<double> WalkPolicy::Gradient(std::span<const Lesson> lessons) const {
  std::vector<double> gradient(state_->parameters.size(), 0);
  for (const auto& [walk, worth] : lessons) {
    for (std::size_t i = 0; i < walk->size(); ++i) {
      const Answer answer = state_->At(*walk, i);
      Eigen::VectorXd by_logits = -worth * answer.probabilities;
      by_logits((*walk)[i]) += worth;
      state_->Back(*walk, i, answer, by_logits, gradient);
    }
  }
  return gradient;
}

std::vector<double>& WalkPolicy::parameters() {
  return state_->parameters;
}

}  // namespace msc::agents
