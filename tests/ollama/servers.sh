# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Servers that a script has started, in `servers`: ended with it. Sourced behind ../system/lib.sh.
servers=()
stop_all() {
	for p in "${servers[@]+${servers[@]}}"; do kill "$p"; done
	for p in "${servers[@]+${servers[@]}}"; do wait "$p"; done
	servers=()
} 2>/dev/null
trap 'stop_all; cleanup' EXIT
