#include "compiler/compress/rules/rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/nearest.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

/// Stands for the reader of the model's outputs.
constexpr std::string_view kExit = "exit";

/// Names of operator types in the form of tools over relax.
struct TypeRow {
  std::string_view type;
  std::string_view op;
  std::size_t rank = 0;  ///< spatial dimensions; 0 = any number
};
constexpr std::array kTypes = {
    TypeRow{"nn.conv1d", "Conv", 1},
    TypeRow{"nn.conv2d", "Conv", 2},
    TypeRow{"nn.conv3d", "Conv", 3},
    TypeRow{"msc.conv1d_bias", "Conv", 1},
    TypeRow{"msc.conv2d_bias", "Conv", 2},
    TypeRow{"msc.conv3d_bias", "Conv", 3},
    TypeRow{"nn.conv1d_transpose", "ConvTranspose", 1},
    TypeRow{"nn.conv2d_transpose", "ConvTranspose", 2},
    TypeRow{"nn.dense", "Gemm"},
    TypeRow{"nn.dense", "MatMul"},
    TypeRow{"msc.linear", "Gemm"},
    TypeRow{"msc.linear", "MatMul"},
    TypeRow{"msc.linear_bias", "Gemm"},
    TypeRow{"msc.linear_bias", "MatMul"},
    TypeRow{"matmul", "MatMul"},
    TypeRow{"msc.matmul", "MatMul"},
    TypeRow{"nn.batch_norm", "BatchNormalization"},
    TypeRow{"nn.layer_norm", "LayerNormalization"},
    TypeRow{"nn.relu", "Relu"},
    TypeRow{"nn.prelu", "PRelu"},
    TypeRow{"nn.leakyrelu", "LeakyRelu"},
    TypeRow{"nn.gelu", "Gelu"},
    TypeRow{"nn.softmax", "Softmax"},
    TypeRow{"nn.log_softmax", "LogSoftmax"},
    TypeRow{"nn.max_pool1d", "MaxPool", 1},
    TypeRow{"nn.max_pool2d", "MaxPool", 2},
    TypeRow{"nn.max_pool3d", "MaxPool", 3},
    TypeRow{"nn.avg_pool1d", "AveragePool", 1},
    TypeRow{"nn.avg_pool2d", "AveragePool", 2},
    TypeRow{"nn.avg_pool3d", "AveragePool", 3},
    TypeRow{"nn.adaptive_avg_pool2d", "GlobalAveragePool", 2},
    TypeRow{"nn.pad", "Pad"},
    TypeRow{"add", "Add"},
    TypeRow{"subtract", "Sub"},
    TypeRow{"multiply", "Mul"},
    TypeRow{"divide", "Div"},
    TypeRow{"concat", "Concat"},
    TypeRow{"concatenate", "Concat"},
    TypeRow{"split", "Split"},
    TypeRow{"reshape", "Reshape"},
    TypeRow{"permute_dims", "Transpose"},
    TypeRow{"transpose", "Transpose"},
    TypeRow{"squeeze", "Squeeze"},
    TypeRow{"clip", "Clip"},
    TypeRow{"sigmoid", "Sigmoid"},
    TypeRow{"tanh", "Tanh"},
    TypeRow{"mean", "ReduceMean"},
};

/// Returns the type of weight of a node's constant input.
std::string WeightType(const Node& node, std::size_t input) {
  if (node.Is("BatchNormalization")) {
    constexpr std::array kNames = {"", "gamma", "beta", "mean", "var"};
    return input < kNames.size() ? kNames.at(input) : "";
  }
  if (node.Is("LayerNormalization") || node.Is("InstanceNormalization")) {
    return input == 1 ? "gamma" : "beta";
  }
  if (node.Is("PRelu")) return "slope";
  return input == 1 ? "weight" : "bias";
}

}  // namespace

bool IsOfType(const Graph& graph, const Node& node, std::string_view type) {
  if (node.op == type) return true;
  return std::any_of(kTypes.begin(), kTypes.end(), [&](const TypeRow& row) {
    if (row.type != type || !node.Is(row.op)) return false;
    if (row.rank == 0) return true;
    const auto& shape = graph.type(node.inputs.at(0)).shape;
    return shape && shape->size() == row.rank + 2;
  });
}

RuleBook::RuleBook(std::vector<ToolRule> rules,
                   std::map<std::string, std::vector<std::string>> marks)
    : rules_(std::move(rules)), marks_(std::move(marks)) {
  const std::vector<std::string> all = {""};
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const ToolRule& rule = rules_[i];
    for (const std::string& name : rule.by == "default" ? all : rule.names) {
      for (const std::string& stage : rule.stages) {
        places_[{rule.by, name, rule.of}].insert_or_assign(stage, i);
      }
    }
  }
}

const RuleBook::Stages* RuleBook::Find(const std::string& by, const std::string& name,
                                       const std::string& of) const {
  const auto it = places_.find({by, name, of});
  return it == places_.end() ? nullptr : &it->second;
}

const RuleBook::Stages* RuleBook::FindOwn(const Graph& graph, NodeId node,
                                          const std::string& of) const {
  if (node == kNoNode) return nullptr;
  const Node& found = graph.node(node);
  // The name of a node is more specific than its type.
  if (const Stages* stages = Find("op_name", found.name, of)) return stages;
  for (const auto& [place, stages] : places_) {
    if (place[0] != "op_type" || place[2] != of) continue;
    if (IsOfType(graph, found, place[1])) return &stages;
  }
  return nullptr;
}

const RuleBook::Stages* RuleBook::FindOf(const Graph& graph, NodeId node,
                                         const std::vector<std::string>& kinds) const {
  for (const std::string& kind : kinds) {
    if (const Stages* stages = FindOwn(graph, node, kind)) return stages;
    if (const Stages* stages = Find("default", "", kind)) return stages;
  }
  return nullptr;
}

const RuleBook::Stages* RuleBook::FindTensor(const Graph& graph, ValueId value,
                                             NodeId reader) const {
  const std::string& name = graph.value(value).name;
  // From the most specific to the least: one use of the value, the value, its marks.
  const std::string at = reader == kNoNode ? std::string(kExit) : graph.node(reader).name;
  if (const Stages* stages = Find("tensor", name + "-c-" + at, "tensor")) return stages;
  if (const Stages* stages = Find("tensor", name, "tensor")) return stages;
  for (const auto& [mark, values] : marks_) {
    if (std::find(values.begin(), values.end(), name) == values.end()) continue;
    if (const Stages* stages = Find("mark", mark, "mark")) return stages;
  }
  return nullptr;
}

const RuleMethod* RuleBook::AtStage(const Stages* stages, std::string_view stage) const {
  if (stages == nullptr) return nullptr;
  auto it = stages->find(stage);
  if (it == stages->end()) it = stages->find(std::string_view("default"));
  return it == stages->end() ? nullptr : &rules_[it->second].method;
}

const RuleMethod* RuleBook::ForWeight(const Graph& graph, NodeId node, std::size_t input,
                                      std::string_view stage) const {
  const Node& reader = graph.node(node);
  const Stages* stages = FindTensor(graph, reader.inputs.at(input), node);
  if (stages == nullptr) stages = FindOf(graph, node, {WeightType(reader, input), "weights"});
  return AtStage(stages, stage);
}

std::vector<const RuleMethod*> RuleBook::ForValue(const Graph& graph, ValueId value, NodeId reader,
                                                  std::string_view stage) const {
  std::vector<const RuleMethod*> methods;
  const auto add = [&](const Stages* stages) {
    if (const RuleMethod* method = AtStage(stages, stage)) methods.push_back(method);
  };
  if (const Stages* stages = FindTensor(graph, value, reader)) {
    add(stages);
    return methods;
  }
  const NodeId producer = graph.producer(value);
  const bool leaves = reader == kNoNode && graph.IsOutput(value);
  const Stages* const exit = leaves && FindOwn(graph, producer, "output") == nullptr
                                 ? Find("op_name", std::string(kExit), "output")
                                 : nullptr;
  add(exit != nullptr ? exit : FindOf(graph, producer, {"output"}));
  if (reader != kNoNode) add(FindOf(graph, reader, {"input"}));
  return methods;
}

const RuleMethod* RuleBook::ForMark(const std::string& mark, std::string_view stage) const {
  return AtStage(Find("mark", mark, "mark"), stage);
}

std::vector<std::pair<std::string, const RuleMethod*>> RuleBook::Methods() const {
  std::vector<std::pair<std::string, const RuleMethod*>> all;
  for (const auto& [place, stages] : places_) {
    for (const auto& [stage, rule] : stages) all.emplace_back(stage, &rules_[rule].method);
  }
  return all;
}

void RuleBook::CheckNames(const Graph& graph) const {
  std::vector<std::string> nodes = {std::string(kExit)};
  for (const NodeId id : graph.order()) nodes.push_back(graph.node(id).name);
  std::vector<std::string> values;
  for (const ValueId id : graph.values()) values.push_back(graph.value(id).name);
  std::vector<std::string> types;
  for (const OpDef* def : Ops().All()) types.emplace_back(def->name);
  for (const TypeRow& row : kTypes) types.emplace_back(row.type);
  for (const NodeId id : graph.order()) types.push_back(graph.node(id).op);
  std::vector<std::string> marks = {"loss"};
  for (const auto& [mark, names] : marks_) marks.push_back(mark);
  const auto check = [](const std::string& name, const std::vector<std::string>& known,
                        const char* what) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    throw UserError(std::string(what) + " '" + name + "'" + DidYouMean(name, known));
  };
  constexpr const char* kNoNodeThere = "a rule names a node that is not there,";
  const auto check_value = [&](const std::string& name) {
    const std::size_t at = name.rfind("-c-");
    // A value may itself be called "A-c-B"; only otherwise is the name one of a reader.
    const bool has_reader =
        at != std::string::npos && std::find(values.begin(), values.end(), name) == values.end();
    check(has_reader ? name.substr(0, at) : name, values,
          "a rule names a tensor that is not there,");
    const std::string reader = has_reader ? name.substr(at + 3) : std::string(kExit);
    check(reader, nodes, kNoNodeThere);
  };
  for (const auto& [place, stages] : places_) {
    if (place[0] == "op_name") check(place[1], nodes, kNoNodeThere);
    if (place[0] == "op_type") check(place[1], types, "a rule names an unknown operator type,");
    if (place[0] == "tensor") check_value(place[1]);
    if (place[0] == "mark") check(place[1], marks, "a rule names a mark that lists nothing,");
  }
  for (const auto& [mark, names] : marks_) {
    for (const std::string& name : names) check_value(name);
  }
}

}  // namespace msc
