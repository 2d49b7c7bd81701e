// Nothing of its own: generic code over the other algorithms.
#pragma once
