#include "gym/app/msc_config.h"

#include <optional>
#include <ostream>
#include <string>

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

std::string WithMaxTasks(const std::string& value) {
  return R"("quantize":{"gym":[{"env":{"max_tasks":)" + value + "}}]}";
}
constexpr const char* kBadMaxTasks =
    "'quantize.gym[0].env.max_tasks' of the MSC config: must be a whole number from 1 on, or -1 "
    "for all";

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
    " of the MSC config: is a second tool that would quantize; give every search a config of its "
    "own, and share --cache";

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
             "'quantize.gym[0].env.executors.evaluate' of the MSC config: is no executor of the "
             "original's"},
        Case{"method_of_another_slot",
             WithExecutors("env", R"("create_tasks":{"method":"action_linear_space"})"),
             "'quantize.gym[0].env.executors.create_tasks' of the MSC config: unknown method "
             "'action_linear_space'; known here: tasks_tool_extract"},
        Case{"odd_argument",
             WithExecutors("agent", R"("evaluate":{"method":"evaluate_by_loss","thresh":1})"),
             "'quantize.gym[0].agent.executors.evaluate.thresh' of the MSC config: is nothing that "
             "\"evaluate_by_loss\" takes"},
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
