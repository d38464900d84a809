#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace msc {
class Rng;
}  // namespace msc

namespace msc::gym {

/// One choice to make out of a finite list.
struct Decision {
  std::string name;                       ///< "conv1"
  std::vector<std::string> choices = {};  ///< "f32", "bf16", "int8"; never empty
  /// The quantity that `values` measure, such as "density" or "bits"; empty if choices are only
  /// names.
  std::string quantity = {};
  /// One finite value per choice; empty if choices are only names.
  std::vector<double> values = {};
  bool operator==(const Decision&) const = default;
  /// Returns whether choices are amounts with an order, not only names.
  [[nodiscard]] bool ordinal() const { return !values.empty(); }
  static void Fields(auto& self, auto& visit) {
    visit("name", self.name, "name of the decision");
    visit("choices", self.choices, "choices of the decision");
    visit("quantity", self.quantity, "quantity of `values`; empty if choices are names");
    visit("values", self.values, "amounts that the choices stand for; empty if they are names");
  }
};

/// One choice index per decision.
using Assignment = std::vector<std::int32_t>;

/// Throws UserError, naming the decision, unless `assignment` has one choice per decision, in
/// range.
void CheckAssignment(std::span<const Decision> decisions, std::span<const std::int32_t> assignment);
/// Throws UserError unless there is at least one decision, every name is unique and not empty, each
/// decision has choices with unique names, and each decision with a quantity has a finite value for
/// each choice.
void CheckDecisions(std::span<const Decision> decisions);

/// Returns one flag for each choice of the decision that follows `prefix`: whether it is legal
/// after those choices. At least one flag is set. Empty flags, or an empty function, mean that all
/// are legal.
using ChoiceMask = std::function<std::vector<bool>(std::span<const std::int32_t> prefix)>;

/// Returns whether every choice is legal after those before it. `assignment` is in range.
[[nodiscard]] bool IsLegal(const ChoiceMask& mask, const Assignment& assignment);
/// Throws UserError unless `assignment` has one choice per decision, in range, each legal after
/// those before it.
void CheckLegal(std::span<const Decision> decisions, const ChoiceMask& mask,
                const Assignment& assignment);
/// Returns a legal assignment near `assignment`: decision by decision the legal choice with the
/// nearest index, the lower one of two. A legal assignment is returned as it is. `assignment` is in
/// range.
[[nodiscard]] Assignment MakeLegal(const ChoiceMask& mask, Assignment assignment);
/// Draws the decisions in their order, each uniformly from its legal choices.
[[nodiscard]] Assignment DrawLegal(std::span<const Decision> decisions, const ChoiceMask& mask,
                                   Rng& rng);

/// Returns the choices by decision name as JSON text, in the order of the decisions:
/// {"conv1":"int8"}. Throws UserError if the assignment does not fit.
[[nodiscard]] std::string ChoicesAsJson(std::span<const Decision> decisions,
                                        const Assignment& assignment);
/// Returns the product of the numbers of choices; infinity if it overflows a double.
[[nodiscard]] double SpaceSize(std::span<const Decision> decisions);
}  // namespace msc::gym
