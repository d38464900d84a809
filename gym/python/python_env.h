#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "envs/register.h"
#include "gym/core/env.h"
#include "gym/core/problem.h"
#include "gym/python/python_listener.h"
#include "gym/python/wrappers.h"
#include "gym/search/session.h"
#include "gym/search/trial_time.h"

namespace msc::gym {

/// Lock on an object that is not thread-safe, held while its methods run without Python's lock.
class Turn {
 public:
  /// Takes the lock. UserError if another thread holds it.
  explicit Turn(std::atomic<bool>& taken);
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { taken_ = false; }

 private:
  std::atomic<bool>& taken_;
};

/// Returns the envs that need no model.
[[nodiscard]] envs::EnvRegistry ToyEnvs();

/// An env for Python, made from an id and a config or by wrapping another one.
class PythonEnv {
 public:
  /// `config` is a search's config as JSON, with paths relative to `base`; `program` is the path of
  /// mscgym.
  PythonEnv(const std::string& id, const std::optional<std::string>& config,
            const std::string& base, const std::string& program, const SessionOptions& options);
  /// Wraps `inner`, which outlives this object.
  PythonEnv(PythonEnv& inner, const EnvWrapper& wrapper);

  /// Returns another env on the same loaded and prepared model, which this object must outlive.
  /// InternalError unless this env was made from an id.
  [[nodiscard]] std::unique_ptr<PythonEnv> Another();

  [[nodiscard]] const Env& env() const { return *live_; }
  [[nodiscard]] Env& env() { return *live_; }
  /// Returns the flag of Turn, shared by all envs on one model.
  [[nodiscard]] std::atomic<bool>& taken() { return inner_ != nullptr ? inner_->taken() : taken_; }
  /// Returns notes on the keys of a config of the original MSC.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Returns the resolved config; nothing if the env was made without one.
  [[nodiscard]] std::optional<std::string> Config();
  /// Runs a trial unless one was timed before. Returns nothing for an env without a config, whose
  /// trials take no time, and if `stop` returned true.
  [[nodiscard]] std::optional<TrialTime> TimeOneTrial(const std::function<bool()>& stop);
  /// Returns the search problem. UserError if the env has none.
  [[nodiscard]] SearchProblem& problem();

 private:
  PythonEnv(PythonEnv& inner, std::unique_ptr<Env> env);

  PythonListener listener_;
  std::vector<std::string> notes_;
  std::optional<SearchSession> session_;
  std::unique_ptr<Env> env_;    // if there is no session
  Env* live_ = nullptr;         // env_, or the session's
  PythonEnv* inner_ = nullptr;  // the wrapped env or the owner of the session
  std::atomic<bool> taken_ = false;
};

/// Adds the class Env.
void AddEnv(pybind11::module_& core);

}  // namespace msc::gym
