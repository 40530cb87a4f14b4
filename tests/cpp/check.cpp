// See check.hpp. `tests [WORD]` runs the tests whose names hold WORD, all without it. Closes with CHECK_NAME.
#include "check.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace {

struct entry {
  std::string name;
  void (*run)();
};

std::vector<entry>& entries()
{
  static std::vector<entry> all;
  return all;
}

bool failed_here;

// A size is kept before each piece, at the distance of the alignment that is promised.
constexpr std::size_t front = 16;

void* allocate(void* context, std::size_t size)
{
  auto& self = *static_cast<counted_allocator*>(context);
  if (self.refuse_from <= size)
    return nullptr;
  auto* memory = static_cast<std::byte*>(std::malloc(front + size));
  std::memcpy(memory, &size, sizeof size);
  self.out++;
  return memory + front;
}

void deallocate(void* context, void* memory, std::size_t size)
{
  auto& self = *static_cast<counted_allocator*>(context);
  auto* piece = static_cast<std::byte*>(memory) - front;
  std::size_t asked = 0;
  std::memcpy(&asked, piece, sizeof asked);
  self.wrong_sizes += asked != size;
  self.out--;
  std::free(piece);
}

} // namespace

counted_allocator::counted_allocator()
{
  c.struct_size = sizeof c;
  c.allocate = allocate;
  c.deallocate = deallocate;
  c.context = this;
}

check::test::test(const char* name, void (*run)())
{
  entries().push_back({name, run});
}

void check::failed(const char* file, int line, const std::string& what)
{
  std::printf("  %s:%d: %s\n", file, line, what.c_str());
  failed_here = true;
}

int main(int count, char** arguments)
{
  unsigned passed = 0, failed = 0;
  for (const entry& test : entries()) {
    if (count > 1 && test.name.find(arguments[1]) == std::string::npos)
      continue;
    failed_here = false;
    try {
      test.run();
    } catch (const std::exception& error) {
      check::failed("the test", 0, std::string("let out ") + error.what());
    } catch (...) {
      check::failed("the test", 0, "let out what is no std::exception");
    }
    std::string sentence = test.name;
    std::replace(sentence.begin(), sentence.end(), '_', ' ');
    std::printf("%s - %s\n", failed_here ? "FAILED" : "ok", sentence.c_str());
    std::fflush(stdout);
    passed += !failed_here;
    failed += failed_here;
  }
  const char* name = std::getenv("CHECK_NAME");
  std::printf("%s: %u passed, %u failed\n", name != nullptr ? name : "cpp", passed, failed);
  return failed > 0 || passed == 0;
}
