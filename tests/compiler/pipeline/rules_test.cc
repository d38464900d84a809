#include "compiler/compress/rules/rules.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/file.h"
#include "compiler/base/nearest.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/samples.h"
#include "compiler/pipeline/tool_rules.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

// conv2's channels go with the input's: a sum. conv1, conv3 and depth can be cut.
constexpr const char* kNet = R"(graph net {
  input %x : f32[n,8,6,6]
  const %w1 : f32[16,8,3,3] = random 1
  const %b1 : f32[16] = random 2
  const %w2 : f32[8,16,3,3] = random 3
  const %b2 : f32[8] = random 4
  const %w3 : f32[12,8,1,1] = random 5
  const %w4 : f32[12,1,3,3] = random 6
  const %w5 : f32[432,5] = random 7
  const %b5 : f32[5] = random 8
  %c1 = Conv(%x, %w1, %b1) @conv1 {pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @relu1
  %c2 = Conv(%r1, %w2, %b2) @conv2 {pads = [1, 1, 1, 1]}
  %s = Add(%c2, %x) @sum
  %c3 = Conv(%s, %w3) @conv3
  %c4 = Conv(%c3, %w4) @depth {group = 12, pads = [1, 1, 1, 1]}
  %r4 = Relu(%c4) @relu4
  %f = Flatten(%r4) @flat
  %y = Gemm(%f, %w5, %b5) @fc
  output %y
})";

Graph Net() {
  Graph graph = ParseGraph(kNet);
  InferTypes(graph);
  return graph;
}

RuleBook Book(const std::string& json, const std::string& stage = "default") {
  RuleFile file = ParseRules(json, "rules", stage);
  return RuleBook(file.rules, file.marks);
}

/// A list of strategies as the originals write them, one method each.
std::string Strategy(const std::string& of, const std::string& method,
                     const std::string& selector = "", const std::string& stages = "") {
  return R"({"methods": {")" + of + R"(": )" + method + "}" +
         (selector.empty() ? "" : ", " + selector) +
         (stages.empty() ? "" : R"(, "stages": )" + stages) + "}";
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "[" : ", ") + part;
  return text + "]";
}

std::string Repeated(const std::string& part, int times) {
  std::string text = part;
  for (int i = 1; i < times; ++i) text += ", " + part;
  return text;
}

std::string NameOf(const RuleMethod* method) {
  return method == nullptr ? "none" : method->name;
}

std::string NamesOf(const std::vector<const RuleMethod*>& methods) {
  std::string names;
  for (const RuleMethod* method : methods) names += (names.empty() ? "" : " ") + method->name;
  return names;
}

TEST(Rules, AreLookedUpFromTheTensorToTheDefault) {
  const Graph graph = Net();
  const NodeId conv1 = graph.FindNode("conv1");
  // From the weakest to the strongest; each time the one that was added last decides.
  const std::vector<std::string> weights = {
      Strategy("weights", R"("a")"),
      Strategy("weights", R"("b")", R"("op_types": ["nn.conv2d"])"),
      Strategy("weights", R"("c")", R"("op_names": ["conv1", "conv2"])"),
      Strategy("weight", R"("d")"),
      Strategy("weight", R"("e")", R"("op_types": ["msc.conv2d_bias"])"),
      Strategy("weight", R"("f")", R"("op_names": ["conv1"])"),
      Strategy("tensor", R"("g")", R"("tensor_names": ["w1"])"),
      Strategy("tensor", R"("h")", R"("tensor_ids": ["w1-c-conv1"])")};
  std::vector<std::string> so_far;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    so_far.insert(so_far.begin(), weights[i]);  // the order of the file does not matter
    const RuleBook book = Book(Joined(so_far));
    book.CheckNames(graph);
    EXPECT_EQ(NameOf(book.ForWeight(graph, conv1, 1, "any")),
              std::string(1, static_cast<char>('a' + i)));
    // A bias is one of the weights, but no weight.
    EXPECT_EQ(NameOf(book.ForWeight(graph, conv1, 2, "any")),
              std::string(1, static_cast<char>('a' + std::min<std::size_t>(i, 2))));
  }
  const RuleBook book = Book(Joined(so_far));
  EXPECT_EQ(NameOf(book.ForWeight(graph, graph.FindNode("conv2"), 1, "any")), "e");
  EXPECT_EQ(NameOf(book.ForWeight(graph, graph.FindNode("fc"), 1, "any")), "d");
  EXPECT_EQ(NameOf(book.ForWeight(graph, graph.FindNode("fc"), 2, "any")), "a");
}

TEST(Rules, OfAValueAreThoseOfItsProducerAndItsReader) {
  const Graph graph = Net();
  const ValueId r1 = graph.FindValue("r1");
  const NodeId conv2 = graph.FindNode("conv2");
  const auto names = [&](const std::vector<std::string>& strategies, NodeId reader) {
    return NamesOf(Book(Joined(strategies)).ForValue(graph, r1, reader, "s"));
  };
  std::vector<std::string> all = {Strategy("input", R"("in")", R"("op_types": ["Conv"])")};
  EXPECT_EQ(names(all, conv2), "in");
  EXPECT_EQ(names(all, kNoNode), "");
  all.push_back(Strategy("output", R"("out")", R"("op_types": ["nn.relu"])"));
  all.push_back(Strategy("input", R"("mine")", R"("op_names": ["conv2"])"));
  EXPECT_EQ(names(all, conv2), "out mine");
  EXPECT_EQ(names(all, kNoNode), "out");
  all.push_back(Strategy("tensor", R"("named")", R"("tensor_names": ["r1"])"));
  EXPECT_EQ(names(all, conv2), "named");
  all.push_back(Strategy("tensor", R"("edge")", R"("tensor_ids": ["r1-c-conv2"])"));
  EXPECT_EQ(names(all, conv2), "edge");
  EXPECT_EQ(names(all, kNoNode), "named");
}

TEST(Rules, AreKeptByStageAndLaterOnesReplaceEarlierOnes) {
  const Graph graph = Net();
  const NodeId fc = graph.FindNode("fc");
  const RuleBook book = Book(
      Joined({Strategy("weights", R"("a")", "", R"(["gather", "quantize"])"),
              Strategy("weights", R"("b")", "", R"(["quantize"])"), Strategy("input", R"("c")")}),
      "prune");
  EXPECT_EQ(NameOf(book.ForWeight(graph, fc, 1, "gather")), "a");
  EXPECT_EQ(NameOf(book.ForWeight(graph, fc, 1, "quantize")), "b");
  EXPECT_EQ(NameOf(book.ForWeight(graph, fc, 1, "calibrate")), "none");
  EXPECT_EQ(NamesOf(book.ForValue(graph, graph.FindValue("f"), fc, "prune")), "c");
  EXPECT_EQ(NamesOf(book.ForValue(graph, graph.FindValue("f"), fc, "quantize")), "");
}

TEST(Rules, ReadBothFormsAlike) {
  const RuleFile ours = ParseRules(
      R"({"rules": [{"by": "op_type", "names": ["nn.conv2d"], "of": "weights", "stages": ["prune"],
                     "method": {"name": "per_channel", "density": 0.5, "stride": 4}},
                    {"by": "mark", "names": ["neck"], "method": "keep"}],
          "marks": {"neck": ["r1"]}})",
      "rules", "prune");
  const std::string list = Joined(
      {Strategy("weights", R"({"method_name": "default.per_channel", "density": 0.5, "stride": 4})",
                R"("op_types": ["nn.conv2d"])", R"(["prune"])"),
       Strategy("mark", R"("keep")", R"("marks": ["neck"])")});
  const std::string marks = R"(, "marks": {"neck": ["r1"]}})";
  const RuleFile theirs = ParseRules(
      R"({"tool_type": "pruner", "tool_config": {"plan_file": "p.json", "options": {}, "strategys": )" +
          list + marks + "}",
      "rules", "prune");
  EXPECT_EQ(theirs.tool, "pruner");
  EXPECT_EQ(theirs.rules, ours.rules);
  EXPECT_EQ(theirs.marks, ours.marks);
  EXPECT_EQ(ParseRules(list, "rules", "prune").rules, ours.rules);
  const Graph graph = Net();
  const RuleBook book(ours.rules, ours.marks);
  EXPECT_EQ(NamesOf(book.ForValue(graph, graph.FindValue("r1"), graph.FindNode("conv2"), "prune")),
            "keep");
}

TEST(Rules, RefuseMistakesWithTheNearestWord) {
  const auto refusal = [](const std::string& json) {
    return Refusal([&] { Book(json).CheckNames(Net()); });
  };
  const std::vector<std::pair<std::string, std::string>> rows = {
      {R"({"strategies": []})", "rules: unknown key 'strategies'; did you mean 'strategys'?"},
      {R"([{"methods": {}, "optypes": ["Conv"]}])",
       "rules: unknown key '[0].optypes'; did you mean 'op_types'?"},
      {R"([{"op_types": ["Conv"]}])", "rules: '[0].methods' must be an object"},
      {Joined({Strategy("wieghts", R"("a")")}),
       "rules: unknown type of tensor 'wieghts'; did you mean 'weights'?"},
      {Joined({Strategy("weights", R"("a")", R"("op_types": ["Cnov"])")}),
       "a rule names an unknown operator type, 'Cnov'; did you mean 'Conv'?"},
      {Joined({Strategy("weights", R"("a")", R"("op_names": ["conv_1"])")}),
       "a rule names a node that is not there, 'conv_1'; did you mean 'conv1'?"},
      {Joined({Strategy("tensor", R"("a")", R"("tensor_ids": ["w9-c-conv1"])")}),
       "a rule names a tensor that is not there, 'w9'; did you mean 'w1'?"},
      {Joined({Strategy("tensor", R"("a")", R"("tensor_ids": ["w1-c-cnov1"])")}),
       "a rule names a node that is not there, 'cnov1'; did you mean 'conv1'?"},
      {Joined({Strategy("weights", R"("a")", R"("tensor_names": ["w1"])")}),
       "rules: a rule by tensor is for tensor, not 'weights'"},
      {Joined({Strategy("mark", R"("a")", R"("marks": ["neck"])")}),
       "a rule names a mark that lists nothing, 'neck'; known: loss"},
      {Joined({Strategy("tensor", R"("a")")}),
       "rules: a rule by default is for tensors of an operator, not 'tensor'"},
      {R"([{"methods": {"weights": "a"}, "op_types": ["Conv"], "op_names": ["fc"]}])",
       "rules: '[0]' selects in two ways; write two of them"},
      {R"([{"methods": {"weights": {"name": "a"}}}])",
       "rules: '[0].methods.weights' must be a name, or an object with 'method_name'"},
      {R"([{"methods": {"weights": "a"}, "stages": []}])",
       "rules: '[0].stages' must be a list of names"},
      {R"([{"methods": {"weights": "a"}, "stages": [)" + Repeated(R"("s")", 17) + "]}]",
       "rules: '[0].stages' lists too many"},
      {R"({"rules": [{"by": "op_tpye", "names": ["Conv"], "method": "a"}]})",
       "rules: 'rules[0].by' is 'op_tpye'; did you mean 'op_type'?"},
      {R"({"rules": [{"by": "op_type", "method": "a"}]})", "rules: 'rules[0]' needs 'names'"},
      {R"({"tool_type": "prunner", "tool_config": {}})",
       "rules: 'tool_type' is 'prunner'; did you mean 'pruner'?"},
      {R"({"tool_config": {"strategys": [], "options": {"a": 1}}})",
       "rules: 'tool_config.options' are given on the command line here"},
      {"7", "rules: must be an object"},
  };
  for (const auto& [json, message] : rows) EXPECT_EQ(refusal(json), message) << json;
  EXPECT_EQ(DidYouMean("zzz", {"alpha", "beta"}), "; known: alpha, beta");
}

TEST(PruneRules, CutGroupsByTheRuleOfTheirFirstLayer) {
  const Graph graph = Net();
  const PruneSpace space(graph);
  const RuleBook book = Book(
      Joined({Strategy("weights", R"({"method_name": "per_channel", "density": 0.5, "stride": 4})"),
              Strategy("output", R"({"method_name": "per_channel", "density": 0.5})"),
              Strategy("weights", R"({"method_name": "fpgm", "density": 0.75})",
                       R"("op_names": ["conv3"])"),
              Strategy("tensor", R"({"method_name": "per_channel", "density": 1})",
                       R"("tensor_names": ["w4"])")}),
      "prune");
  const PruneRules rules = ReadPruneRules(book, graph, space);
  EXPECT_EQ(rules.request.densities,
            (std::map<std::string, double>{{"conv1", 0.5}, {"conv3", 0.75}}));
  EXPECT_EQ(rules.request.alignments,
            (std::map<std::string, std::int64_t>{{"conv1", 4}, {"conv3", 1}}));
  EXPECT_EQ(rules.of_group.at("conv1"), ScoreMethod::kL1);
  EXPECT_EQ(rules.of_group.at("conv3"), ScoreMethod::kFpgm);
  const PrunePlan plan =
      ChoosePlan(graph, space, ScoreWeights(graph, space, ScoreMethod::kL1, 0), rules.request);
  EXPECT_EQ(plan.groups.at("conv1").keep.size(), 8U);
  EXPECT_EQ(plan.groups.at("conv3").keep.size(), 9U);
  const auto refusal = [&](const std::string& method) {
    return Refusal([&] {
      (void)ReadPruneRules(Book(Joined({Strategy("weights", method)}), "prune"), graph, space);
    });
  };
  EXPECT_EQ(refusal(R"("perchannel")"), "unknown method 'perchannel'; did you mean 'per_channel'?");
  EXPECT_EQ(Refusal([&] {
              (void)ReadPruneRules(
                  Book(Joined({Strategy("weights", R"("l2")", "", R"(["prun"])")})), graph, space);
            }),
            "a rule is for the stage 'prun', which this tool has not; did you mean 'prune'?");
  EXPECT_EQ(refusal(R"({"method_name": "l2", "densty": 1})"),
            "method 'l2' has no option 'densty'; did you mean 'density'?");
  EXPECT_EQ(refusal(R"({"method_name": "l2", "density": 0})"),
            "'density' of method 'l2' must be a number between 1e-09 and 1");
  EXPECT_EQ(refusal(R"({"method_name": "l2", "density": 0.5, "align": 1.5})"),
            "'align' of method 'l2' must be a whole number between 1 and 4096");
}

TEST(PruneRules, SayWhyANamedLayerCannotBeCut) {
  const Graph graph = Net();
  const PruneSpace space(graph);
  const auto read = [&](const std::string& names, const std::string& rest = "") {
    const std::string half = R"({"method_name": "l2", "density": 0.5})";
    std::vector<std::string> parts = {Strategy("weights", half, R"("op_names": [)" + names + "]")};
    if (!rest.empty()) parts.push_back(rest);
    return ReadPruneRules(Book(Joined(parts), "prune"), graph, space).request.densities;
  };
  const auto refusal = [&](const std::string& names) {
    return Refusal([&] { (void)read(names); });
  };
  EXPECT_EQ(refusal(R"("conv1", "fc")"),
            "layer 'fc' cannot be pruned: 'y' is an output of the model");
  EXPECT_EQ(refusal(R"("depth")"), "layer 'depth' is pruned with 'conv3': give that one a density");
  EXPECT_EQ(refusal(R"("relu1")"), "the model has no layer 'relu1' that can be pruned");
  using Densities = std::map<std::string, double>;
  EXPECT_EQ(read(R"("depth", "conv3")"), (Densities{{"conv3", 0.5}}));
  // What is not named is cut where it can be; what is to stay whole may be named.
  EXPECT_EQ(read(R"("conv1")", Strategy("weights", R"({"method_name": "l2", "density": 1})",
                                        R"("op_names": ["fc"])")),
            (Densities{{"conv1", 0.5}}));
}

TEST(QuantizeRules, DecidePrecisionsBitsAndRanges) {
  const Graph graph = Net();
  // The default of the originals, with three exceptions.
  const std::string types = R"("op_types": ["nn.conv2d", "msc.conv2d_bias", "msc.linear_bias"])";
  const RuleBook book = Book(
      R"({"strategys": [{"methods": {"input": "gather_maxmin", "output": "gather_maxmin",
          "weights": "gather_max_per_channel"}, )" +
          types + R"(, "stages": ["gather"]},
         {"methods": {"input": "calibrate_maxmin", "output": "calibrate_maxmin"}, )" +
          types +
          R"(, "stages": ["calibrate"]},
         {"methods": {"input": "quantize_normal", "weights": {"method_name": "quantize_normal", "nbits": 4},
          "output": "dequantize_normal"}, )" +
          types + R"(, "stages": ["quantize"]},
         {"methods": {"tensor": {"method_name": "quantize_normal", "nbits": -1}}, "tensor_names": ["w3"]},
         {"methods": {"tensor": {"method_name": "quantize_normal", "nbits": -1}}, "tensor_ids": ["f-c-fc"]},
         {"methods": {"tensor": {"method_name": "percentile", "percentile": 99}}, "tensor_names": ["r1"],
          "stages": ["calibrate"]}, {"methods": {"tensor": "quantize_normal"}, "tensor_names": ["r1"]}]})",
      "quantize");
  QuantizeOptions options;
  ReadQuantizeRules(book, graph, options);
  EXPECT_EQ(options.layers, (PrecisionByLayer{{"conv1", Precision::kInt8},
                                              {"conv2", Precision::kInt8},
                                              {"conv3", Precision::kF32},
                                              {"depth", Precision::kInt8},
                                              {"fc", Precision::kF32}}));
  EXPECT_EQ(options.layer_bits, (std::map<std::string, std::int64_t>{
                                    {"conv1", 4}, {"conv2", 4}, {"depth", 4}, {"fc", 4}}));
  EXPECT_EQ(options.tensor_scales.at("r1").method, "percentile");
  EXPECT_EQ(options.tensor_scales.at("r1").percentile, 99);
  EXPECT_EQ(options.tensor_scales.at("x").method, "minmax");
  EXPECT_FALSE(options.tensor_scales.contains("y") &&
               options.tensor_scales.at("y").method != "minmax");

  const std::vector<Tensor> samples = {RandomTensor({32, 8, 6, 6}, 1)};
  const TargetRegistry targets = Targets();
  const QuantizedModel model =
      QuantizeModel(graph, {}, TensorSamples(samples), options, {}, targets);
  EXPECT_EQ(model.strategy.quantize.weights.at("fc").bits, 4);  // weights alone
  EXPECT_EQ(model.strategy.quantize.layers.at("fc"), Precision::kF32);
  EXPECT_FALSE(model.strategy.quantize.weights.contains("conv3"));
  QuantizeOptions plain;
  plain.scales.method = "minmax";
  const QuantizePlan whole =
      QuantizeModel(graph, {}, TensorSamples(samples), plain, {}, targets).strategy.quantize;
  plain.scales = options.tensor_scales.at("r1");
  const QuantizePlan cut =
      QuantizeModel(graph, {}, TensorSamples(samples), plain, {}, targets).strategy.quantize;
  const auto& scales = model.strategy.quantize.activations;
  EXPECT_EQ(scales.at("x"), whole.activations.at("x"));
  EXPECT_EQ(scales.at("r1"), cut.activations.at("r1"));
  EXPECT_LT(scales.at("r1").scale, whole.activations.at("r1").scale);

  const auto refusal = [&](const std::string& strategy) {
    QuantizeOptions ignored;
    return Refusal(
        [&] { ReadQuantizeRules(Book(Joined({strategy}), "quantize"), graph, ignored); });
  };
  QuantizeOptions narrow;
  ReadQuantizeRules(
      Book(Joined({Strategy("input", R"({"method_name": "quantize_normal", "nbits": 4})")}),
           "quantize"),
      graph, narrow);
  EXPECT_EQ(narrow.tensor_scales.at("x").bits, 4);
  EXPECT_EQ(narrow.tensor_scales.at("r1").method, narrow.scales.method);
  EXPECT_EQ(refusal(Strategy("weights", R"({"method_name": "int8", "nbits": 9})")),
            "'nbits' of method 'int8' must be a whole number between 2 and 8");
  EXPECT_EQ(refusal(Strategy("input", R"("calibrate_minmax")", "", R"(["calibrate"])")),
            "unknown method 'calibrate_minmax'; did you mean 'calibrate_maxmin'?");
}

TEST(DistillRules, GiveLossesOfOutputsAndOfValuesInside) {
  const Graph graph = Net();
  TrainSettings settings;
  auto features = ReadDistillRules(
      Book(Joined({Strategy("mark", R"({"method_name": "loss_lp_norm", "power": 3})",
                            R"("marks": ["loss"])"),
                   Strategy("output", R"({"method_name": "attention", "weight": 0.5})",
                            R"("op_types": ["Relu"])"),
                   Strategy("tensor", R"("loss_lp_norm")", R"("tensor_names": ["s"])")})),
      graph, settings);
  EXPECT_EQ(settings.lp, 1);
  EXPECT_EQ(settings.kl, 0);
  EXPECT_EQ(settings.power, 3);
  ASSERT_EQ(features.size(), 3U);
  EXPECT_EQ(features[0].teacher, "r1");
  EXPECT_TRUE(features[0].attention);
  EXPECT_EQ(features[0].weight, 0.5);
  EXPECT_EQ(features[1].student, "s");
  EXPECT_FALSE(features[1].attention);
  EXPECT_EQ(features[2].teacher, "r4");
  features = ReadDistillRules(
      Book(Joined({Strategy("mark", R"("loss_kl_divergence")", R"("marks": ["loss"])")})), graph,
      settings);
  EXPECT_TRUE(features.empty());
  EXPECT_EQ(settings.kl, 1);
  EXPECT_EQ(settings.temperature, 5);
  EXPECT_EQ(Refusal([&] { (void)ReadDistillRules(Book("[]"), graph, settings); }),
            "no rule says what is to be learned");
}

TEST(TrackRules, PickValuesStageByStage) {
  const Graph graph = Net();
  using Names = std::vector<std::string>;
  const std::string compared = R"({"method_name": "save_compared", "compare_to": "baseline"})";
  const RuleBook book = Book(
      Joined({Strategy("output", compared, R"("op_types": ["nn.relu"])"),
              Strategy("input", R"("watch")", R"("op_names": ["fc"])", R"(["compile"])"),
              Strategy("output", R"("watch")", R"("op_names": ["conv3"])", R"(["optimize"])"),
              Strategy("output", R"("watch")", R"("op_names": ["exit"])", R"(["baseline"])")}));
  const TrackRules rules = ReadTrackRules(book, graph);
  EXPECT_EQ(rules.all, (Names{"r1", "c3", "r4", "f", "y"}));
  EXPECT_EQ(rules.optimized, (Names{"r1", "c3", "r4"}));
  EXPECT_EQ(rules.compiled, (Names{"r1", "r4", "f"}));
  EXPECT_EQ(PassedOver(book), (Names{"'compare_to' of method 'save_compared' is passed over: a "
                                     "stage is compared with the one before it"}));
}

TEST(RuleBook, HasAnOperatorThatReadsTheOutputs) {
  const Graph graph = Net();
  const RuleBook book =
      Book(Joined({Strategy("output", R"("watch")", R"("op_names": ["exit"])"),
                   Strategy("output", R"("other")", R"("op_names": ["relu1"])")}));
  book.CheckNames(graph);
  const auto methods = book.ForValue(graph, graph.FindValue("y"), kNoNode, "default");
  ASSERT_EQ(methods.size(), 1U);
  EXPECT_EQ(methods[0]->name, "watch");
  // What says something of the producer comes first, and others read no output.
  EXPECT_EQ(book.ForValue(graph, graph.FindValue("r1"), kNoNode, "default").at(0)->name, "other");
  EXPECT_TRUE(
      book.ForValue(graph, graph.FindValue("c2"), graph.FindNode("sum"), "default").empty());
}

TEST(QuantizeRules, CountByDefaultWhereTheirMethodBelongs) {
  const Graph graph = Net();
  QuantizeOptions options;
  ReadQuantizeRules(
      Book(Joined(
          {Strategy("weights", R"({"method_name": "quantize_normal", "nbits": 4})", "",
                    R"(["default"])"),
           Strategy("input", R"("quantize_normal")", R"("op_names": ["conv1"])", R"(["default"])"),
           Strategy("input", R"("calibrate_kl_divergence")", R"("op_names": ["conv2"])",
                    R"(["default"])")})),
      graph, options);
  EXPECT_EQ(options.layers.at("conv1"), Precision::kInt8);
  EXPECT_EQ(options.layers.at("conv2"), Precision::kF32);
  EXPECT_EQ(options.layer_bits.at("conv2"), 4);
  EXPECT_EQ(options.tensor_scales.at("r1").method, "entropy");
  EXPECT_FALSE(options.tensor_scales.contains("x"));
  EXPECT_EQ(Refusal([&] {
              ReadQuantizeRules(
                  Book(Joined({Strategy("weights", R"("save_compared")", "", R"(["default"])")})),
                  graph, options);
            }).substr(0, 30),
            "unknown method 'save_compared'");
}

TEST(RuleOptions, AreSaidToTurnNothingOrRefused) {
  const Graph graph = Net();
  const auto notes = [](const std::string& method) {
    return PassedOver(Book(Joined({Strategy("weights", method)})));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(notes(R"({"method_name": "quantize_normal", "sign": true, "axis": -1, "nbits": 8})"),
            (Names{"'sign' of method 'quantize_normal' is passed over: activations are unsigned "
                   "where no value is negative"}));
  EXPECT_EQ(notes(R"({"method_name": "quantize_normal", "axis": 1, "epsilon": 0.5})").size(), 2U);
  EXPECT_EQ(notes(R"({"method_name": "gather_max_per_channel", "channel": "O"})").size(), 1U);
  EXPECT_TRUE(notes(R"({"method_name": "l2", "density": 0.5})").empty());
  EXPECT_EQ(PassedOver(Book(Joined({Strategy("bias", R"("l2")")}))),
            (Names{"rules for 'bias' are passed over: it goes with the weights"}));

  const auto softmax = [&](int axis) {
    TrainSettings settings;
    return Refusal([&] {
      (void)ReadDistillRules(
          Book(Joined({Strategy("mark",
                                R"({"method_name": "loss_kl_divergence", "softmax_dim": )" +
                                    std::to_string(axis) + "}",
                                R"("marks": ["loss"])")})),
          graph, settings);
    });
  };
  EXPECT_EQ(softmax(-1), "accepted");
  EXPECT_EQ(softmax(1), "accepted");  // [n, 5]
  EXPECT_EQ(softmax(0), "'softmax_dim' of method 'loss_kl_divergence' must be -1, the last axis");
}

TEST(RuleFiles, AreForOneTool) {
  const std::string path = testing::TempDir() + "rules_test.json";
  WriteFileAtomic(path, R"({"tool_type": "tracker", "tool_config": {"strategys": []}})");
  EXPECT_EQ(Refusal([&] { (void)LoadRules(path, "pruner", Net()); }),
            "'" + path + "' is for a tracker, not for a pruner");
  (void)LoadRules(path, "tracker", Net());
}

}  // namespace
}  // namespace msc
