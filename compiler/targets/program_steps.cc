#include "compiler/targets/program_steps.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/kernel/print.h"
#include "compiler/runtime/threads.h"

namespace msc {
namespace {

constexpr std::size_t kMaxBuffers = 64;

/// One kernel call, with all lookups done at compile time.
struct Call {
  std::shared_ptr<const kernel::Module> module;  // keeps the machine code loaded
  kernel::Entry entry = nullptr;
  const kernel::LibraryFunction* table = nullptr;
  std::int64_t extent = 1;
  int threads = 1;
  struct Argument {
    BufferId buffer{};
    std::size_t bytes_per_thread = 0;  ///< of scratch memory; 0 for shared buffers
  };
  std::vector<Argument> arguments = {};

  void Run(const StepContext& context) const {
    ParallelFor(threads, threads, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t thread = first; thread < last; ++thread) RunPart(context, thread);
    });
  }

  void RunPart(const StepContext& context, std::int64_t thread) const {
    const std::int64_t begin = extent * thread / threads;
    const std::int64_t end = extent * (thread + 1) / threads;
    if (begin == end) return;
    std::array<char*, kMaxBuffers + 1> addresses{};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      addresses[i] = reinterpret_cast<char*>(context.At(arguments[i].buffer)) +
                     static_cast<std::size_t>(thread) * arguments[i].bytes_per_thread;
    }
    // Generated code gets one list of addresses: the function table is its last entry.
    addresses[arguments.size()] =
        reinterpret_cast<char*>(const_cast<kernel::LibraryFunction*>(table));
    entry(addresses.data(), static_cast<long>(begin),  // NOLINT(google-runtime-int)
          static_cast<long>(end));                     // NOLINT(google-runtime-int)
  }
};

/// A check of a call, with all lookups done at compile time.
struct Indices {
  kernel::IndexCheck check;
  BufferId buffer{};

  template <class T>
  void CheckInside(const T* first) const {
    const std::span<const T> indices(first, static_cast<std::size_t>(check.count));
    // A loop without a branch; only an error looks for the index.
    T outside = 0;
    for (const T i : indices) outside |= T{i < -check.size || i >= check.size};
    if (outside == 0) return;
    const auto it =
        std::ranges::find_if(indices, [this](T i) { return i < -check.size || i >= check.size; });
    throw UserError("node '" + check.node + "' (" + check.op + "): index " + std::to_string(*it) +
                    " is outside an axis of " + std::to_string(check.size));
  }
  void Run(const StepContext& context) const {
    const std::byte* at = context.At(buffer);
    if (check.dtype == DType::kI64) {
      CheckInside(reinterpret_cast<const std::int64_t*>(at) + check.first);
    } else {
      CheckInside(reinterpret_cast<const std::int32_t*>(at) + check.first);
    }
  }
};

/// Rounds bytes up to whole cache lines, so that threads never share a line.
std::size_t Lines(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  return (bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

void AddProgram(const kernel::Program& program, std::shared_ptr<const kernel::Module> module,
                const std::string& target, int threads, std::string code,
                ExecutableBuilder& builder) {
  using Kind = kernel::ProgramBuffer::Kind;
  std::vector<bool> scratch(program.buffers.size());
  for (const kernel::ProgramCall& call : program.calls) {
    const kernel::KernelFunc& func = program.funcs[call.func];
    Check(call.buffers.size() == func.buffers.size() && call.buffers.size() <= kMaxBuffers,
          "a call names every buffer of its kernel, and there are few");
    for (std::size_t i = 0; i < call.buffers.size(); ++i) {
      if (func.buffers[i].access == kernel::Access::kScratch) scratch[call.buffers[i]] = true;
    }
  }
  std::vector<BufferId> ids;
  ConstantGroup group{.code = std::move(code)};
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const kernel::ProgramBuffer& buffer = program.buffers[i];
    if (buffer.kind == Kind::kValue) {
      ids.push_back(builder.BufferOf(buffer.value));
    } else if (buffer.kind == Kind::kConstant) {
      ids.push_back(builder.AddConstant(buffer.constant, buffer.constant->Raw().data(),
                                        buffer.constant->bytes()));
      group.constants.push_back(ids.back());
    } else {
      const std::size_t copies = scratch[i] ? static_cast<std::size_t>(threads) : 1;
      ids.push_back(builder.AddBuffer(scratch[i] ? copies * Lines(buffer.bytes) : buffer.bytes));
    }
  }
  for (const kernel::ProgramCall& from : program.calls) {
    const kernel::KernelFunc& func = program.funcs[from.func];
    Call call{.module = module,
              .entry = module->Function(from.func),
              .table = module->Table(from.func).data(),
              .extent = func.parallel_extent(),
              .threads = 1};
    call.threads = static_cast<int>(std::min<std::int64_t>(threads, call.extent));
    Step step{.name = from.name,
              .target = target,
              .nodes = from.nodes,
              .precision = from.precision,
              .pool_threads = module->Table(from.func).empty() ? 1 : threads};
    for (std::size_t i = 0; i < from.buffers.size(); ++i) {
      const kernel::Access access = func.buffers[i].access;
      const BufferId id = ids[from.buffers[i]];
      const bool is_scratch = access == kernel::Access::kScratch;
      call.arguments.push_back(
          {id, is_scratch ? Lines(program.buffers[from.buffers[i]].bytes) : 0});
      if (access == kernel::Access::kRead || access == kernel::Access::kReadWrite) {
        step.reads.push_back(id);
      }
      if (access != kernel::Access::kRead) step.writes.push_back(id);
    }
    std::vector<Indices> checks;
    for (const kernel::IndexCheck& check : from.checks)
      checks.push_back({check, ids[check.buffer]});
    if (checks.empty()) {
      step.run = [call = std::move(call)](const StepContext& context) { call.Run(context); };
    } else {
      step.run = [call = std::move(call), checks = std::move(checks)](const StepContext& context) {
        for (const Indices& indices : checks) indices.Run(context);
        call.Run(context);
      };
    }
    builder.AddStep(std::move(step));
  }
  builder.AddConstantGroup(std::move(group));
}

std::string CodeDigest(const kernel::Program& program, const Graph& graph, int threads) {
  using Kind = kernel::ProgramBuffer::Kind;
  Sha256 hash;
  // Writes each part after its length, so that different lists of parts give different bytes.
  const auto add = [&](std::string_view part) {
    hash.Add(std::to_string(part.size()) + ":");
    hash.Add(part);
  };
  const auto add_number = [&](std::size_t number) { add(std::to_string(number)); };
  add_number(static_cast<std::size_t>(threads));
  add_number(program.buffers.size());
  for (const kernel::ProgramBuffer& buffer : program.buffers) {
    add_number(static_cast<std::size_t>(buffer.kind));
    add(buffer.kind == Kind::kValue ? graph.value(buffer.value).name : "");
    add_number(buffer.constant ? buffer.constant->bytes() : buffer.bytes);
  }
  add_number(program.funcs.size());
  for (const kernel::KernelFunc& func : program.funcs) add(kernel::Print(func));
  for (const kernel::ProgramCall& call : program.calls) {
    add_number(call.func);
    add(call.name);
    add_number(call.buffers.size());
    for (const std::size_t buffer : call.buffers) add_number(buffer);
  }
  return hash.Hex();
}

}  // namespace msc
