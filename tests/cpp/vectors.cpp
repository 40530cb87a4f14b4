// Runs the conformance vectors of a folder through the C++ interface: vectors DIR. Each case in every drive (pull by a
// collector, pull by the one-shot functions, push, window), with every result, in both kinds of memory. The JSON is read
// by the C runner's own code.

#include <brimful.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "source.h"
#include "vector.h"
}

namespace {

// One way of running a case, and what came of it.
struct run {
  const struct vector& vector;
  enum drive drive;
  enum result result;
  brimful::pool pool;
  brimful::cancel cancel{};
  brimful::options options{};
  std::size_t step = 0;   // of the source
  std::uint64_t done = 0; // bytes or times of that step
  std::uint64_t given = 0, calls = 0, asked = 0, pendings = 0;
  brimful_status status = BRIMFUL_OK;
  std::int32_t source_error = 0;                    // what the exception said
  std::uint64_t length = ABSENT, partial = ABSENT; // ABSENT: there was none
  brimful::info info{};
  std::string problem{};

  void wrong(const std::string& what)
  {
    if (problem.empty())
      problem = what;
  }

  // Cancel is asked for as the call before it returns; as the first step, before the first call.
  void cancel_if_next()
  {
    for (; step < vector.step_count && vector.steps[step].kind == CANCEL; step++)
      cancel.trigger();
  }

  void next_step()
  {
    step++;
    done = 0;
    cancel_if_next();
  }

  brimful::answer ask(brimful::span<std::byte> window)
  {
    const struct step& now = vector.steps[step];
    calls++;
    asked += window.size();
    if (step == vector.step_count || now.kind == END)
      return brimful::answer::end();
    if (now.kind == OVER) {
      const std::uint64_t room = window.size();
      next_step();
      return brimful::answer::bytes(now.count > SIZE_MAX - room ? SIZE_MAX : room + now.count);
    }
    if (now.kind == ANSWER) {
      if (++done >= now.count)
        next_step();
      return brimful::answer{0, now.then};
    }
    const std::uint64_t count = std::min({now.count - done, now.each, std::uint64_t{window.size()}});
    paint(window.data(), given, count);
    given += count;
    done += count;
    if (done < now.count)
      return brimful::answer::bytes(count);
    next_step();
    return brimful::answer{count, now.then};
  }
};

std::optional<std::uint64_t> known(std::uint64_t number)
{
  return number == BRIMFUL_UNKNOWN ? std::nullopt : std::optional(number);
}

brimful::options options_of(const run& run)
{
  const brimful_options& said = run.vector.options;
  brimful::options options;
  options.length = known(said.length);
  options.size_hint = known(said.size_hint);
  options.limit = known(said.limit);
  options.end = said.end == BRIMFUL_END_EOF ? brimful::ending::eof : brimful::ending::length;
  options.truncate = (said.flags & BRIMFUL_TRUNCATE) != 0;
  options.prefer_exact = run.result == EXACT;
  options.max_prealloc = said.max_prealloc;
  options.max_window = said.max_window;
  options.cancel = &run.cancel;
  return options;
}

// ---- the drives: each ends with the body complete, or throws

void pull(run& run, brimful::collector& collector)
{
  const auto source = [&](brimful::span<std::byte> window, std::size_t& filled) {
    const brimful::answer answer = run.ask(window);
    filled = answer.filled;
    return answer.status;
  };
  while (collector.read(source) == brimful::status::pending)
    run.pendings++;
}

void push(run& run, brimful::collector& collector, const struct step& step)
{
  std::vector<std::byte> piece(std::min(step.each, step.count));
  for (std::uint64_t left = step.count; left > 0 && !collector.is_complete();) {
    const std::uint64_t length = std::min<std::uint64_t>(piece.size(), left);
    paint(piece.data(), run.given, length);
    collector.write(piece.data(), length);
    run.given += length;
    left -= length;
  }
}

void fill_windows(run& run, brimful::collector& collector, const struct step& step)
{
  for (std::uint64_t left = step.count; left > 0 && !collector.is_complete();) {
    const auto window = collector.reserve(left);
    const std::uint64_t count = std::min({std::uint64_t{window.size()}, step.each, left});
    paint(window.data(), run.given, count);
    run.given += count;
    left -= count;
    collector.commit(count);
  }
}

void drive(run& run, brimful::collector& collector)
{
  if (run.drive == PULL)
    return pull(run, collector);
  for (std::size_t i = 0; i < run.vector.step_count && run.vector.steps[i].kind != END; i++) {
    const struct step& step = run.vector.steps[i];
    if (step.kind == CANCEL)
      run.cancel.trigger();
    else if (step.kind == GIVE && run.drive == PUSH)
      push(run, collector, step);
    else if (step.kind == GIVE)
      fill_windows(run, collector, step);
  }
  collector.end();
}

// ---- what came of it

std::uint64_t check_buffer(run& run, const brimful::buffer& buffer, const char* what)
{
  std::uint64_t offset = 0;
  bool painted = buffer_is_painted(buffer.get(), buffer.size()) != 0;
  for (const auto piece : buffer.segments()) {
    painted = painted && is_painted(piece.data(), offset, piece.size()) != 0;
    offset += piece.size();
  }
  const auto data = buffer.data();
  if (!painted || offset != buffer.size() || data.size() != offset || !is_painted(data.data(), 0, offset))
    run.wrong(std::string(what) + ": its bytes are not those of the source");
  return buffer.size();
}

void check_exact(run& run, const brimful::exact_buffer& exact)
{
  if (exact.data() == nullptr || !is_painted(exact.data(), 0, exact.size()))
    run.wrong("the exact result: its bytes are not those of the source");
  run.length = exact.size();
}

void check_pooled(run& run, const brimful::buffer& buffer)
{
  run.info = buffer.info(); // before it is joined for the check, which counts as copied
  run.length = check_buffer(run, buffer, "the pooled result");
  if (buffer.truncated() != (run.info.truncated != 0))
    run.wrong("the buffer and its info differ about truncated");
}

// Takes the result of a complete body.
void take(run& run, brimful::collector& collector)
{
  if (run.result != EXACT)
    return check_pooled(run, collector.finish());
  check_exact(run, collector.finish_exact());
  run.info = collector.info();
}

// Keeps what an error says, and takes what came of the body.
void take_partial(run& run, const brimful::error& error, brimful::collector& collector)
{
  run.status = error.code().value();
  run.source_error = error.source_error();
  if (!collector)
    return;
  run.info = collector.info();
  if (run.info.status != run.status || run.info.source_error != run.source_error)
    run.wrong("the exception and the info differ");
  run.partial = check_buffer(run, collector.take_partial(), "the partial");
}

// The one-shot functions, which hand the collector out when they do not end well.
void run_one_shot(run& run)
{
  const auto source = [&](brimful::span<std::byte> window) { return run.ask(window); };
  brimful::collector rest;
  brimful::buffer buffer;
  brimful::exact_buffer exact;
  run.options.info = &run.info;
  try {
    const brimful::status came = run.result == EXACT
                                     ? brimful::collect_exact(source, exact, rest, run.options, run.pool)
                                     : brimful::collect(source, buffer, rest, run.options, run.pool);
    if (came == brimful::status::pending) {
      run.pendings++;
      pull(run, rest);
      take(run, rest);
    } else if (run.result == EXACT) {
      check_exact(run, exact);
    } else {
      check_pooled(run, buffer);
    }
  } catch (const brimful::error& error) {
    if (!rest && error.code() != brimful::errc::invalid)
      run.wrong(std::string(error.what()) + ", and no collector was handed out");
    take_partial(run, error, rest);
  }
}

void run_collector(run& run)
{
  brimful::collector collector;
  try {
    collector = brimful::collector(run.options, run.pool);
    drive(run, collector);
    take(run, collector);
  } catch (const brimful::error& error) {
    take_partial(run, error, collector);
  }
}

std::string told(std::uint64_t number)
{
  return number == ABSENT ? "none" : std::to_string(number);
}

void same(run& run, const char* what, std::uint64_t expected, std::uint64_t came)
{
  if (expected != ABSENT && expected != came)
    run.wrong(std::string(what) + ": expected " + told(expected) + ", came " + told(came));
}

void at_most(run& run, const char* what, std::uint64_t most, std::uint64_t came)
{
  if (most != ABSENT && came > most)
    run.wrong(std::string(what) + ": expected at most " + told(most) + ", came " + told(came));
}

void compare(run& run)
{
  const struct vector& vector = run.vector;
  if (std::string(vector.status) != brimful_status_name(run.status))
    run.wrong(std::string("status: expected ") + vector.status + ", came " + brimful_status_name(run.status));
  same(run, "length", vector.length, run.length);
  same(run, "partial", vector.partial, run.partial);
  same(run, "received", vector.received, run.info.received);
  if (vector.min_received != ABSENT && run.info.received < vector.min_received)
    run.wrong("received: expected at least " + told(vector.min_received) + ", came " + told(run.info.received));
  if (vector.has_source_error && run.source_error != vector.source_error)
    run.wrong("source_error: expected " + std::to_string(vector.source_error) + ", came " +
              std::to_string(run.source_error));
  if (vector.has_truncated && run.info.truncated != vector.truncated)
    run.wrong("truncated: expected " + std::to_string(vector.truncated) + ", came " +
              std::to_string(run.info.truncated));
  at_most(run, "copied", vector.max_copied[run.result], run.info.copied);
  at_most(run, "allocated", vector.max_allocated[run.result], run.info.allocated_bytes);
  if (run.drive != PULL && run.drive != ONE_SHOT)
    return;
  same(run, "pendings", vector.pendings, run.pendings);
  at_most(run, "calls", vector.max_calls, run.calls);
  at_most(run, "asked", vector.max_asked, run.asked);
}

// Whether this way of running the case holds; prints what does not.
bool holds(const struct vector& vector, enum drive drive, enum result result, bool list)
{
  static const char* const drives[] = {"pull", "one-shot pull", "push", "window"};
  brimful::pool_options memory;
  memory.list = list;
  run run{vector, drive, result, brimful::pool(memory)};
  run.options = options_of(run);
  run.cancel_if_next();
  try {
    if (drive == ONE_SHOT)
      run_one_shot(run);
    else
      run_collector(run);
    compare(run);
  } catch (const std::exception& error) {
    run.wrong(std::string("thrown where nothing should be: ") + error.what());
  }
  if (run.problem.empty())
    return true;
  std::printf("%s: %s, %s, %s memory: %s\n", vector.name, drives[drive], result == EXACT ? "exact" : "pooled",
              list ? "list" : "default", run.problem.c_str());
  return false;
}

bool holds_every_way(const struct vector& vector)
{
  for (const enum drive drive : {PULL, ONE_SHOT, PUSH, WINDOW}) {
    for (const enum result result : {POOLED, EXACT}) {
      for (const bool list : {false, true}) {
        if (vector.drives[drive] && vector.results[result] && !holds(vector, drive, result, list))
          return false;
      }
    }
  }
  return true;
}

// Runs one file's cases.
void run_file(const std::filesystem::path& path, unsigned& passed, unsigned& failed)
{
  static struct vector vector; // too large for a stack
  char what[300] = "";
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::unique_ptr<struct json, decltype(&json_free)> cases(json_read(text.c_str(), what, sizeof what), json_free);
  if (!file || !cases || cases->kind != JSON_ARRAY) {
    std::printf("%s: %s\n", path.c_str(), !file ? "cannot be read" : cases ? "expected an array of cases" : what);
    failed++;
    return;
  }
  for (const struct json* json = cases->first; json != nullptr; json = json->next) {
    const bool known_case = vector_read(json, &vector, what, sizeof what) != 0;
    if (!known_case)
      std::printf("%s: %s\n", vector.name, what);
    const bool held = known_case && holds_every_way(vector);
    passed += held;
    failed += !held;
  }
}

} // namespace

int main(int count, char** arguments)
{
  if (count != 2) {
    std::fprintf(stderr, "usage: vectors DIR\n");
    return 2;
  }
  std::vector<std::filesystem::path> files;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1], problem)) {
    if (entry.path().extension() == ".json")
      files.push_back(entry.path());
  }
  if (files.empty()) {
    std::fprintf(stderr, "%s: %s\n", arguments[1], problem ? problem.message().c_str() : "no *.json in it");
    return 2;
  }
  std::sort(files.begin(), files.end());
  unsigned passed = 0, failed = 0;
  for (const auto& file : files)
    run_file(file, passed, failed);
  std::printf("cpp: %u passed, %u failed\n", passed, failed);
  return failed > 0 || passed == 0;
}
