#include "compiler/targets/native/module.h"

#include <dlfcn.h>

#include "compiler/base/error.h"
#include "compiler/codegen/cpp/emit.h"
#include "compiler/kernel/call.h"
#include "compiler/kernel/verify.h"

namespace msc {

Result<std::shared_ptr<const kernel::Module>> BuildModule(std::span<const kernel::KernelFunc> funcs,
                                                          const Isa& isa,
                                                          const BuildOptions& options,
                                                          const FindFunction& find) {
  std::vector<std::string> flags = EmittedTextOptions();
  const std::vector<std::string> machine = CompilerOptions(isa);
  flags.insert(flags.end(), machine.begin(), machine.end());

  // One translation unit per kernel: they compile in parallel, and the cache finds each one
  // whatever else a model contains.
  std::vector<CompileJob> jobs;
  std::vector<std::vector<kernel::LibraryFunction>> tables(funcs.size());
  for (const kernel::KernelFunc& func : funcs) {
    kernel::CheckVerified(func);
    for (const std::string& name : kernel::CalledFunctions(func)) {
      std::vector<kernel::LibraryFunction>& table = tables[jobs.size()];
      table.push_back(find ? find(name) : nullptr);
      Check(table.back() != nullptr, "the functions that kernels call are known");
    }
    jobs.push_back({EmitCpp({&func, 1}, isa), flags});
  }
  auto loaded = CompileAndLoad(jobs, options);
  if (!loaded.ok()) return loaded.failure();

  std::vector<kernel::Entry> entries;
  for (const std::shared_ptr<void>& library : loaded.value()) {
    void* const symbol = ::dlsym(library.get(), FunctionSymbol(0).c_str());
    if (symbol == nullptr) {
      return Failure{FailureKind::kCompile, "the function is missing in the generated code"};
    }
    entries.push_back(reinterpret_cast<kernel::Entry>(symbol));
  }
  return std::shared_ptr<const kernel::Module>(std::make_shared<kernel::Module>(
      std::move(loaded).value(), std::move(entries), std::move(tables)));
}

}  // namespace msc
