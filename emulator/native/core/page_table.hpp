// What the kernel knows about the pages of this process.
#pragma once

#include <cstddef>
#include <vector>

namespace hipscope {

/// For each page of a private mapping whether something was written to it: only then can it differ from the mapped file, or
/// from zeros. Empty when the system does not give it. `data` is the start of a page.
std::vector<bool> written_pages(const char* data, std::size_t bytes);

}  // namespace hipscope
