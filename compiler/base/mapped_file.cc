#include "compiler/base/mapped_file.h"

#include <cerrno>

#include <sys/mman.h>

#include "compiler/base/error.h"

namespace msc {

MappedFile::MappedFile(int fd, std::size_t size) {
  Check(size > 0, "a mapping has at least one byte");
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (start == MAP_FAILED) throw SystemError("cannot map a file", errno);
  bytes_ = {static_cast<const std::byte*>(start), size};
}

MappedFile::~MappedFile() {
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace msc
