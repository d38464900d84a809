#include "compiler/strategy/strategy.h"

#include "compiler/base/error.h"
#include "tests/fuzz/targets.h"

namespace msc::fuzz {

void FuzzStrategy(std::string_view bytes) {
  try {
    const Strategy strategy = StrategyFromJson(bytes, "strategy");
    Check(StrategyFromJson(ToJson(strategy), "strategy") == strategy,
          "a strategy that was read writes and reads again");
  } catch (const UserError&) {
  }
}

}  // namespace msc::fuzz
