#include "gym/app/warn_of_loss.h"

#include <cstdio>

#include "gym/app/command.h"

namespace msc::gym {

int WarnOfLoss(const std::string& loss) {
  if (loss.empty()) return kExitOk;
  std::fprintf(stderr, "mscgym: %s\n", loss.c_str());
  return kExitFailure;
}

}  // namespace msc::gym
