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
              Text(", half of the costs are off by less than %.0f %%", 100 * error.typical) +
              Text(", 95 %% of them by no more than %.2fx", error.factor);
    }
    facts.push_back(fact + (error.trusted ? "" : "; not enough to predict from"));
  }
  if (use.here.regions > 1) {
    facts.push_back("what was predicted of " + std::to_string(use.here.regions) +
                    " costs that were then measured: ranks correlate by " +
                    Text("%.2f", use.here.correlation) +
                    Text(", half are off by less than %.0f %%", 100 * use.here.typical));
  }
  if (use.skipped > 0) {
    facts.push_back(std::to_string(use.skipped) +
                    " costs were not measured, as no better plan is predicted to need them");
  }
  if (use.audited > 0) {
    facts.push_back("of " + std::to_string(use.audited) + " drawn from what was not measured " +
                    std::to_string(use.wrong) + " were cheaper than what ruled them out" +
                    (use.given_up ? ", so all were measured" : ""));
  }
  return facts;
}

}  // namespace msc::gym
