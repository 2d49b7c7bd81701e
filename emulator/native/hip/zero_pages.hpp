// Zeros in large blocks, without host memory for them: unwritten pages read as zero.
#pragma once

#include <cstddef>

namespace hipscope {

/// Make all whole pages of [to, to + bytes) read as zero by giving them back to the system, and write the rest.
/// False, and nothing is done, for less than 1 GiB, where writing is as fast, and for memory that is not this process's alone.
bool zeroed_by_giving_back(void* to, std::size_t bytes);

}  // namespace hipscope
