#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/import/onnx/lift.h"

namespace msc::detail {

/// Expands the node of a Lift into simpler ones. Each step is a node in front of it, named after it
/// and `what`; End makes the node itself the last step.
class Steps {
 public:
  explicit Steps(Lift& lift) : lift_(lift) {}

  /// Adds a constant of this float type, a scalar, and returns its name. Rejects other types.
  std::string Number(double value, DType dtype, std::string_view what);
  /// Adds a constant list of i64 and returns its name.
  std::string List(const std::vector<std::int64_t>& values, std::string_view what);
  std::string Constant(Tensor tensor, std::string_view what);
  /// Adds a node with one output and returns the name of that.
  std::string Add(std::string op, std::vector<std::string> inputs, std::string_view what,
                  AttrMap attrs = {});
  /// Adds a node with several outputs and returns their names.
  std::vector<std::string> AddSeveral(std::string op, std::vector<std::string> inputs,
                                      std::string_view what, std::size_t outputs,
                                      AttrMap attrs = {});
  /// Makes the lifted node, with its name and first output, the last step.
  void End(std::string op, std::vector<std::string> inputs, AttrMap attrs = {});
  /// Adds a node whose output is `output`, one of the lifted node's other outputs.
  void EndOutput(std::string output, std::string op, std::vector<std::string> inputs,
                 std::string_view what, AttrMap attrs = {});

 private:
  [[nodiscard]] PendingNode Step(std::string op, std::vector<std::string> inputs,
                                 std::string_view what, AttrMap attrs) const;

  Lift& lift_;
};

}  // namespace msc::detail
