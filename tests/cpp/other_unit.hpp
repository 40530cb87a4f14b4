// What the second translation unit offers. No span is in it: it is compiled as another C++ than the tests are.
#ifndef OTHER_UNIT_HPP
#define OTHER_UNIT_HPP

#include <brimful.hpp>
#include <brimful.hpp>

namespace other_unit {

const std::error_category& category();
std::size_t collected(std::uint64_t length); // how many bytes a source of this length gave
void fail();                                 // throws errc::short_

} // namespace other_unit

#endif
