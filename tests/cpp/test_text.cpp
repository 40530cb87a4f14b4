// Text from buffers: the table of cases that every language runs (tests/text), and what decode() throws (E41 to E43).
#include "check.hpp"

extern "C" {
#include "json.h"
}

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

namespace {

const brimful::options defaults;

brimful::buffer body_of(const std::string& text, std::size_t padding_before = 0)
{
  brimful::collector collector(defaults, list_pool());
  collector.write(std::string(padding_before, 'x'));
  for (const char& letter : text)
    collector.write(&letter, 1);
  collector.end();
  return collector.finish();
}

std::optional<std::string> text_of(const struct json* json, const char* key)
{
  const struct json* member = json_member(json, key);
  return member == nullptr ? std::nullopt : std::optional<std::string>(member->text);
}

std::string unhex(const std::string& hex)
{
  std::string made;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    made += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return made;
}

// What a case says, and what came of it: its text, or the offset of its fault.
std::string expected_of(const struct json* json)
{
  std::uint64_t offset = 0;
  if (text_of(json, "status") == "ok")
    return "text " + unhex(text_of(json, "utf8").value());
  if (text_of(json, "status") == "encoding" && json_unsigned(json_member(json, "offset"), &offset) != 0)
    return "fault at " + std::to_string(offset);
  return text_of(json, "status").value();
}

std::string came_of(const struct json* json)
{
  const std::optional<std::string> encoding = text_of(json, "encoding");
  const brimful::fault on_fault = text_of(json, "errors") == "replace" ? brimful::fault::replace : brimful::fault::refuse;
  try {
    const brimful::buffer body = body_of(unhex(text_of(json, "bytes").value()));
    return "text " + std::string(body.decode(encoding ? encoding->c_str() : nullptr, on_fault).view());
  } catch (const brimful::encoding_error& error) {
    return "fault at " + std::to_string(error.offset());
  } catch (const brimful::error& error) {
    return error.code() == brimful::errc::invalid ? "invalid" : error.what();
  }
}

} // namespace

TEST(every_case_of_the_table_is_the_same_text_or_the_same_fault)
{
  char problem[200] = "";
  std::ifstream file(TEXT_CASES, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::unique_ptr<struct json, decltype(&json_free)> cases(json_read(text.c_str(), problem, sizeof problem), json_free);
  SAME(std::string(problem), std::string());
  unsigned ran = 0;
  for (const struct json* json = cases ? cases->first : nullptr; json != nullptr; json = json->next, ran++)
    SAME(came_of(json), expected_of(json));
  CHECK(ran > 1500);
}

TEST(text_is_what_was_asked_for_or_an_error_that_says_where_the_fault_is)
{
  const std::string utf8 = "Gr\xc3\xbc\xc3\x9f";
  SAME(std::string(body_of(utf8).decode().view()), utf8);
  SAME(std::string(body_of(utf8, 16383).decode("UTF-8").view()), std::string(16383, 'x') + utf8);
  SAME(std::string(body_of("\xff\xfe" "a").decode("utf-8", brimful::fault::replace).view()),
       "\xef\xbf\xbd\xef\xbf\xbd" "a");
  const brimful::exact_buffer text = body_of(std::string("\xff\xfe" "a\0b\0", 6)).decode();
  SAME(std::strlen(text.view().data()), 2u);
  THROWS(invalid, body_of("a").decode("no such encoding"));
  THROWS(invalid, brimful::buffer().decode());
  THROWS(encoding, body_of("\x80").decode());
  try {
    body_of("abc\x80" "d").decode();
    MISSED();
  } catch (const brimful::encoding_error& error) {
    SAME(error.offset(), 3u);
    CHECK(error.code() == std::errc::illegal_byte_sequence);
  }
  counted_allocator allocator;
  SAME(body_of("").decode(nullptr, brimful::fault::refuse, &allocator.c).size(), 0u);
  SAME(body_of("\x80" "abc").decode(nullptr, brimful::fault::replace, &allocator.c).size(), 6u);
  allocator.refuse_from = 1;
  THROWS(no_memory, body_of("abc").decode(nullptr, brimful::fault::refuse, &allocator.c));
  SAME(allocator.out, 0u);
  SAME(allocator.wrong_sizes, 0u);
}
