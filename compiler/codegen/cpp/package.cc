#include "compiler/codegen/cpp/package.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/formatted.h"
#include "compiler/codegen/cpp/emit.h"
#include "compiler/codegen/cpp/package_text.h"
#include "compiler/kernel/call.h"
#include "compiler/kernel/verify.h"
#include "compiler/runtime/memory_plan.h"

namespace msc {

using kernel::Program;
using kernel::ProgramBuffer;

namespace {

constexpr std::size_t kAlignment = 64;

std::size_t Aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::string_view BytesOf(const Tensor& tensor) {
  const auto raw = tensor.Raw();
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

/// Location of a buffer while the model runs.
struct Place {
  std::string_view kind;  ///< "kInput", "kOutput", "kWeight", "kArena"
  std::size_t at = 0;     ///< index of the port, or offset
};

struct Layout {
  std::vector<Place> places;  ///< one per buffer of the program
  std::string weights;
  std::size_t arena_bytes = 0;
};

std::optional<std::size_t> PortOf(const std::vector<PackagePort>& ports, ValueId value) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].value == value) return i;
  }
  return std::nullopt;
}

Layout LayOut(const CppPackage& package, const Program& program) {
  Layout layout;
  layout.places.resize(program.buffers.size());
  std::vector<std::size_t> planned;  // buffer of each lifetime
  std::vector<Lifetime> lifetimes;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const ProgramBuffer& buffer = program.buffers[b];
    const bool is_value = buffer.kind == ProgramBuffer::Kind::kValue;
    const auto input = is_value ? PortOf(package.inputs, buffer.value) : std::nullopt;
    const auto output = is_value ? PortOf(package.outputs, buffer.value) : std::nullopt;
    if (buffer.kind == ProgramBuffer::Kind::kConstant) {
      layout.places[b] = {"kWeight", layout.weights.size()};
      layout.weights += BytesOf(*buffer.constant);
      layout.weights.resize(Aligned(layout.weights.size()));
    } else if (input) {
      layout.places[b] = {"kInput", *input};
    } else if (output) {
      layout.places[b] = {"kOutput", *output};
    } else {
      if (is_value && buffer.bytes == 0) {
        throw UserError("the model reads a value that is neither its input nor computed");
      }
      planned.push_back(b);
      // The first use lies after all calls and the last before them, until calls narrow both.
      lifetimes.push_back({buffer.bytes, program.calls.size(), 0});
    }
  }
  for (std::size_t c = 0; c < program.calls.size(); ++c) {
    for (std::size_t i = 0; i < planned.size(); ++i) {
      const auto& used = program.calls[c].buffers;
      if (std::find(used.begin(), used.end(), planned[i]) == used.end()) continue;
      lifetimes[i].first = std::min(lifetimes[i].first, c);
      lifetimes[i].last = std::max(lifetimes[i].last, c);
    }
  }
  // A buffer that no call uses keeps the last use 0.
  for (Lifetime& lifetime : lifetimes) lifetime.first = std::min(lifetime.first, lifetime.last);
  const MemoryPlan plan = PlanMemory(lifetimes, kAlignment);
  layout.arena_bytes = plan.bytes;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    layout.places[planned[i]] = {"kArena", plan.offsets[i]};
  }
  return layout;
}

void CheckOutputs(const CppPackage& package, const Program& program) {
  for (const PackagePort& port : package.outputs) {
    bool written = false;
    for (const kernel::ProgramCall& call : program.calls) {
      for (std::size_t i = 0; i < call.buffers.size(); ++i) {
        const ProgramBuffer& buffer = program.buffers[call.buffers[i]];
        written =
            written || (buffer.kind == ProgramBuffer::Kind::kValue && buffer.value == port.value &&
                        program.funcs[call.func].buffers[i].access != kernel::Access::kRead);
      }
    }
    if (!written) throw UserError("output '" + port.name + "' is not computed by kernels");
  }
}

unsigned Needs(const Isa& isa) {
  return (isa.avx2 ? 1U : 0U) | (isa.avx512 ? 2U : 0U) | (isa.vnni ? 4U : 0U) |
         (isa.bf16 ? 8U : 0U);
}

/// Tables of one variant, and its row in the table of variants.
struct VariantText {
  std::string tables;
  std::string row;
};

VariantText Describe(const Program& program, const Isa& isa, const Layout& layout) {
  const std::string name = ToString(isa);
  VariantText text;
  std::string places;
  std::string calls;
  std::size_t first = 0;
  for (std::size_t f = 0; f < program.funcs.size(); ++f) {
    text.tables += "extern \"C\" void " + FunctionSymbol(f, name + "_") +
                   "(char* const* buffers, long begin, long end);\n";
  }
  for (const kernel::ProgramCall& call : program.calls) {
    calls += "    {" + FunctionSymbol(call.func, name + "_") + ", " +
             std::to_string(program.funcs[call.func].parallel_extent()) + ", " +
             std::to_string(first) + ", " + std::to_string(call.buffers.size()) + "},\n";
    first += call.buffers.size();
    for (const std::size_t buffer : call.buffers) {
      places += "    {" + std::string(layout.places[buffer].kind) + ", " +
                std::to_string(layout.places[buffer].at) + "},\n";
    }
  }
  text.tables +=
      "static const Place k_places_" + name + "[] = {\n" + places + "    {kArena, 0}};\n";
  text.tables +=
      "static const Call k_calls_" + name + "[] = {\n" + calls + "    {nullptr, 0, 0, 0}};\n";
  text.row = "    {\"" + name + "\", " + std::to_string(Needs(isa)) + ", " +
             std::to_string(layout.weights.size()) + ", " + std::to_string(layout.arena_bytes) +
             ", k_calls_" + name + ", " + std::to_string(program.calls.size()) + ", k_places_" +
             name + "},\n";
  return text;
}

std::size_t BytesOf(const PackagePort& port) {
  return static_cast<std::size_t>(ElementCount(port.dims)) * ByteSize(port.dtype);
}

std::string Sizes(const char* name, const std::vector<PackagePort>& ports) {
  std::string text = "static const size_t " + std::string(name) + "[] = {";
  for (const PackagePort& port : ports) text += std::to_string(BytesOf(port)) + ", ";
  return text + "0};\n";
}

std::string ModelText(const CppPackage& package, const std::vector<VariantText>& variants) {
  std::size_t most = 1;
  for (const PackageVariant& variant : package.variants) {
    for (const auto& call : variant.program.calls) most = std::max(most, call.buffers.size());
  }
  std::string text =
      "#include \"model.h\"\n\n#if defined(__x86_64__)\n#include <cpuid.h>\n#endif\n"
      "#if defined(__linux__)\n#include <sys/mman.h>\n#endif\n#include <stdio.h>\n#include "
      "<stdlib.h>\n#include <string.h>\n\n"
      "enum { kInput, kOutput, kWeight, kArena };\n"
      "enum { kNeedsAvx2 = 1, kNeedsAvx512 = 2, kNeedsVnni = 4, kNeedsBf16 = 8 };\n"
      "struct Place {\n  int kind;\n  size_t at;\n};\n"
      "struct Call {\n  void (*function)(char* const*, long, long);\n  long extent;\n"
      "  size_t first;  // of its places\n  size_t count;\n};\n"
      "struct Variant {\n  const char* name;\n  unsigned needs;\n  size_t weight_bytes;\n"
      "  size_t arena_bytes;\n  const Call* calls;\n  size_t call_count;\n  const Place* places;\n"
      "};\n";
  text += "static const size_t kMostBuffers = " + std::to_string(most) + ";\n";
  text += Sizes("kInputBytes", package.inputs) + Sizes("kOutputBytes", package.outputs);
  std::string rows;
  for (const VariantText& variant : variants) {
    text += variant.tables;
    rows += variant.row;
  }
  text += "static const Variant kVariants[] = {\n" + rows + "};\n";
  return text + std::string(PackageRuntimeText());
}

std::string BuildText(const CppPackage& package) {
  std::string sources;
  std::string properties;
  const auto options = [](const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& option : list) text += (text.empty() ? "" : ";") + option;
    return text;
  };
  for (const PackageVariant& variant : package.variants) {
    const std::string file = "kernels_" + ToString(variant.isa) + ".cc";
    std::vector<std::string> flags = EmittedTextOptions();
    const std::vector<std::string> machine = CompilerOptions(variant.isa);
    flags.insert(flags.end(), machine.begin(), machine.end());
    sources += " " + file;
    properties += "set_source_files_properties(" + file + " PROPERTIES COMPILE_OPTIONS \"" +
                  options(flags) + "\")\n";
  }
  return "cmake_minimum_required(VERSION 3.13)\nproject(model LANGUAGES CXX)\n"
         "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\n"
         "set(CMAKE_CXX_STANDARD 17)\nset(CMAKE_POSITION_INDEPENDENT_CODE ON)\n"
         "add_library(model STATIC model.cc" +
         sources + ")\ntarget_include_directories(model PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n" +
         properties +
         "enable_testing()\nadd_executable(model_test test.cc)\n"
         "target_link_libraries(model_test PRIVATE model)\n"
         "add_test(NAME model_test COMMAND model_test ${CMAKE_CURRENT_SOURCE_DIR})\n";
}

/// Returns printable ASCII; replaces other characters by '?', since a README must not contain
/// control characters.
std::string Readable(const std::string& name) {
  std::string text = name.substr(0, 200);
  for (char& c : text) {
    if (c < ' ' || c > '~' || c == '`' || c == '|') c = '?';
  }
  return text;
}

std::string ReadmeText(const CppPackage& package) {
  std::string text =
      "# Exported model\n\nBuild and test: `cmake -S . -B build && cmake --build build && ctest "
      "--test-dir build`.\nmodel.h is the interface; the weights are read from the folder that "
      "`model_open` is given.\n\n| port | name | type | shape |\n|---|---|---|---|\n";
  const auto add = [&](const char* what, const std::vector<PackagePort>& ports) {
    for (std::size_t i = 0; i < ports.size(); ++i) {
      text += "| " + std::string(what) + " " + std::to_string(i) + " | `" +
              Readable(ports[i].name) + "` | " + std::string(Name(ports[i].dtype)) + " | " +
              ToString(ports[i].dims) + " |\n";
    }
  };
  add("input", package.inputs);
  add("output", package.outputs);
  return text;
}

std::string ExampleText(const CppPackage& package) {
  std::string text =
      Formatted("static const double kTolerance = %.9g;\nstatic const int kFloatBytes[] = {",
                package.tolerance);
  for (const PackagePort& port : package.outputs) {
    text += port.dtype == DType::kF32 ? "4, " : port.dtype == DType::kF16 ? "2, " : "0, ";
  }
  return text + "0};\n";
}

void WriteExample(const std::vector<Tensor>& tensors, const std::vector<PackagePort>& ports,
                  const std::string& prefix) {
  Check(tensors.size() == ports.size(), "an example has a tensor for each port");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Check(tensors[i].bytes() == BytesOf(ports[i]), "an example has the size of its port");
    WriteFileAtomic(prefix + std::to_string(i) + ".bin", BytesOf(tensors[i]));
  }
}

}  // namespace

void WriteCppPackage(const CppPackage& package, const std::string& folder) {
  Check(!package.variants.empty(), "a package has a variant");
  if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder)) {
    throw UserError("'" + folder + "' is not empty: give a new folder");
  }
  // Make all texts before writing the first file.
  std::vector<VariantText> variants;
  std::vector<std::pair<std::string, std::string>> files;
  for (const PackageVariant& variant : package.variants) {
    CheckOutputs(package, variant.program);
    for (const kernel::KernelFunc& func : variant.program.funcs) {
      kernel::CheckVerified(func);
      const std::vector<std::string> called = kernel::CalledFunctions(func);
      if (!called.empty()) {
        throw UserError("a kernel calls '" + called.front() +
                        "' of a library, and exported code has no libraries");
      }
    }
    Layout layout = LayOut(package, variant.program);
    const std::string name = ToString(variant.isa);
    variants.push_back(Describe(variant.program, variant.isa, layout));
    files.emplace_back("weights_" + name + ".bin", std::move(layout.weights));
    files.emplace_back("kernels_" + name + ".cc",
                       EmitCpp(variant.program.funcs, variant.isa, name + "_"));
  }
  MakeFolders(folder + "/example");
  for (const auto& [name, content] : files) WriteFileAtomic(folder + "/" + name, content);
  WriteFileAtomic(folder + "/model.h", PackageHeaderText());
  WriteFileAtomic(folder + "/model.cc", ModelText(package, variants));
  WriteFileAtomic(folder + "/test.cc", PackageTestText());
  WriteFileAtomic(folder + "/example.h", ExampleText(package));
  WriteFileAtomic(folder + "/CMakeLists.txt", BuildText(package));
  WriteFileAtomic(folder + "/README.md", ReadmeText(package));
  WriteExample(package.example_inputs, package.inputs, folder + "/example/input_");
  WriteExample(package.example_outputs, package.outputs, folder + "/example/output_");
}

}  // namespace msc
