#include "gym/msc_config/msc_config.h"

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"

namespace msc::gym {
namespace {

std::string ErrorOf(const std::string& tools) {
  try {
    (void)TranslateMscConfig(R"({"model":"net.onnx",)" + tools + "}", {"onednn"});
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

struct Case {
  std::string label;
  std::string tools;
  std::string error;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.label;
}

std::string WithExecutors(const std::string& role, const std::string& executors) {
  return R"("quantize":{"gym":[{")" + role + R"(":{"executors":{)" + executors + "}}}]}";
}

std::string WithLoss(const std::string& arguments) {
  return WithExecutors(
      "env", R"("reward_outputs":{"method":"reward_compare_baseline",)" + arguments + "}");
}

std::string WithDataset(const std::string& stages) {
  return R"("quantize":{"gym":["default"]},"dataset":{)" + stages + "}";
}

std::string WithMaxTasks(const std::string& value) {
  return R"("quantize":{"gym":[{"env":{"max_tasks":)" + value + "}}]}";
}
constexpr const char* kBadMaxTasks =
    "'quantize.gym[0].env.max_tasks' of the MSC config: must be a whole number of at least 1, or "
    "-1 for all";

class MscConfigs : public ::testing::TestWithParam<Case> {};

TEST_P(MscConfigs, AreTakenOrRefusedNamingTheKey) {
  EXPECT_EQ(ErrorOf(GetParam().tools), GetParam().error);
}

TEST(MscConfig, IsNoneWhereQuantizeIsOurOwn) {
  EXPECT_FALSE(
      TranslateMscConfig(R"({"model":"net.onnx","quantize":{"bits":[8,4]}})", {}).has_value());
  EXPECT_TRUE(
      TranslateMscConfig(R"({"model":"net.onnx","quantize":{"gym":["default"]}})", {}).has_value());
}

TEST(MscConfig, IsNoneWhereASectionHasNothingOfTheOriginals) {
  EXPECT_FALSE(TranslateMscConfig(R"({"quantize":{"bit":[8]},"prune":{}})", {}).has_value());
  EXPECT_TRUE(
      TranslateMscConfig(R"({"model":"net.onnx","prune":{"score":"l1","gym":["default"]}})", {})
          .has_value());
}

TEST(MscConfig, TakesOurKeysBesideTheOriginalsInOneSection) {
  const auto config = TranslateMscConfig(
      R"({"model":"net.onnx","prune":{"score":"l1","align":4,"gym":["default"],)"
      R"("strategys":[{"methods":{"weights":{"method_name":"per_channel","stride":16}}}]},)"
      R"("quantize":{"first_layers":3,"gym":[{"env":{"max_tasks":2}}]},)"
      R"("distill":{"samples":64}})",
      {});
  EXPECT_EQ(config->text, R"({"distill":{"samples":64},"env":"compress","model":"net.onnx",)"
                          R"("prune":{"align":4,"score":"l1"},"quantize":{"first_layers":3}})");
  EXPECT_EQ(config->notes,
            (std::vector<std::string>{
                "'prune.strategys[0].methods.weights.stride': ignored; 'prune.align' is already 4",
                "'quantize.gym[0].env.max_tasks': ignored; 'quantize.first_layers' is already 3"}));
}

TEST(MscConfig, SaysWhatBecomesOfTheOriginalsLoss) {
  const auto config = TranslateMscConfig(
      R"({"model":"net.onnx","quantize":{"gym":[{"env":{"executors":{"reward_runner":{)"
      R"("method":"reward_compare_baseline","loss_type":"lp_norm","loss_config":{"power":4}}}},)"
      R"("agent":{"debug_level":1}}]}})",
      {});
  const std::string slot = "'quantize.gym[0].env.executors.reward_runner";
  const std::string divergence =
      "': the search compares outputs by KL(softmax of the model || softmax of the candidate) over "
      "the last axis, in nats, averaged over samples and outputs. The original MSC adds up the "
      "mean |difference|^power of each output instead; that grows with the scale of the outputs, "
      "so one limit would not suit two models. Outputs whose last axis has size 1 do not "
      "contribute. The record of each trial has 'mse', the nearest equivalent of power 2, relative "
      "to the variance of the output";
  EXPECT_EQ(
      config->notes,
      (std::vector<std::string>{
          "'quantize.gym[0].agent.debug_level': no effect; see --log-level",
          slot + R"(': becomes 'objective.minimize': ["latency","distill_loss"])",
          slot + ".loss_type': no effect", slot + ".loss_config': no effect", slot + divergence}));
}

TEST(MscConfig, KeepsTheFilesThatItsSearchIsToWrite) {
  const auto config = TranslateMscConfig(
      R"({"model":"net.onnx","prune":{"plan_file":"/w/p.json","gym":["default"]},)"
      R"("quantize":{"strategy_file":"q.json","gym":[{"record":"./r.json"},{"record":"r.json"}]},)"
      R"("distill":{"plan_file":"d.json"}})",
      {});
  EXPECT_EQ(config->files.strategies, (std::vector<std::string>{"/w/p.json", "q.json"}));
  EXPECT_EQ(config->files.records, std::vector<std::string>{"r.json"});
  EXPECT_EQ(config->notes.at(0),
            "'prune.plan_file': mscgym search writes the best strategy to '/w/p.json'");
  EXPECT_EQ(
      config->notes.at(1),
      "'quantize.gym[0].record': mscgym search writes the trials to 'r.json' in the run directory");
}

TEST(MscConfig, CalibratesOnTheFilesOfPrepareOrThoseNamedBeside) {
  const auto config_of = [](const std::string& beside, const std::string& loader) {
    return *TranslateMscConfig(R"({"model":"net.onnx",)" + beside +
                                   R"("quantize":{"gym":["default"]},"dataset":{"prepare":)"
                                   R"({"loader":)" +
                                   loader + R"(,"max_batch":5,"load_kwargs":{}}}})",
                               {});
  };
  EXPECT_EQ(config_of("", R"("x.npy")").text,
            R"({"calibration":{"data":{"format":"npy","images":"x.npy"}},"env":"quantize",)"
            R"("model":"net.onnx"})");
  const std::string beside = R"("calibration":{"data":{"images":"own.csv","format":"csv"}},)";
  for (const char* loader : {R"("x.npy")", R"("from_random")"}) {
    const MscConfig own = config_of(beside, loader);
    EXPECT_EQ(own.text,
              R"({"calibration":{"data":{"format":"csv","images":"own.csv"}},"env":"quantize",)"
              R"("model":"net.onnx"})");
    EXPECT_EQ(
        own.notes,
        (std::vector<std::string>{
            R"('dataset.prepare.loader': ignored; 'calibration.data.images' is already "own.csv")",
            "'dataset.prepare.max_batch': no effect; see 'calibration.samples' and "
            "'quality.samples'"}));
  }
}

TEST(MscConfig, TakesTheFirstTasksOfEachTool) {
  const auto text_of = [](const std::string& tool, const std::string& count) {
    const auto config = TranslateMscConfig(
        R"({"model":"net.onnx",")" + tool + R"(":{"gym":[{"env":{"max_tasks":)" + count + "}}]}}",
        {});
    return config->text;
  };
  EXPECT_EQ(text_of("quantize", "2"),
            R"({"env":"quantize","model":"net.onnx","quantize":{"first_layers":2}})");
  EXPECT_EQ(text_of("prune", "3"),
            R"({"env":"prune","model":"net.onnx","prune":{"first_groups":3}})");
  EXPECT_EQ(text_of("quantize", "-1"), R"({"env":"quantize","model":"net.onnx"})");
}

constexpr const char* kTwice =
    " of the MSC config: is a second 'quantize' tool, but a search can have only one; write a "
    "separate config for each search, and share results with --cache";

INSTANTIATE_TEST_SUITE_P(
    All, MscConfigs,
    ::testing::Values(
        Case{"one_of_each",
             R"("tools":[{"tool_type":"quantizer","gym":["default"]},)"
             R"({"tool_type":"pruner","gym":["default"]}])",
             "no error"},
        Case{"two_quantizers",
             R"("tools":[{"tool_type":"quantizer","gym":["default"]},)"
             R"({"tool_type":"quantizer","gym":["default"]}])",
             std::string("'tools[1]'") + kTwice},
        Case{"a_key_and_a_tool",
             R"("quantize":{"gym":["default"]},)"
             R"("tools":[{"tool_type":"quantizer","gym":["default"]}])",
             std::string("'tools[0]'") + kTwice},
        Case{"known_executors",
             WithExecutors("env", R"("create_tasks":{"method":"tasks_tool_extract",)"
                                  R"("method_type":"default"},"action_space":)"
                                  R"({"method":"action_linear_space","start":0.2,"step":0.1})"),
             "no error"},
        Case{"odd_slot", WithExecutors("env", R"("evaluate":{"method":"evaluate_by_loss"})"),
             "'quantize.gym[0].env.executors.evaluate' of the MSC config: is not an executor of "
             "the original MSC; remove it"},
        Case{"method_of_another_slot",
             WithExecutors("env", R"("create_tasks":{"method":"action_linear_space"})"),
             "'quantize.gym[0].env.executors.create_tasks' of the MSC config: unknown method "
             "'action_linear_space'; known here: tasks_tool_extract"},
        Case{"odd_argument",
             WithExecutors("agent", R"("evaluate":{"method":"evaluate_by_loss","thresh":1})"),
             "'quantize.gym[0].agent.executors.evaluate.thresh' of the MSC config: is not an "
             "argument of \"evaluate_by_loss\"; remove it"},
        Case{"tool_of_another_section", R"("quantize":{"tool_type":"pruner","gym":["default"]})",
             "'quantize.tool_type' of the MSC config: is a tool for 'prune', but is set in a tool "
             "for 'quantize'"},
        Case{"odd_tool", R"("prune":{"tool_type":"prune","gym":["default"]})",
             "'prune.tool_type' of the MSC config: must be pruner, quantizer, distiller or "
             "tracker"},
        Case{"tool_of_its_section", R"("prune":{"tool_type":"pruner","gym":["default"]})",
             "no error"},
        Case{"odd_key_of_a_section", R"("quantize":{"bit":[8],"gym":["default"]})",
             "unknown key 'quantize.bit' of an MSC config; known here: tool_type, tool_config, "
             "strategy_file, plan_file, target, run_type, gym, gym_configs, strategys, options, "
             "worker_configs, cache_processed, tool_style, config_style, visualize, debug_level, "
             "verbose_step, bits, ranges, range_of, rounding, first_layers, tie"},
        Case{"odd_key_of_a_distiller_without_effect",
             R"("quantize":{"gym":["default"]},"distill":{"optons":{}})",
             "unknown key 'distill.optons' of an MSC config; known here: tool_type, tool_config, "
             "strategy_file, plan_file, target, run_type, gym, gym_configs, strategys, options, "
             "worker_configs, cache_processed, tool_style, config_style, visualize, debug_level, "
             "verbose_step, weight_bits, samples, batch"},
        Case{"odd_key_of_a_dataset", WithDataset(R"("prepare":{"loader":"x.npy","max_batches":1})"),
             "unknown key 'dataset.prepare.max_batches' of an MSC config; known here: loader, "
             "max_batch, load_kwargs, max_golden"},
        Case{"odd_stage_of_a_dataset", WithDataset(R"("prepares":{"loader":"x.npy"})"),
             "unknown key 'dataset.prepares' of an MSC config; known here: prepare, baseline, "
             "optimize, compile, golden"},
        Case{"arguments_of_a_loader",
             WithDataset(R"("prepare":{"loader":"x.npy","load_kwargs":{"shuffle":true}})"),
             "'dataset.prepare.load_kwargs' of the MSC config: must be empty; use "
             "'calibration.data' to set how files are read"},
        Case{"loader_of_another_kind", WithDataset(R"("prepare":{"loader":"from_random"})"),
             "'dataset.prepare.loader' of the MSC config: must be an IDX or NumPy file (*-ubyte, "
             "*-ubyte.gz, *.npy); for other samples, set 'calibration.data.images' beside the keys "
             "of MSC"},
        Case{"strategy_file_outside",
             R"("quantize":{"strategy_file":"a/../../s.json","gym":["default"]})",
             "'quantize.strategy_file' of the MSC config: must lie in the run directory, or be an "
             "absolute path"},
        Case{"record_without_a_name", R"("quantize":{"gym":[{"record":"records/"}]})",
             "'quantize.gym[0].record' of the MSC config: must name a file"},
        Case{"odd_loss", WithLoss(R"("loss_type":"cosine")"),
             "'quantize.gym[0].env.executors.reward_outputs.loss_type' of the MSC config: must be "
             "lp_norm, the only loss of the original MSC"},
        Case{"odd_key_of_a_loss", WithLoss(R"("loss_config":{"powr":2})"),
             "unknown key 'quantize.gym[0].env.executors.reward_outputs.loss_config.powr' of an "
             "MSC config; known here: power"},
        Case{"odd_power_of_a_loss", WithLoss(R"("loss_config":{"power":0})"),
             "'quantize.gym[0].env.executors.reward_outputs.loss_config.power' of the MSC config: "
             "must be a number above 0"},
        Case{"all_tasks", WithMaxTasks("-1"), "no error"},
        Case{"one_task", WithMaxTasks("1"), "no error"},
        Case{"no_task", WithMaxTasks("0"), kBadMaxTasks},
        Case{"fewer_than_all_tasks", WithMaxTasks("-2"), kBadMaxTasks},
        Case{"half_a_task", WithMaxTasks("1.5"), kBadMaxTasks},
        Case{"tasks_as_text", WithMaxTasks(R"("x")"), kBadMaxTasks},
        Case{"tasks_left_open", WithMaxTasks("null"), kBadMaxTasks}),
    [](const auto& one) { return one.param.label; });

}  // namespace
}  // namespace msc::gym
