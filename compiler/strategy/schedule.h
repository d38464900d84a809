#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/within.h"

namespace msc {

/// Schedule of the kernel of one convolution or matrix product. Plain data, equal for all targets
/// that support schedules; Target::Schedules returns those that a node can have. All schedules of a
/// node compute the same result, up to the order of additions and the rounding of the algorithm.
struct KernelSchedule {
  std::string algorithm = "direct";
  std::int64_t columns = 1;
  std::int64_t vectors = 1;
  std::int64_t unroll = 1;
  std::string order = "rows";
  bool join_rows = false;
  bool operator==(const KernelSchedule&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("algorithm", self.algorithm, "algorithm of the kernel",
          Within::OneOf({"direct", "depthwise", "grouped", "winograd2", "winograd4"}));
    visit("columns", self.columns, "output pixels, or rows of a matrix, of a register tile",
          Within{1, 64});
    visit("vectors", self.vectors, "vectors of output channels of a register tile", Within{1, 8});
    visit("unroll", self.unroll, "unrolled steps of the sum", Within{1, 8});
    visit("order", self.order, "what the outer loop goes over: output rows, or tiles of channels",
          Within::OneOf({"rows", "channels"}));
    visit("join_rows", self.join_rows,
          "treat an image as one long row of pixels if there are no gaps between its rows");
  }
};

/// Returns a name such as "direct 14x2 rows"; fields that differ from the defaults follow: "direct
/// 8x3 channels joined unroll 2". Different schedules have different names.
[[nodiscard]] std::string Name(const KernelSchedule& schedule);

/// Returns one line of JSON, the form in the attribute kScheduleAttr of a node.
[[nodiscard]] std::string ToText(const KernelSchedule& schedule);
/// Throws UserError, which names `what` and the invalid key.
[[nodiscard]] KernelSchedule ScheduleFromText(std::string_view text, const std::string& what);
inline constexpr const char* kScheduleAttr = "schedule";

/// Layers of one model with equal kernels, and the schedules that these can have.
struct ScheduledKernel {
  std::string kernel;                    ///< description of the computation
  std::vector<std::string> layers = {};  ///< node names
  double flops = 0;                      ///< of all the layers; a multiply and an add count as two
  std::vector<KernelSchedule> choices;   ///< the first is the target's default
  bool operator==(const ScheduledKernel&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("kernel", self.kernel, "description of the kernel");
    visit("layers", self.layers, "names of the nodes that have it");
    visit("flops", self.flops, "work of these nodes", Within{0, 1e30});
    visit("choices", self.choices, "schedules to choose from, the default first");
  }
};

}  // namespace msc
