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
// them, by its type, by a mark, or all the rest. Tools translate them into what they are asked for
// otherwise (pipeline/tool_rules.h).

/// A method by name with its options; true and false are 1 and 0, lists and objects their JSON.
struct RuleMethod {
  std::string name;
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> words;
  bool operator==(const RuleMethod&) const = default;
};

struct ToolRule {
  std::string by = "default";      ///< "tensor", "op_name", "op_type", "mark" or "default"
  std::vector<std::string> names;  ///< what is picked; empty for "default" alone
  /// Which of an operator's tensors: "input", "output", "weights", or one type of these: "weight",
  /// "bias", "gamma", "beta", "mean", "var", "slope". "tensor" by tensor, "mark" by mark.
  std::string of = "weights";
  std::vector<std::string> stages;  ///< "default" stands for those without a rule of their own
  RuleMethod method;
  bool operator==(const ToolRule&) const = default;
};

/// Rules with the order in which they are looked up. Later rules replace earlier ones of the same
/// place and stage.
class RuleBook {
 public:
  /// `marks`: names of values by mark.
  explicit RuleBook(std::vector<ToolRule> rules,
                    std::map<std::string, std::vector<std::string>> marks = {});

  /// For the constant that a node reads as its input `input`. The first that exists of: the
  /// constant as this node reads it ("NAME-c-NODE"); the constant; for the type of weight the rule
  /// of the node, of its operator's type, and by default; for "weights" the same three. nullptr
  /// where none is, or the one that is says nothing about `stage`.
  [[nodiscard]] const RuleMethod* ForWeight(const Graph& graph, NodeId node, std::size_t input,
                                            std::string_view stage) const;
  /// For a value as a node reads it, or as a graph output where `reader` is kNoNode. The value by
  /// name, as above, or by mark, is all there is; else what its producer's "output" and its
  /// reader's "input" say, each by name, type or default: up to two, in this order. For a graph
  /// output the operator "exit" comes between its producer and the default.
  [[nodiscard]] std::vector<const RuleMethod*> ForValue(const Graph& graph, ValueId value,
                                                        NodeId reader,
                                                        std::string_view stage) const;
  /// For a mark by itself, such as "loss".
  [[nodiscard]] const RuleMethod* ForMark(const std::string& mark, std::string_view stage) const;

  [[nodiscard]] const std::vector<ToolRule>& rules() const { return rules_; }
  /// All methods with their stages.
  [[nodiscard]] std::vector<std::pair<std::string, const RuleMethod*>> Methods() const;
  /// UserError where a rule names an operator or a tensor that the graph does not have, a type of
  /// operator that there is not, or a mark other than "loss" that lists nothing, with the nearest
  /// name.
  void CheckNames(const Graph& graph) const;

 private:
  using Stages = std::map<std::string, std::size_t, std::less<>>;  ///< rule by stage
  [[nodiscard]] const Stages* Find(const std::string& by, const std::string& name,
                                   const std::string& of) const;
  /// By name or type of a node.
  [[nodiscard]] const Stages* FindOwn(const Graph& graph, NodeId node, const std::string& of) const;
  /// By name, type or default of a node, for the first of `kinds` that has one.
  [[nodiscard]] const Stages* FindOf(const Graph& graph, NodeId node,
                                     const std::vector<std::string>& kinds) const;
  [[nodiscard]] const Stages* FindTensor(const Graph& graph, ValueId value, NodeId reader) const;
  [[nodiscard]] const RuleMethod* AtStage(const Stages* stages, std::string_view stage) const;

  std::vector<ToolRule> rules_;
  std::map<std::vector<std::string>, Stages> places_;  ///< by, name, of
  std::map<std::string, std::vector<std::string>> marks_;
};

/// Whether a node is of a type: an ONNX operator ("Conv"), or a name of the form that others use
/// ("nn.conv2d", "msc.linear_bias"), with or without bias, which folding adds.
[[nodiscard]] bool IsOfType(const Graph& graph, const Node& node, std::string_view type);

/// A file of rules: those and the marks they use.
struct RuleFile {
  /// "pruner", "quantizer", "distiller", "tracker", or empty where it is not said.
  std::string tool;
  std::vector<ToolRule> rules;
  std::map<std::string, std::vector<std::string>> marks;
};

/// Reads JSON of either form:
///   {"rules": [{"by": "op_type", "names": ["Conv"], "of": "weights", "stages": ["prune"],
///               "method": {"name": "l2", "density": 0.5}}], "marks": {"neck": ["relu7"]}}
///   [{"methods": {"weights": {"method_name": "per_channel", "density": 0.5}},
///     "op_types": ["nn.conv2d"], "stages": ["prune"]}]
/// the latter also behind "strategys", and that behind "tool_config". Rules without stages are for
/// `stage`. UserError starting with `what` and naming the place; unknown keys with the nearest one.
[[nodiscard]] RuleFile ParseRules(std::string_view text, const std::string& what,
                                  const std::string& stage);

}  // namespace msc
