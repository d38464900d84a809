#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/within.h"

namespace msc {

/// How the kernel of one convolution or matrix product is written: plain data, the same for every
/// target that lets it be chosen. Which schedules a node can have is said by its target
/// (Target::Schedules). All of them compute the same, but for the order of additions and what the
/// algorithm rounds.
struct KernelSchedule {
  std::string algorithm = "direct";
  std::int64_t columns = 1;
  std::int64_t vectors = 1;
  std::int64_t unroll = 1;
  std::string order = "rows";
  bool join_rows = false;
  bool operator==(const KernelSchedule&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("algorithm", self.algorithm, "how it is computed",
          Within::OneOf({"direct", "depthwise", "winograd2", "winograd4"}));
    visit("columns", self.columns, "output pixels, or rows of a matrix, of a register tile",
          Within{1, 64});
    visit("vectors", self.vectors, "vectors of output channels of a register tile", Within{1, 8});
    visit("unroll", self.unroll, "steps of the sum that are written out behind each other",
          Within{1, 8});
    visit("order", self.order, "what the outer loop goes over: output rows, or tiles of channels",
          Within::OneOf({"rows", "channels"}));
    visit("join_rows", self.join_rows,
          "an image as one long row of pixels, where no gaps lie between its rows");
  }
};

/// "direct 14x2 rows", and what else differs from the defaults: "direct 8x3 channels joined
/// unroll 2". Different schedules have different names.
[[nodiscard]] std::string Name(const KernelSchedule& schedule);

/// As JSON text, one line: how a node of a graph holds it, in its attribute kScheduleAttr.
[[nodiscard]] std::string ToText(const KernelSchedule& schedule);
/// UserError naming `what` and the key at fault.
[[nodiscard]] KernelSchedule ScheduleFromText(std::string_view text, const std::string& what);
inline constexpr const char* kScheduleAttr = "schedule";

/// Layers of one model whose kernels are the same, and how these may be written.
struct ScheduledKernel {
  std::string kernel;                   ///< what it computes, in words
  std::vector<std::string> layers;      ///< node names
  double flops = 0;                     ///< of all the layers, multiply and add counted apart
  std::vector<KernelSchedule> choices;  ///< first what it has if nobody chooses
  bool operator==(const ScheduledKernel&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("kernel", self.kernel, "what it computes");
    visit("layers", self.layers, "names of the nodes that have it");
    visit("flops", self.flops, "work of these nodes", Within{0, 1e30});
    visit("choices", self.choices, "schedules, first what it has by itself");
  }
};

}  // namespace msc
