#include "tests/support/random_blocks.h"

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace msc {
namespace {

/// Multiplies the rows of `x` with a matrix. Several heads are split: [batch, heads, steps, depth],
/// or with the last two axes swapped if `turned`.
ValueId Projection(ModelWriter& model, ValueId x, std::int64_t heads, bool turned) {
  const Dims dims = model.DimsOf(x);
  const double scale = 1 / std::sqrt(static_cast<double>(dims[2]));
  ValueId y = model.Result("MatMul", {x, model.Constant({dims[2], dims[2]}, scale)});
  if (model.OneIn(2)) y = model.Result("Add", {y, model.Constant({dims[2]}, 0.3)});
  if (heads > 1) {
    y = model.Result("Reshape", {y, model.Integers({dims[0], dims[1], heads, dims[2] / heads})});
    return model.Result("Transpose", {y}, {{"perm", turned ? Ints{0, 2, 3, 1} : Ints{0, 2, 1, 3}}});
  }
  return turned ? model.Result("Transpose", {y}, {{"perm", Ints{0, 2, 1}}}) : y;
}

}  // namespace

void AddAttention(ModelWriter& model, ValueId x) {
  const Dims dims = model.DimsOf(x);
  std::int64_t heads = model.Of<std::int64_t>({1, 2, 4});
  if (dims[2] % heads != 0) heads = 1;
  const double scale = 1 / std::sqrt(static_cast<double>(dims[2] / heads));
  ValueId q = Projection(model, x, heads, false);
  const ValueId k = Projection(model, x, heads, true);
  const ValueId v = Projection(model, x, heads, false);
  const bool before = model.OneIn(3);
  if (before) q = model.Result("Mul", {q, model.Scalar(scale)});
  ValueId scores = model.Result("MatMul", {q, k});
  if (!before && model.OneIn(2)) {
    scores = model.Result("Mul", {scores, model.Scalar(scale)});
  } else if (!before) {
    scores = model.Result("Div", {scores, model.Scalar(1 / scale)});
  }
  if (model.OneIn(2)) scores = model.Result("Add", {scores, model.Constant({dims[1], dims[1]}, 1)});
  const ValueId weights = model.Result("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const ValueId y = model.Result("MatMul", {weights, v});
  if (heads == 1) return;
  const ValueId joined = model.Result("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
  model.Add("Reshape", {joined, model.Integers({dims[0], dims[1], -1})});
}

void AddGelu(ModelWriter& model, ValueId x) {
  ValueId inner = x;
  if (model.OneIn(2)) {
    inner = model.OneIn(2) ? model.Result("Div", {x, model.Scalar(std::numbers::sqrt2)})
                           : model.Result("Mul", {x, model.Scalar(1 / std::numbers::sqrt2)});
    inner = model.Result("Erf", {inner});
  } else {
    const ValueId cube = model.Result("Pow", {x, model.Scalar(3)});
    const ValueId small = model.Result("Mul", {cube, model.Scalar(0.044715)});
    const ValueId sum = model.Result("Add", {x, small});
    inner =
        model.Result("Mul", {sum, model.Scalar(std::numbers::sqrt2 * std::numbers::inv_sqrtpi)});
    inner = model.Result("Tanh", {inner});
  }
  const ValueId gate = model.Result("Add", {inner, model.Scalar(1)});
  if (model.OneIn(2)) {
    const ValueId product = model.Result("Mul", {x, gate});
    model.Add("Mul", {product, model.Scalar(0.5)});
  } else {
    const ValueId half = model.Result("Mul", {gate, model.Scalar(0.5)});
    model.Add("Mul", {x, half});
  }
}

void AddWrittenLayerNorm(ModelWriter& model, ValueId x) {
  const Dims columns = {model.DimsOf(x).back()};
  const AttrMap last = {{"axes", Ints{-1}}};
  const ValueId mean = model.Result("ReduceMean", {x}, last);
  const ValueId centred = model.Result("Sub", {x, mean});
  const ValueId squares = model.OneIn(2) ? model.Result("Pow", {centred, model.Scalar(2)})
                                         : model.Result("Mul", {centred, centred});
  const ValueId variance = model.Result("ReduceMean", {squares}, last);
  const ValueId deviation =
      model.Result("Sqrt", {model.Result("Add", {variance, model.Scalar(0.1)})});
  const ValueId normal = model.Result("Div", {centred, deviation});
  const ValueId scaled = model.Result("Mul", {normal, model.Positive(columns)});
  model.Add("Add", {scaled, model.Constant(columns, 0.3)});
}

}  // namespace msc
