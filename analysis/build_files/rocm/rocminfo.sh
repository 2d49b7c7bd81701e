#!/bin/sh
# The GPU that is profiled, as ROCm's rocminfo names it.
printf '==========\nHSA Agents\n==========\n*******\nAgent 1\n*******\n'
printf '  Name:                    %s\n  Vendor Name:             AMD\n' @ARCH@
printf '  Device Type:             GPU\n  ISA Info:\n    ISA 1\n'
printf '      Name:                    amdgcn-amd-amdhsa--%s\n' @ARCH@
