#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "gym/core/env.h"
#include "gym/core/registry.h"

namespace msc::gym {

/// Description of an env that is available without making one.
struct EnvSpec {
  std::string id;                              ///< "Quantize-v0", "Toy/OneMax-v0"
  std::string summary;                         ///< one line for `mscgym list envs`
  bool nondeterministic = false;               ///< rewards come from measurements
  std::optional<std::int64_t> max_steps = {};  ///< if it does not depend on the factory's arguments
};

/// Throws UserError unless `id` is "Name-vN" or "namespace/Name-vN": letters, digits and "_:.-" in
/// the names (no '.' in a namespace), N without leading zeros. From the first release on, N
/// increases whenever rewards or spaces change. Source: Gymnasium 1.x documentation, "Registry".
void CheckEnvId(std::string_view id);
/// Throws InternalError unless the facts of an env agree with its spec.
void CheckKeepsSpec(const EnvFacts& facts, const EnvSpec& spec);

/// Maps ids to specs and factories of envs. `Args` are the arguments that a factory takes.
template <class... Args>
class EnvRegistry {
 public:
  using Factory = typename Registry<Env, Args...>::Factory;

  /// Adds an env. Throws UserError if the id is malformed, InternalError if it is taken.
  void Add(EnvSpec spec, Factory make) {
    CheckEnvId(spec.id);
    makers_.Add(spec.id, spec.summary, std::move(make));
    std::string id = spec.id;
    specs_.emplace(std::move(id), std::move(spec));
  }
  /// Makes the env `id`. Throws UserError, listing the known ids, if `id` is unknown.
  [[nodiscard]] std::unique_ptr<Env> Make(std::string_view id, Args... args) const {
    std::unique_ptr<Env> env = makers_.Make(id, std::forward<Args>(args)...);
    Check(env != nullptr, "a factory makes an env");
    CheckKeepsSpec(env->facts(), specs_.find(id)->second);
    return env;
  }
  /// Returns all specs in order of id.
  [[nodiscard]] std::vector<EnvSpec> Specs() const {
    std::vector<EnvSpec> specs;
    for (const auto& [id, spec] : specs_) specs.push_back(spec);
    return specs;
  }

 private:
  Registry<Env, Args...> makers_;
  std::map<std::string, EnvSpec, std::less<>> specs_;
};

}  // namespace msc::gym
