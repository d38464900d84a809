#include "gym/python/python_vector_env.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <pybind11/stl.h>

#include "gym/core/env.h"
#include "gym/python/python_env.h"
#include "gym/python/values.h"
#include "gym/wrappers/vector_env.h"
#include "gym/wrappers/wrap.h"

namespace py = pybind11;

namespace msc::gym {
namespace {

class PythonVectorEnv {
 public:
  /// `envs` outlive this object.
  explicit PythonVectorEnv(const std::vector<PythonEnv*>& envs) : lanes_(Borrowed(envs)) {
    for (PythonEnv* env : envs) taken_.insert(&env->taken());
  }

  /// Returns observations and infos, each with one entry per env.
  py::tuple Reset(const std::vector<std::optional<std::uint64_t>>& seeds,
                  const ResetOptions& options) {
    const std::deque<Turn> turns = TakeTurns();
    std::vector<ResetResult> results;
    {
      const py::gil_scoped_release released;
      results = lanes_.Reset(seeds, options);
    }
    py::list observations;
    py::list infos;
    for (const ResetResult& result : results) {
      observations.append(ToPython(result.observation));
      infos.append(result.info);
    }
    return py::make_tuple(observations, infos);
  }

  /// Returns the five parts of a step, each with one entry per env.
  py::tuple Step(const std::vector<py::object>& actions) {
    const std::deque<Turn> turns = TakeTurns();
    std::vector<Point> points;
    points.reserve(actions.size());
    for (const py::object& action : actions) {
      points.push_back(ToPoint(lanes_.one().action_space(), action));
    }
    std::vector<StepResult> results;
    {
      const py::gil_scoped_release released;
      results = lanes_.Step(points);
    }
    py::list observations;
    py::list rewards;
    py::list terminations;
    py::list truncations;
    py::list infos;
    for (const StepResult& result : results) {
      observations.append(ToPython(result.observation));
      rewards.append(result.reward);
      terminations.append(result.terminated);
      truncations.append(result.truncated);
      infos.append(result.info);
    }
    return py::make_tuple(observations, rewards, terminations, truncations, infos);
  }

 private:
  static std::vector<std::unique_ptr<Env>> Borrowed(const std::vector<PythonEnv*>& envs) {
    std::vector<std::unique_ptr<Env>> borrowed;
    borrowed.reserve(envs.size());
    for (PythonEnv* env : envs) borrowed.push_back(BorrowEnv(env->env()));
    return borrowed;
  }
  std::deque<Turn> TakeTurns() {
    std::deque<Turn> turns;
    for (std::atomic<bool>* taken : taken_) turns.emplace_back(*taken);
    return turns;
  }

  VectorEnv lanes_;
  std::set<std::atomic<bool>*> taken_;  // locks of the envs; envs on one model share a lock
};

}  // namespace

void AddVectorEnv(py::module_& core) {
  py::class_<PythonVectorEnv>(core, "VectorEnv")
      // The tuple argument keeps the envs alive.
      .def(py::init<const std::vector<PythonEnv*>&>(), py::keep_alive<1, 2>())
      .def("reset", &PythonVectorEnv::Reset)
      .def("step", &PythonVectorEnv::Step);
}

}  // namespace msc::gym
