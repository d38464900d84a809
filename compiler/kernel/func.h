#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/kernel/expr.h"

namespace msc::kernel {

enum class LoopKind : std::uint8_t {
  kSerial,
  kUnrolled,  ///< code generators repeat the body
  kParallel,  ///< iterations are independent; only as the outermost statement of a kernel
};

struct Stmt;

/// for (var = 0; var < extent; ++var) body
struct For {
  VarId var;
  Expr extent;  ///< index >= 0; constant if unrolled or parallel
  LoopKind kind = LoopKind::kSerial;
  std::vector<Stmt> body;
};
/// Defines a local with its first value. It lives until the end of the enclosing body and may be
/// assigned.
struct Let {
  VarId var;
  Expr value;
};
/// Assigns a new value of the same type to a local.
struct Assign {
  VarId var;
  Expr value;
};
/// Stores the lanes of `value` to elements index, index+1, ...; if `valid` is not 0, only the first
/// `valid` lanes. The buffer has the dtype of `value`.
struct Store {
  BufferRef buffer;
  Expr index;
  Expr value;
  int valid = 0;
};
/// Prefetches the cache line of an element that is read later. A hint without an effect; the
/// element need not exist.
struct Prefetch {
  BufferRef buffer;
  Expr index;  ///< scalar i64
};
struct If {
  Expr condition;  ///< scalar bool
  std::vector<Stmt> body;
  std::vector<Stmt> otherwise;
};
/// Calls a library function on buffers, from the given elements on; call.h lists the functions. A
/// buffer that the function writes must appear only once.
struct Call {
  struct Address {
    BufferRef buffer;
    Expr index;  ///< scalar i64
  };
  std::string function;
  std::vector<Address> addresses;
  std::vector<std::int64_t> integers;
};

/// One statement.
struct Stmt {
  std::variant<For, Let, Assign, Store, Prefetch, If, Call> node;
};

enum class Access : std::uint8_t {
  kRead,
  kWrite,
  kReadWrite,
  kScratch,  ///< private to one call; contents are undefined before and after it
};

/// Parameter of a kernel: memory that the caller owns. A buffer that is written overlaps no other.
struct Buffer {
  std::string name;
  DType dtype = DType::kF32;
  std::int64_t elements = 0;  ///< the kernel accesses only elements 0 .. elements-1
  Access access = Access::kRead;
};

/// A function over buffers without a result, state or allocation. If its body is one parallel loop,
/// the caller may run ranges of iterations on several threads.
struct KernelFunc {
  std::string name;  ///< for messages; code generators make their own identifiers
  std::vector<Buffer> buffers;
  std::vector<Stmt> body;
  double flops = 0;  ///< for profiles; a multiply and an add count as two

  /// Returns the iterations of the parallel loop, or 1 if there is none.
  [[nodiscard]] std::int64_t parallel_extent() const;
};

/// Allocates variable ids and collects buffers while a kernel is built.
class KernelBuilder {
 public:
  explicit KernelBuilder(std::string name) { func_.name = std::move(name); }
  [[nodiscard]] BufferRef AddBuffer(Buffer buffer);
  [[nodiscard]] VarId NewVar() { return {next_++}; }
  [[nodiscard]] const Buffer& buffer(BufferRef ref) const { return func_.buffers.at(ref.index); }
  [[nodiscard]] KernelFunc Finish(std::vector<Stmt> body, double flops) &&;

 private:
  KernelFunc func_;
  std::uint32_t next_ = 0;
};

}  // namespace msc::kernel
