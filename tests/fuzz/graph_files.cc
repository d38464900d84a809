#include <string>

#include "compiler/base/error.h"
#include "compiler/ir/serialize.h"
#include "tests/fuzz/targets.h"

namespace msc::fuzz {

/// The JSON, then after the first zero byte the weights.
void FuzzGraphFiles(std::string_view bytes) {
  const std::size_t end = bytes.find('\0');
  GraphFiles files{.json = std::string(bytes.substr(0, end)), .weights = ""};
  if (end != std::string_view::npos) files.weights = bytes.substr(end + 1);
  try {
    const Graph graph = FromFiles(files);
    Check(SameGraph(FromFiles(ToFiles(graph)), graph),
          "a graph that was read writes and reads again");
  } catch (const UserError&) {
  }
}

}  // namespace msc::fuzz
