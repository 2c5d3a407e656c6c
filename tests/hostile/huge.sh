# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by run.sh and native.sh: an agent that is to find a hole in its huge pages. Other tests' agents take some, too: without one of its own it gets zeroes.

meminfo() { awk -v name="$1:" '$1 == name {print $2}' /proc/meminfo; }
# so few are free that they can be taken in no time, whoever has others
few_free() { echo $(($(meminfo HugePages_Total) - $(meminfo HugePages_Free) + 24)) >/proc/sys/vm/nr_hugepages; }
huge_of() { echo "$(grep -c '^VmFlags:.* ht' "/proc/$1/smaps") mappings of huge pages, $(meminfo HugePages_Free) free"; }

# slowly AGENT COMMAND...: while the agent sleeps it does not win the page of a hole back: it has to look there while the hole is
slowly() {
	local agent=$1 by
	shift
	(while :; do for how in STOP CONT; do sleep 0.08; kill -$how "$agent" 2>/dev/null; done; done) & by=$!
	"$@"
	kill $by; wait $by 2>/dev/null
	kill -CONT "$agent" 2>/dev/null
}
