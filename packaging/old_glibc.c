// Functions of newer C libraries that the static libstdc++ and libgcc of the compiler call. A wheel
// that contains them also runs with glibc 2.28, see packaging/wheel.
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

// glibc 2.32. False: libstdc++ always uses atomic instructions for its counters.
char __libc_single_threaded = 0;

// glibc 2.36. std::random_device calls it.
uint32_t arc4random(void) {
  uint32_t value;
  while (getrandom(&value, sizeof value, 0) != sizeof value) continue;
  return value;
}

// glibc 2.38. They also read binary numbers such as 0b1, which nothing here uses. Headers of newer
// C libraries rename the functions, so the old ones are declared by their symbols.
#define OLD_FUNCTION(type, name)                                   \
  extern type old_##name(const char*, char**, int) __asm__(#name); \
  type __isoc23_##name(const char* text, char** end, int base) {   \
    return old_##name(text, end, base);                            \
  }
OLD_FUNCTION(long, strtol)
OLD_FUNCTION(unsigned long, strtoul)
OLD_FUNCTION(long long, strtoll)
OLD_FUNCTION(unsigned long long, strtoull)

// The library or program that contains an address.
struct Search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int visit_library(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  const struct Search* search = data;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  void* eh_frame = NULL;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
    const uintptr_t first = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME) eh_frame = (void*)first;
    if (segment->p_type != PT_LOAD) continue;
    if (first < begin) begin = first;
    if (first + segment->p_memsz > end) end = first + segment->p_memsz;
  }
  if (search->address < begin || search->address >= end || !eh_frame) return 0;
  search->found->dlfo_flags = 0;
  search->found->dlfo_map_start = (void*)begin;
  search->found->dlfo_map_end = (void*)end;
  search->found->dlfo_link_map = NULL;  // libgcc does not read it
  search->found->dlfo_eh_frame = eh_frame;
  return 1;
}

// glibc 2.35. libgcc finds the handlers of exceptions with it.
int _dl_find_object(void* address, struct dl_find_object* found) {
  struct Search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(visit_library, &search) == 1 ? 0 : -1;
}
