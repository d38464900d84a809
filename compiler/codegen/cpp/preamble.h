#pragma once

// Private to this folder: the part of the text before the kernels.

#include <set>
#include <string>

#include "compiler/codegen/cpp/isa.h"
#include "compiler/kernel/expr.h"

namespace msc {

/// Collects the types and functions that kernels need, each once, what another needs before it.
/// Every method returns the name by which the text calls what it asked for.
class Preamble {
 public:
  explicit Preamble(const Isa& isa);

  /// "f32x16"; a bool in memory is u8, a scalar one is bool. Not for vectors of bool.
  std::string TypeName(kernel::Type type);
  /// The same for memory: any alignment, may alias.
  std::string MemoryTypeName(kernel::Type type);
  /// The vector of `lanes` signed integers of `bytes` each that comparisons give: -1 or 0.
  std::string MaskName(int bytes, int lanes);

  std::string Splat(kernel::Type type);
  std::string PartialLoad(kernel::Type type, int valid);
  std::string PartialStore(kernel::Type type, int valid);
  std::string MinMax(kernel::Op op, kernel::Type type);
  /// Floor division and remainder of signed integers.
  std::string FloorDivMod(kernel::Op op);
  /// kSqrt, kFloor, kExp, kTanh, kErf, kSigmoid, kLog.
  std::string Math(kernel::Op op, int lanes);
  /// f32 to an integer type: half to even, saturating.
  std::string RoundTo(kernel::Type type);
  /// f32 that fits in i32 to that: half to even.
  std::string Nearest(int lanes);
  /// Vectors of integers of 1 byte to 4 and back: what convertvector makes of them is slow.
  std::string Convert(kernel::Type from, kernel::Type to);
  std::string ToBF16(int lanes);
  std::string FromBF16(int lanes);
  std::string Bits();
  std::string Dot(kernel::Op op, int lanes);
  std::string Reduce(kernel::Op op, kernel::Type type);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  /// True the first time; then the caller adds the text.
  bool First(const std::string& name) { return made_.insert(name).second; }
  /// Whether an instruction works on vectors of these bytes.
  [[nodiscard]] bool IsRegister(int bytes) const {
    return bytes >= 16 && bytes <= isa_.vector_bytes();
  }
  void Add(const std::string& text) { text_ += text; }

  Isa isa_;
  std::set<std::string> made_;
  std::string text_;
};

}  // namespace msc
