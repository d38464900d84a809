#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "envs/register.h"
#include "gym/app/search_session.h"
#include "gym/app/trial_time.h"
#include "gym/core/env.h"
#include "gym/core/problem.h"
#include "gym/python/wrappers.h"

namespace msc::gym {

/// Held while an object that is not thread-safe is in use, since others may run meanwhile.
class Turn {
 public:
  /// UserError if another holds it.
  explicit Turn(std::atomic<bool>& taken);
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { taken_ = false; }

 private:
  std::atomic<bool>& taken_;
};

/// Those that there are.
[[nodiscard]] envs::EnvRegistry Envs();

/// An env as Python has it: made of an id and a config, or seen through a wrapper.
class PythonEnv {
 public:
  /// `config` is a search's, with paths relative to `base`.
  PythonEnv(const std::string& id, const std::optional<std::string>& config,
            const std::string& base, const SessionOptions& options);
  /// `inner` seen through a wrapper; outlives this.
  PythonEnv(PythonEnv& inner, const EnvWrapper& wrapper);

  [[nodiscard]] const Env& env() const { return *live_; }
  [[nodiscard]] Env& env() { return *live_; }
  [[nodiscard]] std::atomic<bool>& taken() { return inner_ != nullptr ? inner_->taken() : taken_; }
  /// What became of keys of the original MSC.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Resolved; none of an env that is made without.
  [[nodiscard]] std::optional<std::string> Config();
  /// One trial, made where none was timed yet; nothing of an env that is made without a config,
  /// whose trials take no time, and where `stop` said true.
  [[nodiscard]] std::optional<TrialTime> TimeOneTrial(const std::function<bool()>& stop);
  /// UserError if it has none.
  [[nodiscard]] SearchProblem& problem();

 private:
  std::vector<std::string> notes_;
  std::optional<SearchSession> session_;
  std::unique_ptr<Env> env_;  // of an env without a session
  Env* live_ = nullptr;       // either's
  PythonEnv* inner_ = nullptr;
  std::atomic<bool> taken_ = false;
};

/// The class Env.
void AddEnv(pybind11::module_& core);

}  // namespace msc::gym
