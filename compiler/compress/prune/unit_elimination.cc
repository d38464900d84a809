#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "compiler/base/error.h"
#include "compiler/compress/prune/inverse_factor.h"
#include "compiler/compress/prune/least_squares.h"
#include "compiler/compress/prune/outer_products.h"

namespace msc {
namespace {

using Matrix = Eigen::MatrixXd;
using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Inputs = std::vector<Eigen::Index>;

/// Added to the diagonal of the inputs' moments, relative to its mean, so that they have an inverse
/// if inputs are linearly dependent.
constexpr double kDamping = 1e-4;
/// Rows whose products are added at once.
constexpr Eigen::Index kDepth = 256;

/// Returns tr(W_u^T M_uu W_u): the loss of output energy if the other weights stay as they are.
double Energy(const Matrix& moments, const Matrix& weights, const Inputs& inputs) {
  const Matrix block = moments(inputs, inputs);
  const Matrix rows = weights(inputs, Eigen::all);
  return (block * rows).cwiseProduct(rows).sum();
}

/// Returns (moments + damping)^-1, of which the lower triangle counts.
Matrix DampedInverse(const Matrix& moments, int threads) {
  const Eigen::Index n = moments.rows();
  Matrix factor = moments;
  factor.diagonal().array() += std::max(kDamping * moments.trace() / static_cast<double>(n),
                                        std::numeric_limits<double>::min());
  InvertCholesky(factor, threads);
  Matrix inverse = Matrix::Zero(n, n);
  for (Eigen::Index k = 0; k < n; k += kDepth) {
    // Rows of a lower triangular matrix are zero behind the diagonal.
    const Eigen::Index depth = std::min(kDepth, n - k);
    const Panels rows(&factor(k, 0), depth, k + depth, 1, n);
    AddProducts(rows, rows, true, threads, {.first = inverse.data(), .stride = n});
  }
  return inverse;
}

/// Returns weights * weights^T, of which the lower triangle counts.
Matrix ProductsOf(const Matrix& weights, int threads) {
  const Eigen::Index n = weights.rows();
  Matrix products = Matrix::Zero(n, n);
  for (Eigen::Index k = 0; k < weights.cols(); k += kDepth) {
    const Panels columns(&weights(0, k), std::min(kDepth, weights.cols() - k), n, n, 1);
    AddProducts(columns, columns, true, threads, products.data());
  }
  return products;
}

/// A symmetric matrix, whose lower triangle is kept, minus products L R^T of few columns. Columns
/// are collected, as subtracting many at once reads and writes the matrix only once.
class Downdated {
 public:
  Downdated(Matrix lower, int threads) : lower_(std::move(lower)), threads_(threads) {}

  /// Returns columns of what the matrix is now.
  [[nodiscard]] Matrix Columns(const Inputs& at) const {
    const Eigen::Index n = lower_.rows();
    Matrix columns(n, std::ssize(at));
    for (Eigen::Index c = 0; c < columns.cols(); ++c) {
      const Eigen::Index i = at[static_cast<std::size_t>(c)];
      columns.col(c).head(i) = lower_.row(i).head(i).transpose();
      columns.col(c).tail(n - i) = lower_.col(i).tail(n - i);
    }
    if (used_ > 0) {
      const Matrix right = right_.leftCols(used_)(at, Eigen::all);
      columns.noalias() -= left_.leftCols(used_) * right.transpose();
    }
    return columns;
  }
  /// Subtracts left * right^T, which is symmetric.
  void Subtract(const Matrix& left, const Matrix& right) {
    const Eigen::Index n = lower_.rows();
    if (used_ + left.cols() > left_.cols()) Apply();
    if (left_.cols() < left.cols()) {
      left_.resize(n, std::max(kCollected, left.cols()));
      right_.resize(n, left_.cols());
    }
    left_.middleCols(used_, left.cols()) = left;
    right_.middleCols(used_, left.cols()) = right;
    used_ += left.cols();
  }

 private:
  static constexpr Eigen::Index kCollected = 128;

  void Apply() {
    const Eigen::Index n = lower_.rows();
    for (Eigen::Index k = 0; k < used_; k += kDepth) {
      const Eigen::Index depth = std::min(kDepth, used_ - k);
      const Matrix negative = -left_.middleCols(k, depth);
      AddProducts(Panels(negative.data(), depth, n, n, 1), Panels(&right_(0, k), depth, n, n, 1),
                  true, threads_, lower_.data());
    }
    used_ = 0;
  }

  Matrix lower_;
  Matrix left_;
  Matrix right_;
  Eigen::Index used_ = 0;  ///< columns of left_ and right_
  int threads_;
};

/// State of one layer while units are removed one after the other. Of its weights W only P = W W^T
/// is kept, which has all that losses need and no column for each output.
class Elimination {
 public:
  struct Settings {
    double energy = 1;  ///< of the layer's outputs; losses are relative to it
    int threads = 1;
  };
  Elimination(const Matrix& moments, const Matrix& weights, std::vector<Inputs> inputs_of,
              const Settings& settings)
      : energy_(settings.energy),
        inverse_(DampedInverse(moments, settings.threads), settings.threads),
        products_(ProductsOf(weights, settings.threads), settings.threads),
        alive_(Eigen::VectorXd::Ones(moments.rows())) {
    for (Inputs& inputs : inputs_of) {
      Unit unit{.inputs = std::move(inputs), .inverse = {}, .products = {}};
      // Blocks on the diagonal of what the matrices are, which each removal changes.
      unit.inverse = inverse_.Columns(unit.inputs)(unit.inputs, Eigen::all);
      unit.products = products_.Columns(unit.inputs)(unit.inputs, Eigen::all);
      units_.push_back(std::move(unit));
    }
  }

  /// Returns tr(W_u^T (M^-1_uu)^-1 W_u), relative to the layer's energy: the loss of output energy
  /// if the other weights compensate.
  [[nodiscard]] double Loss(std::size_t index) const {
    const Unit& unit = units_[index];
    if (unit.inputs.empty()) return 0;
    const double loss = unit.inputs.size() == 1 ? unit.products(0, 0) / unit.inverse(0, 0)
                                                : unit.inverse.ldlt().solve(unit.products).trace();
    return std::max(loss, 0.0) / energy_;
  }

  // Removes a unit: updates the products of the other weights, and the inverse as that of the
  // remaining inputs. One step of Gaussian elimination gives the inverse without these rows and
  // columns (Frantar and Alistarh, 2022, lemma 1), and costs far less than inverting again. It
  // subtracts T C^T, with the columns C of the inverse and T = C (M^-1_uu)^-1; the weights lose T
  // W_u, so their products lose T H^T + H T^T, with H the products' columns less half of T P_uu.
  void Remove(std::size_t index) {
    const Unit unit = std::move(units_[index]);
    units_[index] = {};
    if (unit.inputs.empty()) return;
    Matrix columns = inverse_.Columns(unit.inputs);
    Matrix products = products_.Columns(unit.inputs);
    // What is removed stays so: its rows would hold rounding errors.
    columns.array().colwise() *= alive_.array();
    products.array().colwise() *= alive_.array();
    const Matrix block = columns(unit.inputs, Eigen::all);
    const Matrix turned = block.ldlt().solve(columns.transpose()).transpose();
    products.noalias() -= 0.5 * turned * products(unit.inputs, Eigen::all).eval();
    for (const Eigen::Index i : unit.inputs) alive_(i) = 0;
    for (Unit& other : units_) Update(turned, columns, products, other);
    inverse_.Subtract(turned, columns);
    Matrix left(turned.rows(), 2 * turned.cols());
    left << turned, products;
    Matrix right(left.rows(), left.cols());
    right << products, turned;
    products_.Subtract(left, right);
  }

 private:
  struct Unit {
    Inputs inputs;
    Matrix inverse;
    Matrix products;
  };

  static void Update(const Matrix& turned, const Matrix& columns, const Matrix& products,
                     Unit& unit) {
    if (unit.inputs.size() == 1 && turned.cols() == 1) {
      const Eigen::Index i = unit.inputs[0];
      unit.inverse(0, 0) -= turned(i, 0) * columns(i, 0);
      unit.products(0, 0) -= 2 * turned(i, 0) * products(i, 0);
      return;
    }
    if (unit.inputs.empty()) return;
    const Matrix t = turned(unit.inputs, Eigen::all);
    unit.inverse.noalias() -= t * columns(unit.inputs, Eigen::all).transpose();
    const Matrix change = t * products(unit.inputs, Eigen::all).transpose();
    unit.products -= change + change.transpose();
  }

  double energy_;
  Downdated inverse_;
  Downdated products_;
  Eigen::VectorXd alive_;  ///< by input; 0 once it is removed
  std::vector<Unit> units_;
};

/// Removes the units one after the other, each time the one whose loss, summed over the layers, is
/// least.
std::vector<double> ScoreByRemoval(std::vector<Elimination>& states, std::size_t units) {
  std::vector<double> scores(units, 0.0);
  std::vector<bool> gone(units, false);
  double floor = 0;
  for (std::size_t round = 0; round < units; ++round) {
    std::size_t best = units;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < units; ++i) {
      if (gone[i]) continue;
      double loss = 0;
      for (const Elimination& state : states) loss += state.Loss(i);
      if (best == units || loss < least) {
        best = i;
        least = loss;
      }
    }
    gone[best] = true;
    // Compensation changes the other weights, so a later removal may cost less than an earlier one.
    floor = std::max(floor, least);
    scores[best] = floor;
    for (Elimination& state : states) state.Remove(best);
  }
  return scores;
}

}  // namespace

/// Moments and weights of one layer that reads units.
struct UnitElimination::Reader {
  Matrix moments;
  Matrix weights;  ///< [inputs, outputs]
  double energy = 0;
  int threads = 1;
  std::map<std::int32_t, Inputs> inputs_of;  ///< inputs of each unit

  /// Returns the inputs of each unit of a group.
  [[nodiscard]] std::vector<Inputs> InputsOf(const PruneGroup& group) const {
    std::vector<Inputs> inputs(group.units);
    for (std::size_t i = 0; i < group.units; ++i) {
      const auto found = inputs_of.find(static_cast<std::int32_t>(group.first_unit + i));
      if (found != inputs_of.end()) inputs[i] = found->second;
    }
    return inputs;
  }
};

UnitElimination::UnitElimination() = default;
UnitElimination::~UnitElimination() = default;

bool UnitElimination::empty() const {
  return readers_.empty();
}

void UnitElimination::AddReader(const LinearMoments& moments, std::span<const float> weights,
                                std::vector<std::int32_t> unit_of) {
  const auto inputs = static_cast<Eigen::Index>(unit_of.size());
  // About the mean, as the bias can compensate for the mean of a removed input.
  const std::vector<double> gram = moments.Gram(LinearMoments::About::kMean);
  Check(std::ssize(gram) == inputs * inputs && inputs > 0, "every input has a unit or none");
  const Eigen::Index outputs = std::ssize(weights) / std::max<Eigen::Index>(inputs, 1);
  Check(std::ssize(weights) == outputs * inputs, "weights have the size of their layer");
  const Matrix by_output = Eigen::Map<const Rows>(weights.data(), outputs, inputs).cast<double>();
  const std::vector<double> energies =
      QuadraticForms(by_output.data(), outputs, gram.data(), inputs, moments.threads());
  const double energy = std::accumulate(energies.begin(), energies.end(), 0.0);
  // A layer without output energy has no share to lose.
  if (!(energy > 0)) return;
  auto reader = std::make_unique<Reader>();
  reader->moments = Eigen::Map<const Matrix>(gram.data(), inputs, inputs);
  reader->weights = by_output.transpose();
  reader->energy = energy;
  reader->threads = moments.threads();
  for (Eigen::Index i = 0; i < inputs; ++i) {
    const std::int32_t unit = unit_of[static_cast<std::size_t>(i)];
    if (unit >= 0) reader->inputs_of[unit].push_back(i);
  }
  readers_.push_back(std::move(reader));
}

std::vector<double> UnitElimination::Score(const PruneGroup& group, ScoreMethod method) const {
  std::vector<double> scores(group.units, 0.0);
  if (method == ScoreMethod::kEnergy) {
    for (const auto& reader : readers_) {
      const std::vector<Inputs> inputs = reader->InputsOf(group);
      for (std::size_t i = 0; i < group.units; ++i) {
        if (inputs[i].empty()) continue;
        // Shares of each layer's own output energy add up over layers of different scale.
        scores[i] +=
            std::max(Energy(reader->moments, reader->weights, inputs[i]), 0.0) / reader->energy;
      }
    }
    return scores;
  }
  std::vector<Elimination> states;
  for (const auto& reader : readers_) {
    states.emplace_back(reader->moments, reader->weights, reader->InputsOf(group),
                        Elimination::Settings{reader->energy, reader->threads});
  }
  return ScoreByRemoval(states, group.units);
}

}  // namespace msc
