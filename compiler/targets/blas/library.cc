#include "compiler/targets/blas/library.h"

#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "compiler/base/address_space.h"
#include "compiler/base/error.h"
#include "compiler/runtime/threads.h"
#include "compiler/targets/blas/xsmm.h"

namespace msc::blas {
namespace {

// Constants of the C interface of BLAS.
constexpr int kRowMajor = 101;
constexpr int kAsIs = 111;
constexpr int kTransposed = 112;
using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                       float alpha, const float* a, int lda, const float* b, int ldb, float beta,
                       float* c, int ldc);

// The functions of one loaded library, in static members, so that a product needs no lookup.
template <class Tag>
struct Entry {
  static inline Sgemm sgemm = nullptr;
  static inline void (*set_threads)(int threads) = nullptr;
  // Products with the current thread count hold `products` shared; a change of the count holds it
  // exclusively. A thread that waits to change the count holds `door`, so that new products with
  // the old count cannot starve it.
  static inline std::mutex door;
  static inline std::shared_mutex products;
  static inline int count = 0;  // guarded by `door`

  static void Multiply(char* const* addresses, const long* integers) {  // NOLINT(*-runtime-int)
    const kernel::Sgemm p = kernel::ToSgemm(integers);
    const auto threads = static_cast<int>(p.threads);
    UseThreads(threads);
    std::unique_lock at_door(door);
    if (count != threads) {
      const std::unique_lock alone(products);
      set_threads(threads);
      count = threads;
    }
    const std::shared_lock beside(products);
    at_door.unlock();
    Call(p, addresses);
  }

  static void Call(const kernel::Sgemm& p, char* const* addresses) {
    sgemm(kRowMajor, p.transpose_a ? kTransposed : kAsIs, p.transpose_b ? kTransposed : kAsIs,
          static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k), 1.0F,
          reinterpret_cast<const float*>(addresses[0]), static_cast<int>(p.lda),
          reinterpret_cast<const float*>(addresses[1]), static_cast<int>(p.ldb), 0.0F,
          reinterpret_cast<float*>(addresses[2]), static_cast<int>(p.ldc));
  }
};

template <class Function>
Function Symbol(void* handle, const char* library, const char* name) {
  void* const symbol = dlsym(handle, name);
  if (symbol == nullptr) throw UserError(std::string(library) + " has no function " + name);
  return reinterpret_cast<Function>(symbol);
}

void* Open(const char* name, const std::string& package) {
  void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw UserError(std::string(dlerror()) + " (Debian package " + package + ")");
  }
  return handle;
}

/// Sets `variable` where the library would not detect that the CPU has AVX-512. `knows_intel`: the
/// library detects AVX-512 on Intel CPUs. Keeps a value that the user set.
void ChooseKernels(const char* variable, const char* value, bool knows_intel) {
#if defined(__x86_64__)
  const bool wide =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  const bool seen = knows_intel && __builtin_cpu_is("intel") != 0;
  if (wide && !seen) setenv(variable, value, /*overwrite=*/0);
#else
  static_cast<void>(variable);
  static_cast<void>(value);
  static_cast<void>(knows_intel);
#endif
}

bool IsLimited(__rlimit_resource_t resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// Makes OpenBLAS allocate its buffer now if the memory of the process is limited. OpenBLAS
/// allocates it in the first product and retries forever if the allocation fails. UserError if the
/// buffer does not fit.
void TakeBuffer(Sgemm sgemm) {
  if (!IsLimited(RLIMIT_AS) && !IsLimited(RLIMIT_DATA)) return;
  void* const trial = mmap(nullptr, kOpenBlasBufferBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (trial == MAP_FAILED) {
    throw UserError("OpenBLAS takes " + std::to_string(kOpenBlasBufferBytes >> 20) +
                    " MB for its products, and the memory of this process is limited to less");
  }
  munmap(trial, kOpenBlasBufferBytes);
  constexpr int kSide = 192;  // too large for the kernels that use no buffer
  const std::vector<float> zeros(std::size_t{kSide} * kSide);
  std::vector<float> product(zeros.size());
  sgemm(kRowMajor, kAsIs, kAsIs, kSide, kSide, kSide, 1.0F, zeros.data(), kSide, zeros.data(),
        kSide, 0.0F, product.data(), kSide);
}

struct OpenBlas {};
struct Blis {};

Library LoadOpenBlas() {
  constexpr const char* kName = "libopenblas.so.0";
  ChooseKernels("OPENBLAS_CORETYPE", "SkylakeX", /*knows_intel=*/true);
  void* const handle = Open(kName, "libopenblas0-openmp");
  Entry<OpenBlas>::sgemm = Symbol<Sgemm>(handle, kName, "cblas_sgemm");
  const auto config = Symbol<const char* (*)()>(handle, kName, "openblas_get_config");
  const auto core = Symbol<const char* (*)()>(handle, kName, "openblas_get_corename");
  const std::string words = config();  // "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."
  const std::size_t end = words.find(' ', words.find(' ') + 1);
  Entry<OpenBlas>::set_threads = Symbol<void (*)(int)>(handle, kName, "openblas_set_num_threads");
  TakeBuffer(Entry<OpenBlas>::sgemm);
  return {.version = words.substr(0, end) + " " + core(), .sgemm = Entry<OpenBlas>::Multiply};
}

void (*blis_set_threads)(std::int64_t) = nullptr;  // NOLINT: set once, where it is loaded

Library LoadBlis() {
  constexpr const char* kName = "libblis.so.4";
  // BLIS derives the number of FMA units of a Xeon from its model name, which virtual machines
  // hide.
  ChooseKernels("BLIS_ARCH_TYPE", "0", /*knows_intel=*/false);  // skx
  void* const handle = Open(kName, "libblis4-openmp");
  Entry<Blis>::sgemm = Symbol<Sgemm>(handle, kName, "cblas_sgemm");
  // BLIS aborts the process if it is queried before its kernels are initialized.
  Symbol<void (*)()>(handle, kName, "bli_init")();
  blis_set_threads = Symbol<void (*)(std::int64_t)>(handle, kName, "bli_thread_set_num_threads");
  Entry<Blis>::set_threads = [](int threads) { blis_set_threads(threads); };
  const auto version = Symbol<const char* (*)()>(handle, kName, "bli_info_get_version_str");
  const auto arch = Symbol<int (*)()>(handle, kName, "bli_arch_query_id");
  const auto name = Symbol<const char* (*)(int)>(handle, kName, "bli_arch_string");
  return {.version = std::string("BLIS ") + version() + " " + name(arch()),
          .sgemm = Entry<Blis>::Multiply};
}

}  // namespace

const Library& LoadLibrary(const std::string& name) {
  if (name == "xsmm") return LoadXsmm();
  if (name == "blis") {
    static const Library library = LoadBlis();
    return library;
  }
  static const Library library = LoadOpenBlas();
  return library;
}

}  // namespace msc::blas
