#include "envs/toy/one_max.h"

#include <algorithm>

#include "compiler/base/hash.h"
#include "gym/core/decision_env.h"

namespace msc::envs {

namespace {

class OneMaxProblem final : public gym::SearchProblem {
 public:
  OneMaxProblem() {
    for (std::int64_t i = 0; i < kOneMaxBits; ++i) {
      decisions_.push_back({"bit" + std::to_string(i), {"off", "on"}});
    }
  }

 private:
  [[nodiscard]] const std::vector<gym::Decision>& DoDecisions() const override {
    return decisions_;
  }
  [[nodiscard]] std::vector<std::string> DoMetrics() const override {
    return {"zeros", "switches"};
  }

  void DoEvaluate(std::span<const gym::Assignment> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    for (std::size_t i = 0; i < batch.size() && !stop(); ++i) done(i, Count(batch[i]));
  }

  [[nodiscard]] gym::Evaluation Count(const gym::Assignment& bits) const {
    const auto zeros = std::count(bits.begin(), bits.end(), 0);
    std::int64_t switches = 0;
    for (std::size_t i = 1; i < bits.size(); ++i) switches += bits[i] == bits[i - 1] ? 0 : 1;
    return {.metrics = {{"zeros", static_cast<double>(zeros)},
                        {"switches", static_cast<double>(switches)}},
            .record = gym::ChoicesAsJson(decisions_, bits)};
  }

  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override {
    return {{"off", gym::Assignment(decisions_.size(), 0)}};
  }
  [[nodiscard]] std::string DoDescribe(const gym::Assignment& assignment) const override {
    return gym::ChoicesAsJson(decisions_, assignment);
  }
  [[nodiscard]] std::string DoHash() const override {
    return Sha256Hex("Toy/OneMax-v0 " + std::to_string(kOneMaxBits));
  }

  std::vector<gym::Decision> decisions_;
};

}  // namespace

std::unique_ptr<gym::Env> MakeOneMaxEnv() {
  return gym::MakeDecisionEnv(
      std::make_unique<OneMaxProblem>(),
      {.facts = {.id = "Toy/OneMax-v0"},
       .reward = [](const gym::Evaluation& result) { return -result.metrics.at("zeros"); }});
}

}  // namespace msc::envs
