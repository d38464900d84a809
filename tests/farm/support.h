#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/base/rng.h"
#include "cost/model/evaluator.h"
#include "tests/support/quality.h"

namespace msc::cost::testing {

/// A new empty folder.
inline std::string NewFolder(const std::string& name) {
  std::string path = ::testing::TempDir() + "/farm_" + name + "_XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw SystemError("cannot make '" + path + "'");
  return path;
}

/// Candidates that differ; the name of their only layer says which is which.
inline std::vector<Candidate> Candidates(int count) {
  std::vector<Candidate> batch;
  for (int i = 0; i < count; ++i) {
    Candidate candidate;
    candidate.strategy.quantize.layers["layer" + std::to_string(i)] =
        i % 2 == 0 ? Precision::kInt8 : Precision::kBF16;
    candidate.measure = i % 3 == 0 ? Measure::kQuality : Measure::kQualityAndLatency;
    batch.push_back(candidate);
  }
  return batch;
}

/// A function of the candidate alone; one in seven fails.
inline Result<Outcome> Truth(const Candidate& candidate) {
  const std::string hash = StrategyHash(candidate.strategy);
  const auto value = static_cast<std::int64_t>(Crc32c(hash));
  if (value % 7 == 0) return Failure{FailureKind::kUnsupported, "no " + hash};
  Outcome outcome;
  outcome.weight_bytes = value;
  outcome.quality = QualityOf({{"distill_loss", {static_cast<double>(value) * 1e-9, 0}}});
  outcome.quality.samples = 10;
  if (candidate.measure == Measure::kQualityAndLatency) {
    outcome.latency.emplace();
    outcome.latency->median_ns = 0.1 + static_cast<double>(value % 1000);
    outcome.latency->reference_median_ns = 1000;
    outcome.latency->rounds = 11;
  }
  return outcome;
}

inline bool Same(const Result<Outcome>& a, const Result<Outcome>& b) {
  if (a.ok() != b.ok()) return false;
  return a.ok() ? a.value() == b.value() : a.failure() == b.failure();
}

/// Evaluates by `truth`, one after the other.
class FakeEvaluator final : public Evaluator {
 public:
  using Function =
      std::function<Result<Outcome>(const Candidate&, const std::function<bool()>& stop)>;
  explicit FakeEvaluator(Function function) : function_(std::move(function)) {}

 private:
  void DoEvaluate(std::span<const Candidate> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (stop && stop()) return;
      const auto result = function_(batch[i], stop);
      if (stop && stop()) return;
      done(i, result);
    }
  }
  Function function_;
};

inline std::unique_ptr<Evaluator> MakeTruth(const std::string& /*run_folder*/) {
  return std::make_unique<FakeEvaluator>(
      [](const Candidate& candidate, const std::function<bool()>&) { return Truth(candidate); });
}

}  // namespace msc::cost::testing
