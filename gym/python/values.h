#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "gym/core/problem.h"
#include "gym/core/space.h"
#include "gym/study/objective.h"
#include "gym/study/study.h"

namespace msc::gym {

/// Converts to numbers, lists, strings and dicts.
[[nodiscard]] pybind11::object ToPython(const Point& point);
/// Returns {"kind": "Box", "low": ..., ...}: the arguments of Gymnasium's class of that name.
[[nodiscard]] pybind11::dict ToPython(const Space& space);
[[nodiscard]] pybind11::dict ToPython(const Evaluation& evaluation);
/// Returns {"trials": [...], "best": ..., "pareto": ..., "exhausted": ...}.
[[nodiscard]] pybind11::dict ToPython(const StudyResult& result, const Objective& objective);
/// Name, choices, quantity and values of a Decision; a tuple in Python.
using DecisionParts =
    std::tuple<std::string, std::vector<std::string>, std::string, std::vector<double>>;
[[nodiscard]] DecisionParts ToPython(const Decision& decision);
[[nodiscard]] Decision ToDecision(const DecisionParts& parts);
/// Converts a value to an element of a space. UserError if `value` has another type than its
/// elements; the env checks whether it is in the space.
[[nodiscard]] Point ToPoint(const Space& space, const pybind11::handle& value);
/// Makes an evaluation of metrics, or of a failure's kind and reason. UserError for an unknown
/// kind.
[[nodiscard]] Evaluation ToEvaluation(
    std::map<std::string, double> metrics,
    const std::optional<std::pair<std::string, std::string>>& failure, std::string record = "");

}  // namespace msc::gym
