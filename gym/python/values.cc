#include "gym/python/values.h"

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include <pybind11/stl.h>

#include "compiler/base/error.h"

namespace py = pybind11;

namespace msc::gym {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

py::object ToPython(const Point& point) {
  return std::visit(Overloaded{[](const std::shared_ptr<const PointMap>& parts) -> py::object {
                                 py::dict dict;
                                 for (const auto& [key, part] : *parts) {
                                   dict[py::str(key)] = ToPython(part);
                                 }
                                 return dict;
                               },
                               [](const auto& value) -> py::object { return py::cast(value); }},
                    point.value);
}

py::dict ToPython(const Space& space) {
  using namespace py::literals;  // NOLINT: "name"_a
  return std::visit(
      Overloaded{
          [](const Discrete& s) {
            return py::dict("kind"_a = "Discrete", "n"_a = s.n, "start"_a = s.start);
          },
          [](const MultiDiscrete& s) {
            return py::dict("kind"_a = "MultiDiscrete", "nvec"_a = s.n);
          },
          [](const MultiBinary& s) { return py::dict("kind"_a = "MultiBinary", "n"_a = s.n); },
          [](const Box& s) {
            return py::dict("kind"_a = "Box", "low"_a = s.low, "high"_a = s.high,
                            "shape"_a = py::tuple(py::cast(s.shape)));
          },
          [](const Text& s) { return py::dict("kind"_a = "Text", "max_length"_a = s.max_length); },
          [](const std::shared_ptr<const Space::Parts>& parts) {
            py::dict spaces;
            for (const auto& [key, part] : *parts) spaces[py::str(key)] = ToPython(part);
            return py::dict("kind"_a = "Dict", "spaces"_a = spaces);
          }},
      space.kind());
}

Point ToPoint(const Space& space, const py::handle& value) {
  try {
    return std::visit(
        Overloaded{
            [&](const Discrete&) { return Point{value.cast<std::int64_t>()}; },
            [&](const MultiDiscrete&) { return Point{value.cast<std::vector<std::int64_t>>()}; },
            [&](const MultiBinary&) { return Point{value.cast<std::vector<std::int64_t>>()}; },
            [&](const Box&) { return Point{value.cast<std::vector<double>>()}; },
            [&](const Text&) { return Point{value.cast<std::string>()}; },
            [&](const std::shared_ptr<const Space::Parts>& parts) {
              PointMap points;
              for (const auto& [key, part] : value.cast<py::dict>()) {
                const auto name = key.cast<std::string>();
                const auto it = parts->find(name);
                if (it == parts->end()) throw py::cast_error(name);
                points[name] = ToPoint(it->second, part);
              }
              return Point{std::make_shared<const PointMap>(std::move(points))};
            }},
        space.kind());
  } catch (const py::cast_error&) {
    throw UserError("expected an element of " + space.ToString() + ", not " +
                    py::repr(value).cast<std::string>());
  }
}

py::dict ToPython(const Evaluation& evaluation) {
  using namespace py::literals;  // NOLINT: "name"_a
  py::dict dict("metrics"_a = evaluation.metrics, "record"_a = evaluation.record,
                "failure"_a = py::none());
  if (evaluation.failure) {
    dict["failure"] =
        py::make_tuple(std::string(Name(evaluation.failure->kind)), evaluation.failure->detail);
  }
  return dict;
}

py::dict ToPython(const StudyResult& result, const Objective& objective) {
  using namespace py::literals;  // NOLINT: "name"_a
  py::list trials;
  for (const Trial& trial : result.trials) {
    trials.append(py::dict("number"_a = trial.number, "source"_a = trial.source,
                           "assignment"_a = trial.assignment, "repeated"_a = trial.repeated,
                           "feasible"_a = IsFeasible(objective, trial),
                           "evaluation"_a = ToPython(trial.evaluation)));
  }
  return py::dict("trials"_a = trials, "best"_a = result.best, "pareto"_a = result.pareto,
                  "exhausted"_a = result.stop == StopReason::kExhausted);
}

DecisionParts ToPython(const Decision& decision) {
  return {decision.name, decision.choices, decision.quantity, decision.values};
}

Decision ToDecision(const DecisionParts& parts) {
  const auto& [name, choices, quantity, values] = parts;
  return {.name = name, .choices = choices, .quantity = quantity, .values = values};
}

Evaluation ToEvaluation(std::map<std::string, double> metrics,
                        const std::optional<std::pair<std::string, std::string>>& failure,
                        std::string record) {
  Evaluation evaluation;
  evaluation.record = std::move(record);
  if (failure) {
    const auto kind = ParseFailureKind(failure->first);
    if (!kind) throw UserError("unknown kind of failure '" + failure->first + "'");
    evaluation.failure = Failure{*kind, failure->second};
  } else {
    evaluation.metrics = std::move(metrics);
  }
  return evaluation;
}

}  // namespace msc::gym
