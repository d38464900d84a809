#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <coin/Cbc_C_Interface.h>

#include "compiler/partition/search/baselines.h"
#include "compiler/partition/search/cycle.h"
#include "compiler/partition/search/exact.h"
#include "compiler/partition/search/table.h"

namespace msc::detail {
namespace {

struct Term {
  int column;
  double factor;
};
using Terms = std::vector<Term>;

/// A 0-1 program; wraps the few functions of CBC's C interface that are needed.
class Program {
 public:
  Program() : model_(Cbc_newModel(), &Cbc_deleteModel) {
    Set("logLevel", "0");
    // Accept only a proven optimum.
    Set("allowableGap", "0");
    Set("ratioGap", "0");
  }

  int AddBinary(double cost) {
    const std::string name = "x" + std::to_string(columns_);
    Cbc_addCol(model_.get(), name.c_str(), 0, 1, cost, 1, 0, nullptr, nullptr);
    return columns_++;
  }
  /// Adds a column between 0 and `most`. It is whole in every optimum, because the rows
  /// that bound it are whole numbers.
  int AddContinuous(double cost, double most) {
    const std::string name = "k" + std::to_string(columns_);
    Cbc_addCol(model_.get(), name.c_str(), 0, most, cost, 0, 0, nullptr, nullptr);
    return columns_++;
  }
  /// Adds a row with `sense` 'E' (equal), 'L' (at most) or 'G' (at least). `terms` contain a column
  /// at most once.
  void AddRow(const Terms& terms, char sense, double bound) {
    std::vector<int> columns;
    std::vector<double> factors;
    for (const Term& term : terms) {
      columns.push_back(term.column);
      factors.push_back(term.factor);
    }
    const std::string name = "r" + std::to_string(rows_++);
    Cbc_addRow(model_.get(), name.c_str(), static_cast<int>(columns.size()), columns.data(),
               factors.data(), sense, bound);
  }
  void Solve() { Cbc_solve(model_.get()); }
  [[nodiscard]] bool optimal() const { return Cbc_isProvenOptimal(model_.get()) != 0; }
  [[nodiscard]] bool infeasible() const { return Cbc_isProvenInfeasible(model_.get()) != 0; }
  [[nodiscard]] double bound() const { return Cbc_getBestPossibleObjValue(model_.get()); }
  [[nodiscard]] std::int64_t nodes() const { return Cbc_getNodeCount(model_.get()); }
  [[nodiscard]] bool IsOne(int column) const {
    const double* solution = Cbc_getColSolution(model_.get());
    // The solver's values of whole columns have a tolerance.
    return solution != nullptr && solution[column] > 0.5;
  }

 private:
  void Set(const char* name, const char* value) { Cbc_setParameter(model_.get(), name, value); }

  std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model_;
  int columns_ = 0;
  int rows_ = 0;
};

/// Writes the program of a table. Column i says whether piece i is chosen; the conversions follow.
class Formulation {
 public:
  explicit Formulation(const Table& table) : table_(table), flow_(table.problem->flow) {}

  void Write(Program& program) {
    IndexPieces();
    for (const Piece& piece : table_.pieces) program.AddBinary(ToMicros(piece.cost));
    CoverNodes(program);
    for (const LabelledTensor& tensor : table_.labelled) WriteConversions(program, tensor);
    WriteConditions(program);
  }

 private:
  struct Use {
    std::uint32_t piece;
    Label label;
  };

  void IndexPieces() {
    for (std::uint32_t i = 0; i < table_.pieces.size(); ++i) {
      for (const TensorLabel& entry : table_.pieces[i].wants) {
        wants_[entry.tensor].push_back({i, entry.label});
      }
      for (const TensorLabel& entry : table_.pieces[i].makes) {
        makes_[entry.tensor].push_back({i, entry.label});
      }
    }
  }

  [[nodiscard]] const CandidateRegion& CandidateOf(std::uint32_t piece) const {
    return table_.problem->candidates[table_.pieces[piece].candidate];
  }

  void CoverNodes(Program& program) {
    std::vector<Terms> rows(table_.nodes);
    for (std::uint32_t i = 0; i < table_.pieces.size(); ++i) {
      CandidateOf(i).nodes.ForEach([&](std::size_t node) {
        rows[node].push_back({static_cast<int>(i), 1.0});
      });
    }
    // Exactly one chosen piece covers each node.
    for (const Terms& row : rows) program.AddRow(row, 'E', 1);
  }

  // Column k is 1 if the tensor is made as `from` and a reader wants `to`: k >= wants + makes - 1,
  // one row for each reader, since at most one of a reader's pieces is chosen.
  void WriteConversions(Program& program, const LabelledTensor& tensor) {
    const FlowTensor& flow = flow_.tensor(tensor.tensor);
    for (std::uint32_t made = tensor.made; made != 0; made &= made - 1) {
      const auto from = static_cast<Label>(std::countr_zero(made));
      for (std::uint32_t wanted = tensor.wanted; wanted != 0; wanted &= wanted - 1) {
        const auto to = static_cast<Label>(std::countr_zero(wanted));
        if (from == to) continue;
        const Picoseconds cost = table_.Convert(tensor, from, to);
        // An impossible conversion cannot exceed 0, so its rows forbid this pair of labels.
        const int k =
            program.AddContinuous(cost >= kNever ? 0 : ToMicros(cost), cost >= kNever ? 0 : 1);
        Terms makers = {{k, -1.0}};
        double free = 1;
        if (flow.producer == kNoFlow) free = 0;  // an input of the graph always exists
        for (const Use& use : makes_[tensor.tensor]) {
          if (use.label == from) makers.push_back({static_cast<int>(use.piece), 1.0});
        }
        for (const FlowIndex reader : flow.readers) {
          Terms row = makers;
          for (const Use& use : wants_[tensor.tensor]) {
            if (use.label == to && CandidateOf(use.piece).nodes.Contains(reader)) {
              row.push_back({static_cast<int>(use.piece), 1.0});
            }
          }
          program.AddRow(row, 'L', free);
        }
        if (flow.leaves && to == kDense) program.AddRow(makers, 'L', free - 1);
      }
    }
  }

  void WriteConditions(Program& program) {
    for (std::size_t limit = 0; limit < table_.limits.size(); ++limit) {
      Terms row;
      for (std::uint32_t i = 0; i < table_.pieces.size(); ++i) {
        if (table_.pieces[i].limit == static_cast<int>(limit)) {
          row.push_back({static_cast<int>(i), 1.0});
        }
      }
      program.AddRow(row, 'L', static_cast<double>(table_.limits[limit]));
    }
    if (const auto most = table_.problem->conditions.max_bytes) {
      // In units of the limit, which suits the solver's absolute tolerances.
      const double unit = std::max<double>(1, static_cast<double>(*most));
      Terms row;
      for (std::uint32_t i = 0; i < table_.pieces.size(); ++i) {
        const auto bytes = static_cast<double>(table_.pieces[i].bytes);
        if (bytes > 0) row.push_back({static_cast<int>(i), bytes / unit});
      }
      program.AddRow(row, 'L', static_cast<double>(*most) / unit);
    }
  }

  const Table& table_;
  const DataflowGraph& flow_;
  std::map<FlowIndex, std::vector<Use>> wants_;
  std::map<FlowIndex, std::vector<Use>> makes_;
};

}  // namespace

bool HasIlp() {
  return true;
}

Result<Cover> IlpSearch(const CoverProblem& problem, const SearchOptions& /*options*/) {
  const Table table(problem, UnknownCosts::kLeaveOut);
  std::vector<Terms> cuts;
  Cover cover;
  // Cyclic waits are not part of the program, as there may be exponentially many; those of an
  // optimum become cuts of the next program.
  while (true) {
    Program program;
    Formulation(table).Write(program);
    for (const Terms& cut : cuts) {
      program.AddRow(cut, 'L', static_cast<double>(cut.size()) - 1);
    }
    program.Solve();
    ++cover.statistics.solves;
    cover.statistics.states += program.nodes();
    if (!program.optimal()) {
      return Failure{FailureKind::kUnsupported,
                     program.infeasible()
                         ? "no choice of candidates covers every node exactly once and keeps the "
                           "conditions"
                         : "the solver ended without an optimum"};
    }
    cover.chosen.clear();
    std::map<std::uint32_t, int> column;
    for (std::uint32_t i = 0; i < table.pieces.size(); ++i) {
      if (!program.IsOne(static_cast<int>(i))) continue;
      cover.chosen.push_back(table.pieces[i].candidate);
      column[table.pieces[i].candidate] = static_cast<int>(i);
    }
    const std::vector<std::uint32_t> cycle = FindCycle(problem, cover.chosen);
    if (cycle.empty()) {
      const Result<std::vector<std::uint32_t>> order = ExecutionOrder(problem, cover.chosen);
      if (!order.ok()) return order.failure();
      const Result<double> micros = CheckCover(problem, order.value());
      if (!micros.ok()) return micros.failure();
      cover.micros = micros.value();
      cover.lower_bound = std::min(cover.micros, program.bound());
      // The solver's tolerance is 1e-6, so a smaller gap counts as proven.
      if (cover.gap() < 1e-6) cover.lower_bound = cover.micros;
      return cover;
    }
    Terms cut;
    for (const std::uint32_t candidate : cycle) cut.push_back({column.at(candidate), 1.0});
    cuts.push_back(std::move(cut));
  }
}

}  // namespace msc::detail
