// The LSTM against loops that follow its equations, on random shapes with any inputs left out.

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

/// h of every step of one sequence and direction, then the last c, by the equations of lstm.h. `w`,
/// `r`, `b`, `p`, `h` and `c` are those of the direction and sample.
struct LstmLoops {
  std::int64_t inputs, hidden;
  const double *w, *r, *b, *p;
  std::vector<double> h, c;

  [[nodiscard]] double Gate(std::int64_t gate, std::int64_t k, const double* x) const {
    const std::int64_t row = gate * hidden + k;
    double sum = b[row] + b[4 * hidden + row];
    for (std::int64_t i = 0; i < inputs; ++i) sum += w[row * inputs + i] * x[i];
    for (std::int64_t i = 0; i < hidden; ++i)
      sum += r[row * hidden + i] * h[static_cast<std::size_t>(i)];
    return sum;
  }
  void Step(const double* x) {
    const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    std::vector<double> next(h.size());
    for (std::int64_t k = 0; k < hidden; ++k) {
      double& cell = c[static_cast<std::size_t>(k)];
      const double i = sigmoid(Gate(0, k, x) + p[k] * cell);
      const double f = sigmoid(Gate(2, k, x) + p[2 * hidden + k] * cell);
      cell = f * cell + i * std::tanh(Gate(3, k, x));
      next[static_cast<std::size_t>(k)] =
          sigmoid(Gate(1, k, x) + p[hidden + k] * cell) * std::tanh(cell);
    }
    h = next;
  }
};

TEST(Lstm, FollowsItsEquations) {
  Rng rng(17);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(most - least + 1)));
  };
  for (int round = 0; round < 60; ++round) {
    const std::int64_t steps = draw(0, 5);
    const std::int64_t batch = draw(1, 3);
    const std::int64_t inputs = draw(0, 4);
    const std::int64_t hidden = draw(1, 4);
    const std::vector<std::string> words = {"forward", "reverse", "bidirectional"};
    const std::string direction = words[rng.Below(3)];
    const std::int64_t d = direction == "bidirectional" ? 2 : 1;
    const auto normal = [&](Dims dims, bool zero) {
      Tensor tensor(DType::kF64, std::move(dims));
      if (zero) return tensor;
      for (double& value : tensor.MutableValues<double>()) value = rng.Normal();
      return tensor;
    };
    // What is left out is 0, or every step.
    const auto left_out = [&] { return rng.Below(3) == 0; };
    const bool no_b = left_out();
    const bool no_lengths = left_out();
    const bool no_h = left_out();
    const bool no_c = left_out();
    const bool no_p = left_out();
    const Tensor x = normal({steps, batch, inputs}, false);
    const Tensor w = normal({d, 4 * hidden, inputs}, false);
    const Tensor r = normal({d, 4 * hidden, hidden}, false);
    const Tensor b = normal({d, 8 * hidden}, no_b);
    const Tensor h = normal({d, batch, hidden}, no_h);
    const Tensor c = normal({d, batch, hidden}, no_c);
    const Tensor p = normal({d, 3 * hidden}, no_p);
    Tensor lengths(DType::kI32, {batch});
    for (std::int32_t& length : lengths.MutableValues<std::int32_t>()) {
      length = static_cast<std::int32_t>(no_lengths ? steps : draw(0, steps));
    }
    Node node;
    node.op = "LSTM";
    node.attrs = {{"direction", direction}};
    const std::vector<const Tensor*> given = {&x,
                                              &w,
                                              &r,
                                              no_b ? nullptr : &b,
                                              no_lengths ? nullptr : &lengths,
                                              no_h ? nullptr : &h,
                                              no_c ? nullptr : &c,
                                              no_p ? nullptr : &p};
    for (const Tensor* input : given) node.inputs.push_back(input ? ValueId{0} : kNoValue);
    const std::vector<Tensor> made = Ops().Get(node).eval(node, given);
    ASSERT_EQ(made[0].dims(), (Dims{steps, d, batch, hidden}));
    const auto part = [](const Tensor& tensor, std::int64_t index, std::int64_t size) {
      return tensor.Values<double>().data() + index * size;
    };
    for (std::int64_t line = 0; line < d * batch; ++line) {
      const std::int64_t k = line / batch;
      const std::int64_t n = line % batch;
      const double* h0 = part(h, line, hidden);
      const double* c0 = part(c, line, hidden);
      LstmLoops loops{.inputs = inputs,
                      .hidden = hidden,
                      .w = part(w, k, 4 * hidden * inputs),
                      .r = part(r, k, 4 * hidden * hidden),
                      .b = part(b, k, 8 * hidden),
                      .p = part(p, k, 3 * hidden),
                      .h = {h0, h0 + hidden},
                      .c = {c0, c0 + hidden}};
      const auto expect = [&](const Tensor& tensor, std::int64_t at,
                              const std::vector<double>& want) {
        for (std::int64_t i = 0; i < hidden; ++i) {
          ASSERT_NEAR(part(tensor, at, hidden)[i], want[static_cast<std::size_t>(i)], 1e-12)
              << "round " << round << " line " << line;
        }
      };
      const std::int64_t length = lengths.Values<std::int32_t>()[static_cast<std::size_t>(n)];
      for (std::int64_t s = 0; s < steps; ++s) {
        const bool back = k == 1 || direction == "reverse";
        const std::int64_t t = s < length && back ? length - 1 - s : s;
        if (s < length) loops.Step(part(x, t * batch + n, inputs));
        const std::vector<double> zeros(static_cast<std::size_t>(hidden));
        expect(made[0], (t * d + k) * batch + n, s < length ? loops.h : zeros);
      }
      expect(made[1], line, loops.h);
      expect(made[2], line, loops.c);
    }
  }
}

}  // namespace
}  // namespace msc
