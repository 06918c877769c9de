// Makes a program see pages of memory of 64 kB, as some kernels have on 64-bit ARM. The library is
// loaded with LD_PRELOAD:
//
//   LD_PRELOAD=.. cache_test
//
// Only sysconf() says so. The kernel keeps its pages, so mmap(2) still takes every offset that is a
// multiple of them.
#include <dlfcn.h>
#include <unistd.h>

extern "C" long sysconf(int name) noexcept {
  constexpr long kPageBytes = 65536;
  static auto* const real = reinterpret_cast<long (*)(int)>(::dlsym(RTLD_NEXT, "sysconf"));
  return name == _SC_PAGESIZE ? kPageBytes : real(name);
}
