#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The units, run by a systemd of our own: PID 1 of private namespaces, over a throw-away overlay of this machine's root. So
# every hardening line of the units holds while CUDA programs run. service/world.sh and boot.sh make that machine,
# service/inside.sh is what happens in it.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH
. "$(dirname "$0")/service/world.sh"
world_needs services
cp "$B"/e2e/driver/{vecadd,threads,vmm,pool,hostfn,printf,managed} "$dir/stage/opt/tests/"
world services 280 "$world/inside.sh"
