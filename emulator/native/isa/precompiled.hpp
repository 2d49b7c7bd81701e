// What the families of instructions include, compiled once for each level.
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <limits>

#include "core/clock_step.hpp"
#include "core/global_sync.hpp"
#include "isa/buffer.hpp"
#include "isa/families.hpp"
#include "isa/forms.hpp"
#include "isa/scalars.hpp"
#include "isa/small_float.hpp"
#include "isa/teams.hpp"
