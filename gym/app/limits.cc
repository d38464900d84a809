#include "gym/app/limits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/nearest.h"
#include "cost/model/loss.h"
#include "gym/search/losses.h"

namespace msc::gym {

void AddLimitOption(CLI::App& command, cost::QualityLimits& limits) {
  command
      .add_option_function<std::vector<std::string>>(
          "--limit",
          [&limits](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) ReadLimit(text, limits);
          },
          "LOSS=VALUE: largest loss on the samples that is accepted, such as disagreement=2 or "
          "iou_loss:mask=5 (docs/quality.md); a larger one ends with exit code 3; may be repeated")
      ->expected(1)
      ->take_all();
}

void ReadLimit(const std::string& text, cost::QualityLimits& limits) {
  const std::size_t equals = text.rfind('=');  // names of outputs may contain '='
  const std::string number = equals == std::string::npos ? "" : text.substr(equals + 1);
  double limit = 0;
  const char* const end = number.data() + number.size();
  const auto [read, error] = std::from_chars(number.data(), end, limit);
  if (equals == 0 || error != std::errc() || read != end || !std::isfinite(limit)) {
    throw UserError("--limit '" + text + "': write LOSS=VALUE, such as disagreement=2");
  }
  const std::string loss = text.substr(0, equals);
  if (limit < 0 && cost::FindLoss(loss) != nullptr && !cost::IsAgainstLabels(loss)) {
    throw UserError("--limit '" + text + "': " + cost::TitleOf(loss) + " is never below 0");
  }
  limits[loss] = limit;
}

void CheckLimitNames(const cost::QualityLimits& limits, const std::vector<std::string>& metrics) {
  std::vector<std::string> known = metrics;
  for (const cost::LossInfo& info : cost::kLosses) known.emplace_back(info.name);
  for (const auto& [loss, limit] : limits) {
    const bool own = std::ranges::find(metrics, loss) != metrics.end();
    if (own || cost::FindLoss(loss) != nullptr) continue;
    throw UserError("--limit names the unknown loss '" + loss + "'" + DidYouMean(loss, known));
  }
}

void CheckLimits(const cost::QualityLimits& limits, const std::vector<std::string>& losses) {
  for (const auto& [loss, limit] : limits) {
    if (std::ranges::find(losses, loss) != losses.end()) continue;
    if (cost::IsAgainstLabels(loss))
      throw UserError("--limit " + loss + " needs --labels of its kind (docs/quality.md)");
    throw UserError("--limit: the outputs have no loss '" + loss + "'" + DidYouMean(loss, losses));
  }
}

std::vector<LimitVerdict> JudgeLimits(const cost::QualityLimits& limits,
                                      const cost::Quality& quality) {
  std::vector<std::string> losses;
  for (const auto& [loss, estimate] : quality.Losses()) losses.push_back(loss);
  CheckLimits(limits, losses);
  std::vector<LimitVerdict> verdicts;
  for (const auto& [loss, limit] : limits) {
    verdicts.push_back({loss, limit, quality.Loss(loss).value().value});
  }
  return verdicts;
}

std::string LimitText(const LimitVerdict& verdict) {
  return cost::TitleOf(verdict.loss) + " " + FormatLoss(verdict.loss, verdict.value) +
         (verdict.kept() ? " keeps the limit " : ", more than the limit ") +
         FormatLoss(verdict.loss, verdict.limit);
}

}  // namespace msc::gym
