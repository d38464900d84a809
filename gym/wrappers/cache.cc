#include "gym/wrappers/cache.h"

#include <map>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "gym/wrappers/wrap.h"

namespace msc::gym {
namespace {

struct Played {
  std::size_t most = 0;
  std::string path;                        ///< first observation, reset options and actions so far
  std::map<std::string, StepResult> ends;  ///< last step by path of the whole episode
};

std::string TextOf(const std::variant<double, std::string>& option) {
  const auto* const text = std::get_if<std::string>(&option);
  return ToString(text != nullptr ? Point{*text}
                                  : Point{std::vector<double>{std::get<double>(option)}});
}

}  // namespace

std::unique_ptr<Env> WithCache(std::unique_ptr<Env> env, std::size_t most) {
  if (most < 1) throw UserError("a cache must have room for at least 1 episode");
  auto played = std::make_shared<Played>();
  played->most = most;
  return WrapEnv(std::move(env),
                 {.after_reset =
                      [played](std::optional<std::uint64_t> /*seed*/, const ResetOptions& options,
                               ResetResult& result) {
                        played->path = ToString(result.observation);
                        for (const auto& [name, value] : options) {
                          played->path += ToString(Point{name}) + TextOf(value);
                        }
                      },
                  .instead_of_step = [played](const Point& action) -> std::optional<StepResult> {
                    played->path += ";" + ToString(action);
                    const auto end = played->ends.find(played->path);
                    if (end == played->ends.end()) return std::nullopt;
                    return end->second;
                  },
                  .after_step =
                      [played](const Point& /*action*/, StepResult& result) {
                        const bool ended = result.terminated || result.truncated;
                        if (ended && played->ends.size() < played->most) {
                          played->ends.emplace(played->path, result);
                        }
                      }});
}

}  // namespace msc::gym
