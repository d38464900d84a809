#include "gym/app/not_finite.h"

#include <cstdio>

namespace msc::gym {

std::string NotFiniteText(const cost::NotFinite& found) {
  return CauseText(found) + ". The uncompressed model's is finite there";
}

bool ComplainOfNotFinite(const cost::ModelRun& run) {
  if (cost::AllFinite(run.outputs)) return false;
  const auto found = FindNotFinite(run);
  if (found) {
    std::fprintf(stderr, "mscgym: %s\n", NotFiniteText(*found).c_str());
    return true;
  }
  std::fprintf(stderr,
               "note: outputs are not finite, and the uncompressed model's are not either, for "
               "these inputs\n");
  return false;
}

}  // namespace msc::gym
