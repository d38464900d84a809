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

namespace msc::gym {

/// Numbers, lists, text, dicts.
[[nodiscard]] pybind11::object ToPython(const Point& point);
/// {"kind": "Box", "low": ..., ...}: the arguments of Gymnasium's class of that name.
[[nodiscard]] pybind11::dict ToPython(const Space& space);
[[nodiscard]] pybind11::dict ToPython(const Evaluation& evaluation);
/// Name, choices, quantity and values of a Decision, which Python has as a tuple.
using DecisionParts =
    std::tuple<std::string, std::vector<std::string>, std::string, std::vector<double>>;
[[nodiscard]] DecisionParts ToPython(const Decision& decision);
[[nodiscard]] Decision ToDecision(const DecisionParts& parts);
/// UserError if `value` is of another type than the space's elements. Whether it lies in the space
/// is for the env to say.
[[nodiscard]] Point ToPoint(const Space& space, const pybind11::handle& value);
/// Metrics, or a failure of a kind and a reason: UserError if there is no such kind.
[[nodiscard]] Evaluation ToEvaluation(
    std::map<std::string, double> metrics,
    const std::optional<std::pair<std::string, std::string>>& failure, std::string record = "");

}  // namespace msc::gym
