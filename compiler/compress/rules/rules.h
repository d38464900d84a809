#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// What a tool does where: rules that pick tensors by name, by the operator that makes or reads
// them, by its type, by a mark, or by default. Each tool translates its rules into its own options
// (pipeline/tool_rules.h).

/// A method and its options. Booleans are 1 and 0 in `numbers`; lists and objects are JSON text in
/// `words`.
struct RuleMethod {
  std::string name;
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> words;
  bool operator==(const RuleMethod&) const = default;
};

/// A rule: which tensors it picks, at which stages, and the method for them.
struct ToolRule {
  std::string by = "default";      ///< "tensor", "op_name", "op_type", "mark" or "default"
  std::vector<std::string> names;  ///< the names picked; empty for "default"
  /// Which tensors of an operator: "input", "output", "weights", or one type of weights: "weight",
  /// "bias", "gamma", "beta", "mean", "var", "slope". "tensor" for a rule by tensor, "mark" for one
  /// by mark.
  std::string of = "weights";
  std::vector<std::string> stages;  ///< "default" stands for stages without a rule of their own
  RuleMethod method;
  bool operator==(const ToolRule&) const = default;
};

/// Rules, looked up in a fixed order. Later rules replace earlier ones with the same place (by,
/// name, of) and stage.
class RuleBook {
 public:
  /// `marks` maps each mark to names of values.
  explicit RuleBook(std::vector<ToolRule> rules,
                    std::map<std::string, std::vector<std::string>> marks = {});

  /// Returns the method for the constant that a node reads as its input `input`. The first of these
  /// that has a rule decides: the constant as read by this node ("NAME-c-NODE"); the constant; its
  /// type of weight by node, by type of node, by default; "weights" in the same order. nullptr if
  /// there is no rule, or the deciding one does not cover `stage`.
  [[nodiscard]] const RuleMethod* ForWeight(const Graph& graph, NodeId node, std::size_t input,
                                            std::string_view stage) const;
  /// Returns the methods for a value as `reader` reads it, or as a graph output if `reader` is
  /// kNoNode. A rule for the value by name, as above, or by mark decides alone. Without one, there
  /// are up to two methods, in this order: of the producer's "output" and of the reader's "input",
  /// each by node, type or default. For a graph output the operator "exit" comes after the producer
  /// and before the default.
  [[nodiscard]] std::vector<const RuleMethod*> ForValue(const Graph& graph, ValueId value,
                                                        NodeId reader,
                                                        std::string_view stage) const;
  /// Returns the method for a mark itself, such as "loss".
  [[nodiscard]] const RuleMethod* ForMark(const std::string& mark, std::string_view stage) const;

  [[nodiscard]] const std::vector<ToolRule>& rules() const { return rules_; }
  /// Returns all methods with their stages.
  [[nodiscard]] std::vector<std::pair<std::string, const RuleMethod*>> Methods() const;
  /// Checks the names in rules. UserError, with the nearest known name, if a rule names an operator
  /// or a tensor that the graph does not have, an unknown type of operator, or a mark other than
  /// "loss" that lists nothing.
  void CheckNames(const Graph& graph) const;

 private:
  using Stages = std::map<std::string, std::size_t, std::less<>>;  ///< index of a rule by stage
  [[nodiscard]] const Stages* Find(const std::string& by, const std::string& name,
                                   const std::string& of) const;
  /// Finds the rules by name or type of a node.
  [[nodiscard]] const Stages* FindOwn(const Graph& graph, NodeId node, const std::string& of) const;
  /// Finds the rules by name, type or default of a node, for the first of `kinds` that has any.
  [[nodiscard]] const Stages* FindOf(const Graph& graph, NodeId node,
                                     const std::vector<std::string>& kinds) const;
  [[nodiscard]] const Stages* FindTensor(const Graph& graph, ValueId value, NodeId reader) const;
  [[nodiscard]] const RuleMethod* AtStage(const Stages* stages, std::string_view stage) const;

  std::vector<ToolRule> rules_;
  std::map<std::vector<std::string>, Stages> places_;  ///< by, name, of
  std::map<std::string, std::vector<std::string>> marks_;
};

/// Returns whether a node is of a type: an ONNX operator ("Conv"), or a name of the relax form
/// ("nn.conv2d", "msc.linear_bias"). Names with and without bias match alike, since folding adds
/// biases.
[[nodiscard]] bool IsOfType(const Graph& graph, const Node& node, std::string_view type);

/// The contents of a rules file.
struct RuleFile {
  /// "pruner", "quantizer", "distiller" or "tracker"; empty if the file does not say.
  std::string tool;
  std::vector<ToolRule> rules;
  std::map<std::string, std::vector<std::string>> marks;
};

/// Parses JSON of either form:
///   {"rules": [{"by": "op_type", "names": ["Conv"], "of": "weights", "stages": ["prune"],
///               "method": {"name": "l2", "density": 0.5}}], "marks": {"neck": ["relu7"]}}
///   [{"methods": {"weights": {"method_name": "per_channel", "density": 0.5}},
///     "op_types": ["nn.conv2d"], "stages": ["prune"]}]
/// The second form may also be the value of "strategys", which may be inside "tool_config". Rules
/// without stages are for `stage`. UserError begins with `what` and names the place; for unknown
/// keys, with the nearest known one.
[[nodiscard]] RuleFile ParseRules(std::string_view text, const std::string& what,
                                  const std::string& stage);

}  // namespace msc
