// Which major version of HIP the program was built against: some enumerations changed their values in HIP 6.
#pragma once

namespace hipscope {

/// The number in the name of the libamdhip64.so that the program or one of its libraries asks for; the newest when
/// several do. 5 for programs that name no version.
int hip_major_version();

}  // namespace hipscope
