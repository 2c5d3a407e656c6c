#!/bin/sh
# SPDX-License-Identifier: MIT
# What agent and device tell a service manager: see notify.py.
exec python3 "$(dirname "$0")/notify.py" "$1"
