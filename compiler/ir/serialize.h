#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// A graph as two files: structure in JSON, weights as raw bytes.
///
/// The JSON lists the tensors with type, dims, offset in the weights, bytes and SHA-256; the
/// weights follow each other in that order, little-endian, each at the next multiple of 64 bytes,
/// equal ones once. Texts that are not UTF-8 are {"hex": "..."}; floats are texts, so that every
/// bit survives.
struct GraphFiles {
  std::string json;
  std::string weights;
};

/// SHA-256 of the contents of tensors, each taken once: for who stores and hashes graphs that share
/// them. The tensors must stay as they are and live as long. For one thread.
class TensorDigests {
 public:
  TensorDigests();
  TensorDigests(const TensorDigests&) = delete;
  TensorDigests& operator=(const TensorDigests&) = delete;
  ~TensorDigests();

  /// Begins to take those of all constants of `graph`, on all cores, in their order.
  void Add(const Graph& graph);
  /// Waits for it, if it was begun; else takes it.
  [[nodiscard]] const std::string& Of(const Tensor& tensor);

 private:
  class Background;
  std::map<const Tensor*, std::string> known_;
  std::vector<std::unique_ptr<Background>> begun_;
};

/// The graph must be one that Verify accepts.
[[nodiscard]] GraphFiles ToFiles(const Graph& graph);
[[nodiscard]] GraphFiles ToFiles(const Graph& graph, TensorDigests& digests);
/// Checks everything, ending with Verify: FromFiles(ToFiles(graph)) is the SameGraph. Throws
/// UserError that starts with `what` and names the place in the JSON. Memory stays in proportion to
/// the files.
[[nodiscard]] Graph FromFiles(const GraphFiles& files, const std::string& what = "graph");

/// Writes <stem>.weights, then <stem>.json, each atomically. If the machine dies between the two,
/// LoadGraph refuses the pair. Throws SystemError.
void SaveGraph(const Graph& graph, const std::string& stem);
void SaveGraph(const Graph& graph, const std::string& stem, TensorDigests& digests);
/// Throws UserError if a file is missing or wrong.
[[nodiscard]] Graph LoadGraph(const std::string& stem);

/// SHA-256 (64 hex digits) of structure, names, types, attributes and weights, whatever the ids and
/// the order in which constants were made. The graph's own name and metadata do not count: they
/// tell where it came from.
[[nodiscard]] std::string GraphHash(const Graph& graph);
[[nodiscard]] std::string GraphHash(const Graph& graph, TensorDigests& digests);

/// As GraphHash, but whatever the names and the values of weights: of constants of more than 16
/// elements that are not i64, bool or strings, type and dims alone count. Of scales that only
/// QuantizeLinear and DequantizeLinear read it counts which are equal, which are 1 and which are
/// subnormal or near overflow. What has the same takes the same time to compute. Names inside
/// nested graphs count; InternalError where one of those reads values around it.
[[nodiscard]] std::string StructureHash(const Graph& graph);

}  // namespace msc
