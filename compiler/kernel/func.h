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
  kUnrolled,  ///< the body is repeated in the source
  kParallel,  ///< iterations are independent; only the outermost statement of a kernel
};

struct Stmt;

/// for (var = 0; var < extent; ++var) body
struct For {
  VarId var;
  Expr extent;  ///< index >= 0; a constant when unrolled or parallel
  LoopKind kind = LoopKind::kSerial;
  std::vector<Stmt> body;
};
/// A local with its first value; lives to the end of the enclosing body. May be assigned to.
struct Let {
  VarId var;
  Expr value;
};
/// Gives a local a new value of the same type.
struct Assign {
  VarId var;
  Expr value;
};
/// Writes value's lanes to elements index, index+1, ...; only the first `valid` of them where
/// `valid` is not 0. The buffer has value's dtype.
struct Store {
  BufferRef buffer;
  Expr index;
  Expr value;
  int valid = 0;
};
/// Asks for the cache line of an element that is read later: a hint without an effect, for which
/// the element need not exist.
struct Prefetch {
  BufferRef buffer;
  Expr index;  ///< scalar i64
};
struct If {
  Expr condition;  ///< scalar bool
  std::vector<Stmt> body;
  std::vector<Stmt> otherwise;
};
/// Calls a function of a library on memory from some elements of buffers on: see call.h for the
/// functions that there are. A buffer that it writes is given to it once.
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
  kScratch,  ///< private to one call: what is in it does not matter before, and is lost after
};

/// A parameter of a kernel: memory that the caller owns. Buffers that are written overlap no other.
struct Buffer {
  std::string name;
  DType dtype = DType::kF32;
  std::int64_t elements = 0;  ///< the kernel touches elements 0 .. elements-1 alone
  Access access = Access::kRead;
};

/// A function over buffers: no result, no state, no allocation. If its body is one parallel loop,
/// the caller may run ranges of iterations on several threads.
struct KernelFunc {
  std::string name;  ///< for people; code generators make identifiers of their own
  std::vector<Buffer> buffers;
  std::vector<Stmt> body;
  double flops = 0;  ///< work, multiply and add counted apart: for profiles

  /// Iterations of the parallel loop; 1 without one.
  [[nodiscard]] std::int64_t parallel_extent() const;
};

/// Hands out ids of variables and collects buffers while a kernel is written.
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
