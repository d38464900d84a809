#include "gym/search/learned_facts.h"

#include "compiler/base/formatted.h"

namespace msc::gym {

std::vector<std::string> LearnedFacts(const cost::LearnedUse& use) {
  std::vector<std::string> facts;
  for (const auto& [target, error] : use.errors) {
    std::string fact = "learned for " + target + ": " + std::to_string(error.samples) +
                       " regions of " + std::to_string(error.models) + " models";
    if (error.correlation != 0) {
      fact +=
          Formatted("; on models left out of the fit: rank correlation %.2f", error.correlation) +
          Formatted(", half of the costs are off by less than %.0f %%", 100 * error.typical) +
          Formatted(", 95 %% of them by no more than %.2fx", error.factor);
    }
    facts.push_back(fact + (error.trusted ? "" : "; not used for predictions"));
  }
  if (use.here.regions > 1) {
    facts.push_back("predictions of " + std::to_string(use.here.regions) +
                    " costs against their later measurement: rank correlation " +
                    Formatted("%.2f", use.here.correlation) +
                    Formatted(", half are off by less than %.0f %%", 100 * use.here.typical));
  }
  if (use.skipped > 0) {
    facts.push_back(std::to_string(use.skipped) +
                    " costs were not measured, because predictions rule out that a better plan "
                    "needs them");
  }
  if (use.audited > 0) {
    facts.push_back("of a random " + std::to_string(use.audited) +
                    " of the costs that predictions ruled out, " + std::to_string(use.wrong) +
                    " were lower than the bound that ruled them out" +
                    (use.given_up ? ", so all were measured" : ""));
  }
  return facts;
}

}  // namespace msc::gym
