// Statuses, errors and their category.
#include "check.hpp"

#include <exception>
#include <memory>

#include "other_unit.hpp"

static_assert(std::is_error_code_enum_v<brimful::errc>);
static_assert(!std::is_error_condition_enum_v<brimful::errc>);
static_assert(std::is_base_of_v<std::system_error, brimful::error>);
static_assert(std::is_nothrow_copy_constructible_v<brimful::error>);

using brimful::errc;

TEST(every_errc_has_the_number_the_name_and_the_text_of_its_status)
{
  const std::pair<errc, const char*> all[] = {
      {errc::invalid, "invalid"},   {errc::state, "state"},       {errc::busy, "busy"},
      {errc::no_memory, "no_memory"}, {errc::budget, "budget"},   {errc::limit, "limit"},
      {errc::short_, "short"},      {errc::long_, "long"},        {errc::source, "source"},
      {errc::contract, "contract"}, {errc::no_progress, "no_progress"}, {errc::cancelled, "cancelled"},
      {errc::encoding, "encoding"}, {errc::panic, "panic"},
  };
  brimful_status expected = BRIMFUL_ERR_INVALID;
  for (const auto& [code, name] : all) {
    SAME(static_cast<brimful_status>(code), expected);
    expected--;
    SAME(std::string(brimful_status_name(static_cast<brimful_status>(code))), name);
    const std::error_code made = code;
    SAME(made.value(), static_cast<int>(code));
    SAME(made.message(), std::string(brimful_status_text(made.value())));
    CHECK(made.category() == brimful::error_category());
    CHECK(made == code);
    CHECK(made != errc::panic || code == errc::panic);
  }
  SAME(expected, BRIMFUL_ERR_PANIC - 1);
  SAME(std::string(brimful::error_category().name()), "brimful");
}

TEST(every_status_that_is_no_error_has_the_number_of_brimful_h)
{
  SAME(brimful::status::ok, brimful::status{BRIMFUL_OK});
  SAME(brimful::status::pending, brimful::status{BRIMFUL_PENDING});
  SAME(brimful::status::retry, brimful::status{BRIMFUL_RETRY});
  SAME(brimful::status::more, brimful::status{BRIMFUL_MORE});
}

TEST(errors_with_a_meaning_of_the_system_equal_its_condition_and_others_equal_none)
{
  CHECK(make_error_code(errc::invalid) == std::errc::invalid_argument);
  CHECK(make_error_code(errc::busy) == std::errc::device_or_resource_busy);
  CHECK(make_error_code(errc::no_memory) == std::errc::not_enough_memory);
  CHECK(make_error_code(errc::budget) == std::errc::no_buffer_space);
  CHECK(make_error_code(errc::cancelled) == std::errc::operation_canceled);
  CHECK(make_error_code(errc::encoding) == std::errc::illegal_byte_sequence);
  CHECK(make_error_code(errc::limit) != std::errc::not_enough_memory);
  const std::error_condition own = make_error_code(errc::limit).default_error_condition();
  CHECK(own.category() == brimful::error_category());
  SAME(own.value(), BRIMFUL_ERR_LIMIT);
  CHECK(make_error_code(errc::limit) == own);
}

TEST(an_error_says_which_call_failed_what_happened_and_the_number_of_the_source)
{
  try {
    brimful::collect([](bytes) { return brimful::answer::error(-77); });
    MISSED();
  } catch (const std::system_error& error) {
    CHECK(error.code() == errc::source);
    const std::string what = error.what();
    CHECK(what.find("brimful::collect") == 0);
    CHECK(what.find("-77") != std::string::npos);
    CHECK(what.find(brimful_status_text(BRIMFUL_ERR_SOURCE)) != std::string::npos);
    SAME(dynamic_cast<const brimful::error&>(error).source_error(), -77);
  }
}

TEST(an_error_of_anything_but_the_source_has_no_number_of_it)
{
  brimful::options options;
  options.limit = 10;
  try {
    brimful::collect(source{11}, options);
    MISSED();
  } catch (const brimful::error& error) {
    CHECK(error.code() == errc::limit);
    SAME(error.source_error(), 0);
  }
}

TEST(a_status_that_a_release_of_later_may_add_is_an_error_too)
{
  const brimful::error error(-1000, "somewhere");
  SAME(error.code().value(), -1000);
  SAME(error.code().message(), std::string(brimful_status_text(-1000)));
}

TEST(info_and_statistics_know_their_size_and_are_zero)
{
  const brimful::info info;
  SAME(info.struct_size, sizeof(brimful_info));
  SAME(info.received, 0u);
  const brimful::pool_statistics statistics;
  SAME(statistics.struct_size, sizeof(brimful_pool_statistics));
  SAME(statistics.peak_bytes, 0u);
}

TEST(the_header_in_two_translation_units_is_one_category_and_one_library)
{
  CHECK(&other_unit::category() == &brimful::error_category());
  SAME(other_unit::collected(100000), 100000u);
  try {
    other_unit::fail();
    MISSED();
  } catch (const brimful::error& error) {
    CHECK(error.code() == errc::short_);
  }
}
