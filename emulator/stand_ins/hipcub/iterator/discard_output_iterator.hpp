// A part of this header.
#pragma once
#include "../hipcub.hpp"
