#include "gym/core/playthrough.h"

namespace msc::gym {

namespace {

std::string Print(const Notes& notes) {
  PointMap parts;
  for (const auto& [name, note] : notes) {
    const auto* number = std::get_if<double>(&note);
    parts[name] = number != nullptr ? Point{std::vector<double>{*number}}
                                    : Point{std::get<std::string>(note)};
  }
  return ToString(Point{std::make_shared<const PointMap>(std::move(parts))});
}

std::string Legal(const Env& env) {
  const std::vector<bool> mask = env.ActionMask();
  if (mask.empty()) return "";
  const std::int64_t start = std::get<Discrete>(env.action_space().kind()).start;
  std::vector<std::int64_t> legal;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i]) legal.push_back(start + static_cast<std::int64_t>(i));
  }
  return " legal=" + ToString(Point{std::move(legal)});
}

}  // namespace

std::vector<std::string> PlayEpisode(Env& env, const EpisodeSetup& setup) {
  Rng rng(setup.action_seed);
  const ResetResult start = env.Reset(setup.seed);
  std::vector<std::string> lines = {"reset observation=" + ToString(start.observation) +
                                    " info=" + Print(start.info)};
  for (std::int64_t step = 0; step < setup.max_steps; ++step) {
    std::string line = "step" + Legal(env);
    const Point action = SampleAction(env, rng);
    const StepResult result = env.Step(action);
    line += " action=" + ToString(action) +
            " reward=" + ToString(Point{std::vector<double>{result.reward}});
    if (result.terminated) line += " terminated";
    if (result.truncated) line += " truncated";
    lines.push_back(line + " observation=" + ToString(result.observation) +
                    " info=" + Print(result.info));
    if (result.terminated || result.truncated) break;
  }
  return lines;
}

std::string Playthrough(Env& env, std::uint64_t seed, std::int64_t episodes) {
  const EnvFacts& facts = env.facts();
  std::string text = "id: " + facts.id + "\n";
  text += std::string("nondeterministic: ") + (facts.nondeterministic ? "yes" : "no") + "\n";
  text += "max_steps: " + (facts.max_steps ? std::to_string(*facts.max_steps) : "none") + "\n";
  text += "observation_space: " + env.observation_space().ToString() + "\n";
  text += "action_space: " + env.action_space().ToString() + "\n";
  std::optional<std::uint64_t> first = seed;
  for (std::int64_t episode = 0; episode < episodes; ++episode) {
    // A stream of actions for each episode, whatever the length of those before it.
    const std::uint64_t action_seed = MixSeed({seed, static_cast<std::uint64_t>(episode)});
    text += "\n";
    for (const std::string& line : PlayEpisode(env, {.seed = first, .action_seed = action_seed})) {
      text += line + "\n";
    }
    text += env.Render();
    // Later resets go on with the env's own random stream.
    first.reset();
  }
  return text;
}

}  // namespace msc::gym
