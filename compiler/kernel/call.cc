#include "compiler/kernel/call.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace msc::kernel {
namespace {

constexpr std::size_t kSgemmIntegers = 9;

void Collect(const std::vector<Stmt>& body, std::vector<std::string>& names) {
  for (const Stmt& stmt : body) {
    if (const auto* loop = std::get_if<For>(&stmt.node)) Collect(loop->body, names);
    if (const auto* branch = std::get_if<If>(&stmt.node)) {
      Collect(branch->body, names);
      Collect(branch->otherwise, names);
    }
    const auto* call = std::get_if<Call>(&stmt.node);
    if (call != nullptr && std::find(names.begin(), names.end(), call->function) == names.end()) {
      names.push_back(call->function);
    }
  }
}

}  // namespace

Call ToCall(const Sgemm& product, Call::Address a, Call::Address b, Call::Address c) {
  return {.function = std::string(kSgemm),
          .addresses = {std::move(a), std::move(b), std::move(c)},
          .integers = {product.m, product.n, product.k, product.lda, product.ldb, product.ldc,
                       product.transpose_a ? 1 : 0, product.transpose_b ? 1 : 0, product.threads}};
}

Sgemm ToSgemm(const long* integers) {  // NOLINT(google-runtime-int)
  return {.m = integers[0],
          .n = integers[1],
          .k = integers[2],
          .lda = integers[3],
          .ldb = integers[4],
          .ldc = integers[5],
          .transpose_a = integers[6] != 0,
          .transpose_b = integers[7] != 0,
          .threads = integers[8]};
}

CallFacts FactsOf(const Call& call) {
  const auto wrong = [](std::string why) {
    return CallFacts{.parallel = false, .error = std::move(why)};
  };
  if (call.function != kSgemm) return wrong("there is no such function");
  if (call.addresses.size() != 3) return wrong("takes 3 addresses");
  if (call.integers.size() != kSgemmIntegers) {
    return wrong("takes " + std::to_string(kSgemmIntegers) + " integers");
  }
  std::array<long, kSgemmIntegers> integers{};  // NOLINT(google-runtime-int)
  std::copy(call.integers.begin(), call.integers.end(), integers.begin());
  const Sgemm p = ToSgemm(integers.data());
  // The libraries use int. With this limit, every offset that they compute is below 2^62.
  for (const std::int64_t size : {p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.threads}) {
    if (size < 1 || size > std::numeric_limits<int>::max()) {
      return wrong("sizes, strides and threads are between 1 and 2147483647");
    }
  }
  if (std::max(call.integers[6], call.integers[7]) > 1 ||
      std::min(call.integers[6], call.integers[7]) < 0) {
    return wrong("whether a matrix is transposed is 0 or 1");
  }
  const auto touched = [](std::int64_t rows, std::int64_t columns, std::int64_t stride,
                          Access access) {
    return Touched{
        .dtype = DType::kF32, .access = access, .elements = (rows - 1) * stride + columns};
  };
  const std::int64_t a_columns = p.transpose_a ? p.m : p.k;
  const std::int64_t b_columns = p.transpose_b ? p.k : p.n;
  if (p.lda < a_columns || p.ldb < b_columns || p.ldc < p.n) {
    return wrong("rows are at least as far apart as they are long");
  }
  return {.touched = {touched(p.transpose_a ? p.k : p.m, a_columns, p.lda, Access::kRead),
                      touched(p.transpose_b ? p.n : p.k, b_columns, p.ldb, Access::kRead),
                      touched(p.m, p.n, p.ldc, Access::kWrite)},
          .parallel = p.threads > 1};
}

std::vector<std::string> CalledFunctions(const KernelFunc& func) {
  std::vector<std::string> names;
  Collect(func.body, names);
  return names;
}

}  // namespace msc::kernel
