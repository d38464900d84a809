#include "compiler/base/error.h"
#include "compiler/ir/text.h"
#include "tests/fuzz/targets.h"

namespace msc::fuzz {

void FuzzGraphText(std::string_view bytes) {
  try {
    const Graph graph = ParseGraph(bytes);
    Check(SameGraph(ParseGraph(Print(graph)), graph),
          "a graph that was read prints and reads again");
  } catch (const UserError&) {
  }
}

}  // namespace msc::fuzz
