#include "gym/app/learned_facts.h"

#include <cstdio>

namespace msc::gym {
namespace {

std::string Text(const char* format, double value) {
  char text[64] = "";  // NOLINT(modernize-avoid-c-arrays): snprintf
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::vector<std::string> LearnedFacts(const cost::LearnedUse& use) {
  std::vector<std::string> facts;
  for (const auto& [target, error] : use.errors) {
    std::string fact = "learned for " + target + ": " + std::to_string(error.samples) +
                       " regions of " + std::to_string(error.models) + " models";
    if (error.correlation != 0) {
      fact += Text(", on models left out ranks correlate by %.2f", error.correlation) +
              Text(", costs are off by %.0f %%", 100 * error.error) +
              Text(", 95 %% of them by no more than %.2fx", error.factor);
    }
    facts.push_back(fact + (error.trusted ? "" : "; not enough to predict from"));
  }
  if (use.skipped + use.audited > 0) {
    facts.push_back(std::to_string(use.skipped) +
                    " costs were not measured, as another target is predicted to be faster; of " +
                    std::to_string(use.audited) + " that were measured all the same " +
                    std::to_string(use.wrong) + " were cheaper" +
                    (use.given_up ? ", so all were measured" : ""));
  }
  return facts;
}

}  // namespace msc::gym
