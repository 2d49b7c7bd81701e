#!/bin/sh
# The GPU that is profiled, as ROCm's rocm_agent_enumerator prints it.
echo @ARCH@
