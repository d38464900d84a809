#include "tests/support/library_loop.h"

namespace msc::test {

void LibraryLoop(int threads, void (*body)(void* object), void* object) {
#pragma omp parallel num_threads(threads)
  body(object);
}

}  // namespace msc::test
