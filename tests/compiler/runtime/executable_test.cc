#include "compiler/runtime/executable.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/graph.h"
#include "compiler/runtime/threads.h"
#include "tests/compiler/runtime/chain.h"

namespace {

std::size_t allocations = 0;  // NOLINT: what the operators below count

}  // namespace

// Clang's thread sanitizer has operators of its own, which cannot be replaced.
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define MSC_COUNTS_NOTHING
#endif
#endif

#ifndef MSC_COUNTS_NOTHING
// Counts what the code under test asks for. Not inlined: the compiler would take malloc and delete
// for a pair that does not match.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

// std::stable_sort asks for its buffer in this form.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
#endif

namespace msc {
namespace {

TEST(Executable, RunsItsStepsInOrder) {
  Executable executable = BuildChain(Chain(5));
  const std::vector<Tensor> outputs = executable.Run(OneInput(2.0F));
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0], Filled(7.0F));
}

TEST(Executable, GivesTheSameAgain) {
  Executable executable = BuildChain(Chain(3));
  EXPECT_EQ(executable.Run(OneInput(1.0F))[0], Filled(4.0F));
  EXPECT_EQ(executable.Run(OneInput(5.0F))[0], Filled(8.0F));
}

TEST(Executable, RunsIntoTensorsOfAnEarlierRun) {
  Executable executable = BuildChain(Chain(3));
  std::vector<Tensor> outputs = executable.Run(OneInput(1.0F));
  const std::byte* memory = outputs[0].Raw().data();
  executable.RunInto(OneInput(10.0F), outputs);
  EXPECT_EQ(outputs[0], Filled(13.0F));
  EXPECT_EQ(outputs[0].Raw().data(), memory);
}

TEST(Executable, AllocatesNothingInRunInto) {
  Chain chain(3);
  chain.graph.AddOutput(chain.values[0]);
  chain.graph.AddOutput(chain.input);
  Executable executable = BuildChain(chain);
  const std::vector<Tensor> inputs = OneInput(1.0F);
  std::vector<Tensor> outputs = executable.Run(inputs);
#ifdef MSC_COUNTS_NOTHING
  GTEST_SKIP() << "allocations cannot be counted under the thread sanitizer";
#endif
  const std::size_t before = allocations;
  executable.RunInto(inputs, outputs);
  EXPECT_EQ(allocations, before);
  (void)executable.Run(inputs);
  EXPECT_GT(allocations, before);
}

TEST(Executable, TimesEveryStepUnderItsName) {
  Executable executable = BuildChain(Chain(3));
  std::vector<StepTime> times;
  EXPECT_EQ(executable.Profile(OneInput(1.0F), times)[0], Filled(4.0F));
  ASSERT_EQ(times.size(), 3U);
  EXPECT_EQ(times[0].name, "add");
  EXPECT_EQ(times[0].target, "test");
  EXPECT_EQ(times[0].precision, "f32");
  EXPECT_EQ(times[0].nodes, std::vector<std::string>{"n"});
}

TEST(Executable, SharesMemoryBetweenValuesThatAreNotAliveTogether) {
  const Executable executable = BuildChain(Chain(9));
  // Eight values between the caller's input and output; two live at a time.
  EXPECT_EQ(executable.memory().unplanned_bytes, 8 * kRounded);
  EXPECT_EQ(executable.memory().arena_bytes, 2 * kRounded);
  EXPECT_EQ(executable.memory().constant_bytes, 0U);
}

TEST(Executable, KeepsAPrivateBufferFromItsFirstWriteToItsLastRead) {
  const Chain chain(2);
  ExecutableBuilder builder(chain.graph);
  const BufferId input = builder.BufferOf(chain.input);
  const BufferId middle = builder.BufferOf(chain.values[0]);
  const BufferId output = builder.BufferOf(chain.values[1]);
  const BufferId own = builder.AddBuffer(kBytes);
  builder.AddStep(AddStep(input, own, 5.0F));
  builder.AddStep(AddStep(input, middle, 100.0F));  // must not land on `own`
  builder.AddStep(AddStep(own, output, 0.0F));
  Executable executable = std::move(builder).Build();
  EXPECT_EQ(executable.Run(OneInput(1.0F))[0], Filled(6.0F));
  EXPECT_EQ(executable.memory().arena_bytes, 2 * kRounded);
}

TEST(Executable, LetsAnAliasShareMemoryAndLifetime) {
  const Chain chain(3);
  ExecutableBuilder builder(chain.graph);
  const BufferId first = builder.BufferOf(chain.values[0]);
  const BufferId view = builder.AddBuffer(kBytes);
  const BufferId view_of_view = builder.AddBuffer(kBytes);
  builder.Alias(view, first);
  builder.Alias(view_of_view, view);
  builder.AddStep(AddStep(builder.BufferOf(chain.input), first, 1.0F));
  builder.AddStep(AddStep(builder.BufferOf(chain.input), builder.BufferOf(chain.values[1]), 50.0F));
  // Only the alias is read late; the memory of `first` must live until then.
  builder.AddStep(AddStep(view_of_view, builder.BufferOf(chain.values[2]), 1.0F));
  Executable executable = std::move(builder).Build();
  EXPECT_EQ(executable.Run(OneInput(1.0F))[0], Filled(3.0F));
  EXPECT_EQ(executable.memory().unplanned_bytes, 2 * kRounded);
}

TEST(Executable, LetsAnAliasBeginInsideAnotherBuffer) {
  const Chain chain(3);
  ExecutableBuilder builder(chain.graph);
  const BufferId whole = builder.AddBuffer(4 * kBytes);
  const BufferId half = builder.AddBuffer(2 * kBytes);
  const BufferId first = builder.BufferOf(chain.values[0]);
  const BufferId second = builder.BufferOf(chain.values[1]);
  builder.Alias(first, half);
  builder.Alias(second, half, kBytes);
  builder.Alias(half, whole, 2 * kBytes);
  builder.AddStep(AddStep(builder.BufferOf(chain.input), first, 1.0F));
  builder.AddStep(AddStep(first, second, 10.0F));
  std::vector<const std::byte*> seen;
  Step look{.name = "look",
            .target = "test",
            .nodes = {},
            .precision = "",
            .reads = {whole},
            .writes = {},
            .run = [&](const StepContext& context) {
              for (const BufferId id : {whole, half, first, second}) seen.push_back(context.At(id));
            }};
  builder.AddStep(std::move(look));
  builder.AddStep(AddStep(second, builder.BufferOf(chain.values[2]), 100.0F));
  Executable executable = std::move(builder).Build();
  EXPECT_EQ(executable.Run(OneInput(1.0F))[0], Filled(112.0F));
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[1] - seen[0], static_cast<std::ptrdiff_t>(2 * kBytes));
  EXPECT_EQ(seen[2], seen[1]);
  EXPECT_EQ(seen[3] - seen[1], static_cast<std::ptrdiff_t>(kBytes));
}

TEST(Executable, RefusesAnAliasThatReachesBeyondTheBuffer) {
  const Chain chain(2);
  ExecutableBuilder builder(chain.graph);
  const BufferId whole = builder.AddBuffer(2 * kBytes);
  EXPECT_THROW(builder.Alias(builder.BufferOf(chain.values[0]), whole, kBytes + 1), InternalError);
}

TEST(Executable, ComputesInPlaceThroughAnAlias) {
  const Chain chain(3);
  ExecutableBuilder builder(chain.graph);
  builder.Alias(builder.BufferOf(chain.values[1]), builder.BufferOf(chain.values[0]));
  ValueId last = chain.input;
  for (const ValueId value : chain.values) {
    builder.AddStep(AddStep(builder.BufferOf(last), builder.BufferOf(value), 1.0F));
    last = value;
  }
  Executable executable = std::move(builder).Build();
  EXPECT_EQ(executable.memory().arena_bytes, kRounded);
  EXPECT_EQ(executable.Run(OneInput(0.0F))[0], Filled(3.0F));
}

TEST(Executable, WritesAnOutputThatIsAViewOfAnotherValueInPlace) {
  Chain chain(2);
  ExecutableBuilder builder(chain.graph);
  builder.Alias(builder.BufferOf(chain.values[1]), builder.BufferOf(chain.values[0]));
  builder.AddStep(AddStep(builder.BufferOf(chain.input), builder.BufferOf(chain.values[0]), 3.0F));
  Executable executable = std::move(builder).Build();
  EXPECT_EQ(executable.Run(OneInput(1.0F))[0], Filled(4.0F));
  EXPECT_EQ(executable.memory().arena_bytes, 0U);
}

TEST(Executable, GivesAnInputBackAsOutput) {
  Chain chain(0);
  chain.graph.AddOutput(chain.input);
  Executable executable = BuildChain(chain);
  EXPECT_EQ(executable.Run(OneInput(4.0F))[0], Filled(4.0F));
}

TEST(Executable, GivesAViewOfAnInputAsOutput) {
  Chain chain(1);
  ExecutableBuilder builder(chain.graph);
  builder.Alias(builder.BufferOf(chain.values[0]), builder.BufferOf(chain.input));
  Executable executable = std::move(builder).Build();
  EXPECT_EQ(executable.Run(OneInput(4.0F))[0], Filled(4.0F));
  EXPECT_EQ(executable.Run(OneInput(5.0F))[0], Filled(5.0F));
}

TEST(Executable, GivesAConstantAsOutput) {
  Chain chain(0);
  chain.graph.AddOutput(chain.graph.AddConstant("c", Filled(9.0F)));
  Executable executable = BuildChain(chain);
  EXPECT_EQ(executable.Run(OneInput(4.0F))[0], Filled(9.0F));
  EXPECT_EQ(executable.memory().constant_bytes, kBytes);
}

TEST(Executable, GivesTheSameValueAsSeveralOutputs) {
  Chain chain(2);
  chain.graph.AddOutput(chain.values[1]);
  chain.graph.AddOutput(chain.values[0]);
  Executable executable = BuildChain(chain);
  const std::vector<Tensor> outputs = executable.Run(OneInput(1.0F));
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[0], Filled(3.0F));
  EXPECT_EQ(outputs[1], Filled(3.0F));
  EXPECT_EQ(outputs[2], Filled(2.0F));
}

TEST(Executable, ReadsConstantsWhereTheyAre) {
  Chain chain(1);
  const ValueId constant = chain.graph.AddConstant("c", Filled(9.0F));
  const std::byte* memory = chain.graph.constant(constant)->Raw().data();
  ExecutableBuilder builder(chain.graph);
  const BufferId buffer = builder.BufferOf(constant);
  const std::byte* seen = nullptr;
  builder.AddStep(
      {.name = "look",
       .target = "test",
       .nodes = {},
       .precision = "",
       .reads = {buffer},
       .writes = {builder.BufferOf(chain.values[0])},
       .run = [&seen, buffer](const StepContext& context) { seen = context.At(buffer); }});
  Executable executable = std::move(builder).Build();
  (void)executable.Run(OneInput(0.0F));
  EXPECT_EQ(seen, memory);
  EXPECT_EQ(executable.memory().constant_bytes, kBytes);
}

TEST(Executable, CountsPackedConstantsAndKeepsThemAlive) {
  const Chain chain(1);
  ExecutableBuilder builder(chain.graph);
  auto packed = std::make_shared<const Tensor>(Filled(2.0F));
  const std::weak_ptr<const Tensor> watch = packed;
  const BufferId buffer = builder.AddConstant(packed, packed->Raw().data(), packed->bytes());
  packed.reset();
  builder.AddStep(AddStep(buffer, builder.BufferOf(chain.values[0]), 1.0F));
  Executable executable = std::move(builder).Build();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(executable.memory().constant_bytes, kBytes);
  EXPECT_EQ(executable.Run(OneInput(0.0F))[0], Filled(3.0F));
}

TEST(Executable, MovesConstantsOfProgramsTogetherInTheOrderOfTheirSteps) {
  const Chain chain(3);
  ExecutableBuilder builder(chain.graph);
  std::vector<BufferId> buffers;
  std::vector<std::weak_ptr<const Tensor>> watched;
  const auto add = [&](const std::shared_ptr<const Tensor>& tensor) {
    buffers.push_back(builder.AddConstant(tensor, tensor->Raw().data(), tensor->bytes()));
    watched.emplace_back(tensor);
  };
  add(std::make_shared<const Tensor>(Filled(1.0F)));
  add(std::make_shared<const Tensor>(Filled(2.0F)));
  const auto held = std::make_shared<const Tensor>(Filled(4.0F));
  add(held);
  builder.AddConstantGroup({.code = "code", .constants = buffers});
  std::array<const std::byte*, 3> seen{};
  // The constants are read in the order 1, 0, 2.
  const auto step = [&](std::size_t constant, std::size_t value) {
    Step add_step = AddStep(buffers[constant], builder.BufferOf(chain.values[value]), 0.0F);
    add_step.run = [&seen, constant, id = buffers[constant],
                    run = add_step.run](const StepContext& context) {
      seen[constant] = context.At(id);
      run(context);
    };
    builder.AddStep(std::move(add_step));
  };
  step(1, 0);
  step(0, 1);
  step(2, 2);
  Executable executable = std::move(builder).Build();
  EXPECT_EQ(executable.Run(OneInput(0.0F))[0], Filled(4.0F));
  EXPECT_TRUE(watched[0].expired());
  EXPECT_TRUE(watched[1].expired());
  constexpr std::ptrdiff_t kLines = (kBytes + 63) / 64 * 64;
  EXPECT_EQ(seen[0] - seen[1], kLines);
  EXPECT_EQ(seen[2], held->Raw().data());
  EXPECT_EQ(executable.memory().constant_bytes, 3 * kBytes);
  executable.SetConstant(buffers[2], std::make_shared<const Tensor>(Filled(8.0F)));
  const std::byte* const in_block = seen[1];
  executable.SetConstant(buffers[1], std::make_shared<const Tensor>(Filled(9.0F)));
  EXPECT_EQ(executable.Run(OneInput(0.0F))[0], Filled(8.0F));
  EXPECT_EQ(seen[1], in_block);
  EXPECT_EQ(*reinterpret_cast<const float*>(in_block), 9.0F);
}

TEST(Executable, StillRunsAfterAMove) {
  Executable first = BuildChain(Chain(4));
  Executable second = std::move(first);
  EXPECT_EQ(second.Run(OneInput(1.0F))[0], Filled(5.0F));
}

TEST(Executable, CountsStepsThatComputeNoNode) {
  const Chain chain(2);
  ExecutableBuilder builder(chain.graph);
  const BufferId turned = builder.AddBuffer(kBytes);
  Step turn = AddStep(builder.BufferOf(chain.input), turned, 0.0F);
  turn.nodes.clear();
  builder.AddStep(std::move(turn));
  builder.AddStep(AddStep(turned, builder.BufferOf(chain.values[0]), 1.0F));
  builder.AddStep(
      AddStep(builder.BufferOf(chain.values[0]), builder.BufferOf(chain.values[1]), 1.0F));
  const Executable executable = std::move(builder).Build();
  EXPECT_EQ(executable.memory().conversions, 1U);
  EXPECT_EQ(executable.memory().conversion_bytes, kBytes);
}

TEST(Executable, RefusesInputsThatDoNotFit) {
  Executable executable = BuildChain(Chain(1));
  std::vector<Tensor> wrong_type;
  wrong_type.emplace_back(DType::kI8, Dims{kSize});
  try {
    (void)executable.Run(wrong_type);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "input 0 must be f32[100], not i8[100]");
  }
  try {
    (void)executable.Run({});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "the model takes 1 inputs, not 0");
  }
}

TEST(Executable, LeavesOutStepsWhoseConditionsDoNotHold) {
  Graph graph;
  const ValueId x = graph.AddInput("x", Vector());
  const ValueId truth = graph.AddInput("truth", {.dtype = DType::kBool, .shape = Shape{}});
  const ValueId y = graph.AddValue("y", Vector());
  graph.AddNode({.name = "", .op = "Step", .inputs = {x, truth}, .outputs = {y}});
  graph.AddOutput(y);
  ExecutableBuilder builder(graph);
  builder.AddStep(AddStep(builder.BufferOf(x), builder.BufferOf(y), 1.0F));
  builder.SetConditions({{.buffer = builder.BufferOf(truth), .value = false}});
  builder.AddStep(AddStep(builder.BufferOf(x), builder.BufferOf(y), 10.0F));
  builder.SetConditions({{.buffer = builder.BufferOf(truth), .value = true},
                         {.buffer = builder.BufferOf(truth), .value = false}});
  builder.AddStep(AddStep(builder.BufferOf(x), builder.BufferOf(y), 100.0F));
  const Executable executable = std::move(builder).Build();
  const auto run = [&](bool value) {
    std::vector<Tensor> inputs = OneInput(5.0F);
    inputs.emplace_back(DType::kBool, Dims{});
    inputs[1].MutableValues<std::uint8_t>()[0] = value ? 1 : 0;
    std::vector<StepTime> times;
    const float profiled = executable.Profile(inputs, times)[0].Values<float>()[0];
    EXPECT_EQ(times.size(), 3U);
    const float plain = executable.Run(inputs)[0].Values<float>()[0];
    EXPECT_EQ(plain, profiled);
    return plain;
  };
  EXPECT_EQ(run(true), 6.0F);
  EXPECT_EQ(run(false), 15.0F);
}

TEST(Executable, RefusesOutputsThatDoNotFit) {
  Executable executable = BuildChain(Chain(1));
  std::vector<Tensor> outputs;
  outputs.emplace_back(DType::kF32, Dims{3});
  try {
    executable.RunInto(OneInput(1.0F), outputs);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "output 0 must be f32[100], not f32[3]");
  }
}

TEST(ExecutableBuilder, RefusesAValueOfUnknownShape) {
  Graph graph;
  graph.AddInput("x", {.dtype = DType::kF32, .shape = Shape{Dim::Symbol("batch"), 3}});
  try {
    const ExecutableBuilder builder(graph);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "value 'x' has the type f32[batch,3]; to be compiled it must be a tensor of known "
                 "shape");
  }
}

TEST(ExecutableBuilder, RefusesToMakeAnInputAViewOfAnotherBuffer) {
  const Chain chain(1);
  ExecutableBuilder builder(chain.graph);
  EXPECT_THROW(builder.Alias(builder.BufferOf(chain.input), builder.BufferOf(chain.values[0])),
               InternalError);
}

TEST(Threads, BindsTheProcessToOneOfItsCores) {
  const std::vector<int> cores = AllowedCores();
  ASSERT_FALSE(cores.empty());
  PinTo({cores.back()});
  EXPECT_EQ(AllowedCores(), std::vector<int>{cores.back()});
  PinTo(cores);
  EXPECT_EQ(AllowedCores(), cores);
}

TEST(Threads, RefuseNoCoreAndNoThread) {
  EXPECT_THROW(PinTo({}), UserError);
  EXPECT_THROW(PinTo({-1}), UserError);
  EXPECT_THROW(UseThreads(0), UserError);
}

}  // namespace
}  // namespace msc
