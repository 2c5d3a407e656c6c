#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest, started by the agent that is PID 1 (--run): the end-to-end programs, then what the interrupts say.
cd /tests || exit 1
for p in vecadd reduce matmul scan threads; do
	out=$(timeout 40 ./$p 2>&1)
	st=$?
	if [ $st = 0 ]; then
		echo "ok pid1/$p $(echo "$out" | tail -n 1)"
	else
		echo "FAIL pid1/$p exit $st: $(echo "$out" | head -n 1)"
	fi
done
# vector 0 is the admin queue's, the others wake those who sleep
count() { grep 'vfio-msix' /proc/interrupts | grep "$@" 'vfio-msix\[0\]' | { n=0; while read -r _ a _; do n=$((n + a)); done; echo $n; }; }
admin=$(count -e) queues=$(count -v -e)
if [ "$admin" -gt 0 ] && [ "$queues" -gt 0 ]; then
	echo "ok pid1/msix admin $admin, queues $queues"
else
	echo "FAIL pid1/msix admin ${admin:-none}, queues ${queues:-none}"
fi
# orphans are reaped by PID 1
(sleep 0.1 &)
sleep 0.6
z=$(ps | grep -c '\[sleep\]')
if [ "$z" = 0 ]; then echo "ok pid1/reaps"; else echo "FAIL pid1/reaps $z zombies"; fi
