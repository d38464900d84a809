#include "compiler/ir/serialize.h"

#include <cstdint>

#include "compiler/base/file.h"
#include "compiler/ir/serialize_format.h"

namespace msc {

void SaveGraph(const Graph& graph, const std::string& stem) {
  TensorDigests digests;
  SaveGraph(graph, stem, digests);
}

void SaveGraph(const Graph& graph, const std::string& stem, TensorDigests& digests) {
  AtomicFile weights(stem + ".weights");
  const std::string json =
      detail::WriteGraph(graph, digests, [&](std::string_view bytes) { weights.Append(bytes); });
  // Write the JSON last: its digests show whether the weights belong to it.
  weights.Commit();
  WriteFileAtomic(stem + ".json", json);
}

Graph LoadGraph(const std::string& stem) {
  constexpr std::uint64_t kMaxWeights = std::uint64_t{64} << 30U;
  return FromFiles(
      {.json = ReadFile(stem + ".json"), .weights = ReadFile(stem + ".weights", kMaxWeights)},
      stem + ".json");
}

}  // namespace msc
