#include "compiler/codegen/cpp/package_text.h"

namespace msc {
namespace {

constexpr std::string_view kHeader = R"text(#pragma once
/* C interface of the exported model. Inputs and outputs are dense, row-major, numbered as in
 * README.md. */
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct model model;

/* Loads the weights from the folder of this package; NULL with a line on stderr if that fails, or
 * if no variant runs on this processor. `variant` is a name such as "avx2"; NULL: the first that
 * runs. */
model* model_open(const char* folder, const char* variant);
void model_close(model* m);
/* Computes outputs[0..] of inputs[0..]; the caller owns all of them. One call at a time for a
 * model. */
void model_run(model* m, const void* const* inputs, void* const* outputs);

size_t model_input_count(void);
size_t model_output_count(void);
size_t model_input_bytes(size_t index);
size_t model_output_bytes(size_t index);
size_t model_variant_count(void);
const char* model_variant_name(size_t index);
int model_variant_runs_here(size_t index);

#ifdef __cplusplus
}
#endif
)text";

constexpr std::string_view kRuntime = R"text(
struct model {
  const Variant* variant;
  char* memory;  // weights, then the arena
};

namespace {

#if defined(__x86_64__)
// clang 14 has no name for these instructions in __builtin_cpu_supports.
bool HasF16C() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 29));
}
#endif

bool Supports(const Variant& variant) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2") && HasF16C();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  // kNeeds*: bits that WriteCppPackage sets.
  return (!(variant.needs & kNeedsAvx2) || avx2) && (!(variant.needs & kNeedsAvx512) || avx512) &&
         (!(variant.needs & kNeedsVnni) || __builtin_cpu_supports("avx512vnni")) &&
         (!(variant.needs & kNeedsBf16) || __builtin_cpu_supports("avx512bf16"));
#else
  return variant.needs == 0;
#endif
}

// Huge pages, where the system has them: every run reads all weights.
char* NewMemory(size_t bytes) {
  const size_t page = bytes < (1u << 20) ? 64 : 2u << 20;
  const size_t whole = (bytes + page - 1) / page * page;
  char* const memory = (char*)aligned_alloc(page, whole);
#ifdef MADV_HUGEPAGE
  if (memory != nullptr && page > 64) madvise(memory, whole, MADV_HUGEPAGE);
#endif
  return memory;
}

bool ReadWeights(const char* folder, const Variant& variant, char* to) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s/weights_%s.bin", folder, variant.name);
  if (length < 0 || (size_t)length >= sizeof path) return false;
  FILE* const file = fopen(path, "rb");
  if (file == nullptr) return false;
  char beyond = 0;
  const bool whole = fread(to, 1, variant.weight_bytes, file) == variant.weight_bytes &&
                     fread(&beyond, 1, 1, file) == 0;
  fclose(file);
  return whole;
}

}  // namespace

model* model_open(const char* folder, const char* name) {
  for (const Variant& variant : kVariants) {
    if (name != nullptr ? strcmp(name, variant.name) != 0 : !Supports(variant)) continue;
    if (!Supports(variant)) break;
    char* const memory = NewMemory(variant.weight_bytes + variant.arena_bytes + 64);
    model* const m = (model*)malloc(sizeof(model));
    if (memory != nullptr && m != nullptr && ReadWeights(folder, variant, memory)) {
      *m = model{&variant, memory};
      return m;
    }
    fprintf(stderr, "model: cannot read weights_%s.bin\n", variant.name);
    free(memory);
    free(m);
    return nullptr;
  }
  fprintf(stderr, "model: no such variant runs on this processor\n");
  return nullptr;
}

void model_close(model* m) {
  if (m == nullptr) return;
  free(m->memory);
  free(m);
}

void model_run(model* m, const void* const* inputs, void* const* outputs) {
  const Variant& variant = *m->variant;
  for (size_t c = 0; c < variant.call_count; ++c) {
    const Call& call = variant.calls[c];
    char* buffers[kMostBuffers];
    for (size_t i = 0; i < call.count; ++i) {
      const Place& place = variant.places[call.first + i];
      buffers[i] = place.kind == kInput    ? (char*)inputs[place.at]
                   : place.kind == kOutput ? (char*)outputs[place.at]
                   : place.kind == kWeight ? m->memory + place.at
                                           : m->memory + variant.weight_bytes + place.at;
    }
    call.function(buffers, 0, call.extent);
  }
}

size_t model_input_count(void) {
  return sizeof kInputBytes / sizeof kInputBytes[0] - 1;
}
size_t model_output_count(void) {
  return sizeof kOutputBytes / sizeof kOutputBytes[0] - 1;
}
size_t model_input_bytes(size_t index) {
  return kInputBytes[index];
}
size_t model_output_bytes(size_t index) {
  return kOutputBytes[index];
}
size_t model_variant_count(void) {
  return sizeof kVariants / sizeof kVariants[0];
}
const char* model_variant_name(size_t index) {
  return kVariants[index].name;
}
int model_variant_runs_here(size_t index) {
  return Supports(kVariants[index]) ? 1 : 0;
}
)text";

constexpr std::string_view kTest =
    R"text(// Runs every variant that this processor can run on the recorded example and compares.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "example.h"
#include "model.h"

static std::vector<char> Read(const std::string& path, size_t bytes) {
  std::vector<char> content(bytes);
  FILE* const file = fopen(path.c_str(), "rb");
  if (file == nullptr || fread(content.data(), 1, bytes, file) != bytes) {
    fprintf(stderr, "cannot read %s\n", path.c_str());
    exit(1);
  }
  fclose(file);
  return content;
}

// The float of 4 bytes, or of 2 (binary16), at p.
static float FloatAt(const char* p, int bytes) {
  float x = 0;
  if (bytes == 4) {
    memcpy(&x, p, 4);
    return x;
  }
  unsigned short half = 0;
  memcpy(&half, p, 2);
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31) {
    x = fraction != 0 ? NAN : INFINITY;
  } else {
    x = std::ldexp(float(exponent == 0 ? fraction : fraction + 1024),
                   (exponent == 0 ? 1 : exponent) - 25);
  }
  return half >> 15 != 0 ? -x : x;
}

// Largest error of floats of so many bytes, as a part of the range of what is wanted.
static double Error(const std::vector<char>& want, const std::vector<char>& got, int bytes) {
  double error = 0, least = 0, most = 0;
  for (size_t i = 0; i + bytes <= want.size(); i += bytes) {
    const float x = FloatAt(&want[i], bytes), y = FloatAt(&got[i], bytes);
    if (!(std::isfinite(y))) return INFINITY;
    if (std::fabs(double(x) - y) > error) error = std::fabs(double(x) - y);
    if (i == 0 || x < least) least = x;
    if (i == 0 || x > most) most = x;
  }
  return error == 0 ? 0 : error / (most > least ? most - least : 1);
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  int run = 0;
  for (size_t v = 0; v < model_variant_count(); ++v) {
    if (!model_variant_runs_here(v)) continue;
    model* const m = model_open(folder.c_str(), model_variant_name(v));
    if (m == nullptr) return 1;
    std::vector<std::vector<char>> inputs, outputs;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (size_t i = 0; i < model_input_count(); ++i) {
      inputs.push_back(Read(folder + "/example/input_" + std::to_string(i) + ".bin",
                            model_input_bytes(i)));
    }
    for (size_t i = 0; i < model_output_count(); ++i) outputs.emplace_back(model_output_bytes(i));
    for (auto& input : inputs) from.push_back(input.data());
    for (auto& output : outputs) to.push_back(output.data());
    model_run(m, from.data(), to.data());
    model_close(m);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::vector<char> want = Read(
          folder + "/example/output_" + std::to_string(i) + ".bin", outputs[i].size());
      const double error = kFloatBytes[i] > 0 ? Error(want, outputs[i], kFloatBytes[i])
                                              : (want == outputs[i] ? 0 : INFINITY);
      printf("%s output %zu: error %g of the range\n", model_variant_name(v), i, error);
      if (!(error <= kTolerance)) return 1;
    }
    ++run;
  }
  printf("%d variants agree\n", run);
  return run > 0 ? 0 : 1;
}
)text";

}  // namespace

std::string_view PackageHeaderText() {
  return kHeader;
}
std::string_view PackageRuntimeText() {
  return kRuntime;
}
std::string_view PackageTestText() {
  return kTest;
}

}  // namespace msc
