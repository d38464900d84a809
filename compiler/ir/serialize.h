#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// A graph as the contents of two files: the structure as JSON and the weights as raw bytes.
///
/// The JSON lists the tensors with type, dims, offset into the weights, size in bytes and SHA-256.
/// The weights are stored in that order, little-endian, each aligned to 64 bytes; equal tensors are
/// stored once. Strings that are not UTF-8 become {"hex": "..."}; floats are written as text that
/// keeps every bit.
struct GraphFiles {
  std::string json;
  std::string weights;
};

/// Cache of the SHA-256 of tensor contents, for callers that store or hash several graphs with
/// shared tensors. The tensors must neither change nor be destroyed before this object. Not
/// thread-safe.
class TensorDigests {
 public:
  TensorDigests();
  TensorDigests(const TensorDigests&) = delete;
  TensorDigests& operator=(const TensorDigests&) = delete;
  ~TensorDigests();

  /// Starts hashing all constants of `graph` in the background, on all cores, in their order.
  void Add(const Graph& graph);
  /// Returns the digest: waits for the background if Add included the tensor, else computes it.
  /// The reference stays valid as long as this object.
  [[nodiscard]] const std::string& Of(const Tensor& tensor);

 private:
  class Background;
  std::map<const Tensor*, std::string> known_;
  std::vector<std::unique_ptr<Background>> begun_;
};

/// Converts a graph that Verify accepts.
[[nodiscard]] GraphFiles ToFiles(const Graph& graph);
[[nodiscard]] GraphFiles ToFiles(const Graph& graph, TensorDigests& digests);
/// Parses and checks both files, including Verify. FromFiles(ToFiles(graph)) is the SameGraph.
/// Throws UserError, which begins with `what` and names the place in the JSON. Memory use is
/// proportional to the size of the files.
[[nodiscard]] Graph FromFiles(const GraphFiles& files, const std::string& what = "graph");

/// Writes <stem>.weights, then <stem>.json, each atomically. If the machine stops between the two,
/// LoadGraph rejects the pair. Throws SystemError.
void SaveGraph(const Graph& graph, const std::string& stem);
void SaveGraph(const Graph& graph, const std::string& stem, TensorDigests& digests);
/// Reads the files of SaveGraph. Throws UserError if a file is missing or malformed.
[[nodiscard]] Graph LoadGraph(const std::string& stem);

/// Returns the SHA-256 (64 hex digits) of structure, names, types, attributes and weights. It does
/// not depend on ids or on the order of the constants, nor on the graph's own name and metadata,
/// which only tell its source.
[[nodiscard]] std::string GraphHash(const Graph& graph);
[[nodiscard]] std::string GraphHash(const Graph& graph, TensorDigests& digests);

/// Returns a hash like GraphHash that ignores names and values of weights: graphs with equal hashes
/// take the same time to compute. A constant with more than 16 elements that is not i64, bool or
/// string contributes only its type and dims, and whether it IsNarrow. The scales that only
/// QuantizeLinear and DequantizeLinear read contribute which of them are equal, which are 1, and
/// which are subnormal or near overflow. Names inside nested graphs count, and those of the values
/// that these capture.
[[nodiscard]] std::string StructureHash(const Graph& graph);

}  // namespace msc
