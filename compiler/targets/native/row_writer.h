#pragma once

#include <functional>
#include <limits>
#include <utility>

#include "compiler/targets/native/kernel_writer.h"

namespace msc::native {

/// Returns a vector with `scalar` in each of `lanes`.
[[nodiscard]] inline Expr Spread(const Expr& scalar, int lanes) {
  return lanes == 1 ? scalar : kernel::Broadcast(scalar, lanes);
}

/// Writes sums and maxima along one row: over vectors, then over the lanes, then over the remaining
/// entries.
class RowWriter {
 public:
  RowWriter(KernelWriter& writer, int lanes, std::int64_t columns)
      : writer_(writer), lanes_(lanes), columns_(columns) {}

  /// Returns the reduction of value(column, lanes, body) over the row. `start` must be the neutral
  /// element of `op`, because every lane starts from it.
  template <class Value>
  Expr Reduce(kernel::Op op, double start, const Value& value, Body& body) {
    const kernel::VarId sum = writer_.NewVar();
    const kernel::Type vector{DType::kF32, lanes_};
    body.push_back({kernel::Let{.var = sum, .value = kernel::Float(start, lanes_)}});
    const kernel::Op step = op == kernel::Op::kReduceAdd ? kernel::Op::kAdd : kernel::Op::kMax;
    writer_.Loop(columns_ / lanes_, body, [&](const Expr& i) {
      Body inside;
      Expr v = value(i * lanes_, lanes_, inside);
      inside.push_back({kernel::Assign{
          .var = sum, .value = kernel::Binary(step, kernel::Var(sum, vector), std::move(v))}});
      return inside;
    });
    const kernel::VarId total = writer_.NewVar();
    body.push_back(
        {kernel::Let{.var = total, .value = kernel::Reduce(op, kernel::Var(sum, vector))}});
    const kernel::Type scalar{DType::kF32, 1};
    const std::int64_t rest = columns_ % lanes_;
    writer_.Loop(rest, body, [&](const Expr& i) {
      Body inside;
      Expr v = value(i + (columns_ - rest), 1, inside);
      inside.push_back({kernel::Assign{
          .var = total, .value = kernel::Binary(step, kernel::Var(total, scalar), std::move(v))}});
      return inside;
    });
    return kernel::Var(total, scalar);
  }

  /// Writes make(column, lanes, body) for every column, in vectors, then one by one.
  template <class Make>
  void Each(const Make& make, Body& body) {
    writer_.Loop(columns_ / lanes_, body, [&](const Expr& i) {
      Body inside;
      make(i * lanes_, lanes_, inside);
      return inside;
    });
    const std::int64_t rest = columns_ % lanes_;
    writer_.Loop(rest, body, [&](const Expr& i) {
      Body inside;
      make(i + (columns_ - rest), 1, inside);
      return inside;
    });
  }

 private:
  KernelWriter& writer_;
  int lanes_;
  std::int64_t columns_;
};

/// The accesses of the softmax of one row.
struct SoftmaxRow {
  using Make = std::function<Expr(const Expr& column, int lanes, Body& body)>;
  using Read = std::function<Expr(const Expr& column, int lanes)>;
  using Write = std::function<void(const Expr& column, Expr value, Body& body)>;
  Make value;    ///< returns an entry; called once each, in order
  Read load;     ///< returns the entry that `store` kept
  Write store;   ///< keeps an entry between the passes
  Write finish;  ///< receives an entry of the result, once each, in order
};

/// Writes exp(x - max) / sum exp(x - max). Subtracting the maximum prevents overflow of exp.
inline void WriteSoftmax(KernelWriter& writer, RowWriter& row, const SoftmaxRow& of, Body& body) {
  const Expr max = row.Reduce(
      kernel::Op::kReduceMax, -std::numeric_limits<double>::infinity(),
      [&](const Expr& column, int lanes, Body& step) {
        Expr x = writer.Bind(of.value(column, lanes, step), step);
        of.store(column, x, step);
        return x;
      },
      body);
  const Expr sum = row.Reduce(
      kernel::Op::kReduceAdd, 0,
      [&](const Expr& column, int lanes, Body& step) {
        Expr e = writer.Bind(
            kernel::Unary(kernel::Op::kExp, of.load(column, lanes) - Spread(max, lanes)), step);
        of.store(column, e, step);
        return e;
      },
      body);
  const Expr inverse = writer.Bind(kernel::Binary(kernel::Op::kDiv, kernel::Float(1), sum), body);
  row.Each(
      [&](const Expr& column, int lanes, Body& step) {
        of.finish(column, of.load(column, lanes) * Spread(inverse, lanes), step);
      },
      body);
}

}  // namespace msc::native
