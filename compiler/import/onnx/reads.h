#pragma once

#include <functional>
#include <map>
#include <string>

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace msc::detail {

/// Number of reads of each value, graph outputs included.
using Reads = std::map<std::string, int>;

/// Calls `visit` with the names of all values that a node reads, and that graphs nested in it read
/// or give, be they their own or of the graph around them.
void ForEachRead(const onnx::NodeProto& node, const std::function<void(const std::string&)>& visit);

/// Adds the reads of a graph and of what is nested in it.
void CountReads(const onnx::GraphProto& proto, Reads& reads);

}  // namespace msc::detail
