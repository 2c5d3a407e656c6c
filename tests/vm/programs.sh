#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest, started by the agent that is PID 1 (--run): the end-to-end programs, then what the interrupts say. $way, from the
# kernel's command line, names the verdicts.
cd /tests || exit 1
family=pid1-$way
for p in vecadd reduce matmul scan threads; do
	out=$(timeout 120 ./$p 2>&1)
	st=$?
	if [ $st = 0 ]; then
		echo "ok $family/$p $(echo "$out" | tail -n 1)"
	else
		echo "FAIL $family/$p exit $st: $(echo "$out" | head -n 1)"
	fi
done
# vector 0 is the admin queue's, the others wake those who sleep
count() { grep 'vfio-msix' /proc/interrupts | grep "$@" 'vfio-msix\[0\]' | { n=0; while read -r _ a _; do n=$((n + a)); done; echo $n; }; }
admin=$(count -e) queues=$(count -v -e)
if [ "$admin" -gt 0 ] && [ "$queues" -gt 0 ]; then
	echo "ok $family/msix admin $admin, queues $queues"
else
	echo "FAIL $family/msix admin ${admin:-none}, queues ${queues:-none}"
fi
if [ "$(sha256sum </proc/1/exe)" = "$(cat agent.sha256)" ]; then echo "ok $family/same_program"; else echo "FAIL $family/same_program"; fi
# orphans are reaped by PID 1
(sleep 0.25 &)
n=300
while ps | grep -q -e '\[sleep\]' -e 'sleep 0\.25' && [ $n -gt 0 ]; do
	n=$((n - 1))
	usleep 100000
done
if [ $n -gt 0 ]; then echo "ok $family/reaps"; else echo "FAIL $family/reaps a zombie stays"; fi
# the program goes on, and does not keep PID 1 from what poweroff(8) asks of it
kill -USR2 1
sleep 300
