// Entry of libFuzzer. MSC_FUZZ_TARGET is the target's function, set by CMakeLists.txt.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  msc::fuzz::MSC_FUZZ_TARGET({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
