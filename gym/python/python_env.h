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

/// An env as Python has it: made of an id and a config, or of another one.
class PythonEnv {
 public:
  /// `config` is a search's, with paths relative to `base`.
  PythonEnv(const std::string& id, const std::optional<std::string>& config,
            const std::string& base, const SessionOptions& options);
  /// `inner` seen through a wrapper; outlives this.
  PythonEnv(PythonEnv& inner, const EnvWrapper& wrapper);

  /// Another one like it on the same model, which was read and prepared once; outlived by this.
  /// InternalError of what is not made by an id.
  [[nodiscard]] std::unique_ptr<PythonEnv> Another();

  [[nodiscard]] const Env& env() const { return *live_; }
  [[nodiscard]] Env& env() { return *live_; }
  /// Of all that share a model.
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
  PythonEnv(PythonEnv& inner, std::unique_ptr<Env> env);

  std::vector<std::string> notes_;
  std::optional<SearchSession> session_;
  std::unique_ptr<Env> env_;    // of what has no session
  Env* live_ = nullptr;         // either's
  PythonEnv* inner_ = nullptr;  // that this lives on
  std::atomic<bool> taken_ = false;
};

/// The class Env.
void AddEnv(pybind11::module_& core);

}  // namespace msc::gym
