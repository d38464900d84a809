#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/kernel/func.h"
#include "compiler/kernel/program.h"
#include "compiler/targets/native/view.h"

namespace msc::native {

using kernel::Expr;
using Body = std::vector<kernel::Stmt>;

/// Writes one kernel over views: keeps the list of its buffers and creates variables.
class KernelWriter {
 public:
  KernelWriter(std::string name, const kernel::Program& program)
      : builder_(std::move(name)), program_(program) {}

  /// Returns the kernel's parameter for the memory of `view`; the same one for repeated calls.
  [[nodiscard]] kernel::BufferRef Use(const View& view, kernel::Access access);
  [[nodiscard]] kernel::VarId NewVar() { return builder_.NewVar(); }
  /// Appends a local variable with this value to `body` and returns it. Returns integer constants
  /// and variables unchanged.
  [[nodiscard]] Expr Bind(Expr value, Body& body);
  /// Returns the element index of `view` at `at`, which has one index per axis.
  [[nodiscard]] static Expr IndexOf(const View& view, std::span<const Expr> at);
  /// Writes for (i = 0; i < extent; ++i) make(i). An extent of 1 makes no loop.
  template <class MakeBody>
  [[nodiscard]] Body Loop(std::int64_t extent, kernel::LoopKind kind, const MakeBody& make);
  /// Writes a serial loop and appends it to `body`.
  template <class MakeBody>
  void Loop(std::int64_t extent, Body& body, const MakeBody& make) {
    for (kernel::Stmt& stmt : Loop(extent, kernel::LoopKind::kSerial, make)) {
      body.push_back(std::move(stmt));
    }
  }

  /// Returns the program buffers of the parameters, in order.
  [[nodiscard]] const std::vector<std::size_t>& buffers() const { return buffers_; }
  [[nodiscard]] kernel::KernelFunc Finish(Body body, double flops) &&;

 private:
  kernel::KernelBuilder builder_;
  const kernel::Program& program_;
  std::vector<std::size_t> buffers_;
  std::vector<kernel::Buffer> parameters_;
};

template <class MakeBody>
Body KernelWriter::Loop(std::int64_t extent, kernel::LoopKind kind, const MakeBody& make) {
  if (extent == 0) return {};
  if (extent == 1) return make(kernel::Int(0));
  const kernel::VarId var = NewVar();
  Body inner = make(kernel::Var(var));
  Body body;
  body.push_back({kernel::For{
      .var = var, .extent = kernel::Int(extent), .kind = kind, .body = std::move(inner)}});
  return body;
}

}  // namespace msc::native
