#pragma once

// The part of the generated text before the kernels. Private to this folder.

#include <set>
#include <string>

#include "compiler/codegen/cpp/isa.h"
#include "compiler/kernel/expr.h"

namespace msc {

/// Collects the types and functions that kernels need, each once and after those that it uses
/// itself. Every method returns the name of the requested type or function.
class Preamble {
 public:
  explicit Preamble(const Isa& isa);

  /// Returns a name such as "f32x16". A bool is u8 in memory and bool as a scalar. Not for vectors
  /// of bool.
  std::string TypeName(kernel::Type type);
  /// Returns the type for memory access: any alignment, may alias.
  std::string MemoryTypeName(kernel::Type type);
  /// Returns the vector of `lanes` signed integers of `bytes` bytes that comparisons return: -1 or
  /// 0.
  std::string MaskName(int bytes, int lanes);

  std::string Splat(kernel::Type type);
  std::string GroupBroadcast(kernel::Type type, int group, int lane);
  std::string PartialLoad(kernel::Type type, int valid);
  std::string PartialStore(kernel::Type type, int valid);
  std::string MinMax(kernel::Op op, kernel::Type type);
  /// Adds floor division or remainder of signed integers.
  std::string FloorDivMod(kernel::Op op);
  /// Adds kSqrt, kFloor, kExp, kTanh, kErf, kSigmoid or kLog.
  std::string Math(kernel::Op op, int lanes);
  /// Adds the conversion of f32 to an integer type, which rounds half to even and saturates.
  std::string RoundTo(kernel::Type type);
  /// Adds the conversion of f32 in the range of i32 to i32, which rounds half to even.
  std::string Nearest(int lanes);
  /// Adds the conversion of vectors between 1-byte and 4-byte integers. GCC's convertvector is slow
  /// for these.
  std::string Convert(kernel::Type from, kernel::Type to);
  std::string ToBF16(int lanes);
  std::string FromBF16(int lanes);
  /// Add the conversions between f32 and f16, bit for bit those of compiler/base/dtype.h.
  std::string ToF16(int lanes);
  std::string FromF16(int lanes);
  std::string Bits();
  std::string Dot(kernel::Op op, int lanes);
  std::string Reduce(kernel::Op op, kernel::Type type);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  /// Returns the body of kDot4Narrow with AVX2 or AVX-512, for as many lanes as fill a register.
  [[nodiscard]] std::string NarrowSum(int lanes);
  /// Returns true on the first call for `name`; then the caller adds the text.
  bool First(const std::string& name) { return made_.insert(name).second; }
  /// Returns whether a vector of `bytes` bytes fills a vector register.
  [[nodiscard]] bool IsRegister(int bytes) const {
    return bytes >= 16 && bytes <= isa_.vector_bytes();
  }
  void Add(const std::string& text) { text_ += text; }

  Isa isa_;
  std::set<std::string> made_;
  std::string text_;
};

}  // namespace msc
