#include "cost/model/loss.h"

#include <algorithm>

namespace msc::cost {

const LossInfo* FindLoss(std::string_view name) {
  const std::string_view loss = name.substr(0, name.find(':'));
  const auto* const found = std::ranges::find(kLosses, loss, &LossInfo::name);
  return found == kLosses.end() ? nullptr : found;
}

bool IsAgainstLabels(std::string_view name) {
  const LossInfo* loss = FindLoss(name);
  return loss != nullptr && !loss->score.empty();
}

std::string TitleOf(std::string_view name) {
  const LossInfo* loss = FindLoss(name);
  if (loss == nullptr) return std::string(name);
  const std::size_t colon = name.find(':');
  const std::string output(colon == std::string_view::npos ? "" : name.substr(colon + 1));
  return std::string(loss->title) + (output.empty() ? "" : " of '" + output + "'");
}

}  // namespace msc::cost
