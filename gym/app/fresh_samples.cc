#include "gym/app/fresh_samples.h"

#include <algorithm>
#include <string>

#include "compiler/base/error.h"

namespace msc::gym {

void CheckOthers(const QualityConfig& quality, const SampleCounts& counts) {
  if (quality.finalists == "all" || counts.trials < counts.all) return;
  throw UserError("finalists are to be judged on others than the " + std::to_string(counts.trials) +
                  " samples of trials, and there are no more than " + std::to_string(counts.all) +
                  ": lower 'quality.samples' or 'quality.most_samples'");
}

void CheckFresh(const SearchConfig& config, std::int64_t learned, const SampleCounts& counts) {
  if (config.quality.finalists == "all") return;
  const cost::DataConfig& judged = config.quality.data;
  const cost::DataConfig& calibrated = config.calibration.data;
  if (judged.images != calibrated.images || judged.shuffle != calibrated.shuffle) return;
  const std::int64_t count = calibrated.count > 0 ? std::min(calibrated.count, learned) : learned;
  if (calibrated.first + count <= judged.first + counts.trials) return;
  if (calibrated.first >= judged.first + counts.all) return;
  throw UserError("finalists would be judged on samples of '" + judged.images +
                  "' that are used for calibration: move 'calibration.data.first' or "
                  "'quality.data.first'");
}

}  // namespace msc::gym
