#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A device's socket: who sees its name is answered, and a name has one device.
. "$(dirname "$0")/lib.sh"

answered() { python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1" 2>"$dir/err"; }
ended() { ! kill -0 "$1" 2>/dev/null; }

if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	strace -o /dev/null -e trace=listen -e inject=listen:delay_enter=500000 "$V/vgpu-stub" --socket "$dir/slow" 2>"$dir/log" & stub=$!
	until_true test -e "$dir/slow" && answered "$dir/slow" && [ "$(echo "$dir"/slow*)" = "$dir/slow" ] &&
		ok "as soon as there is a name, it is answered" || fail "a name that is not answered: $(tail -n 1 "$dir/err") $(cat "$dir/log"; ls "$dir")"
	pkill -P $stub; wait $stub 2>/dev/null; stub=
	# at the same moment, both past the look at who has the name
	for one in a b; do
		strace -o /dev/null -e trace=listen -e inject=listen:delay_enter=500000 "$V/vgpu-stub" --socket "$dir/both" 2>"$dir/log.$one" & eval "$one=\$!"
	done
	one_ended() { ended "$a" || ended "$b"; }
	until_true one_ended
	both=0; for p in $a $b; do ended "$p" || both=$((both + 1)); done
	[ $both = 1 ] && answered "$dir/both" && grep -q 'cannot listen' "$dir/log.a" "$dir/log.b" && ok "of two at once, one, and the other says so" ||
		fail "two at once: $both run; $(cat "$dir/log.a" "$dir/log.b")"
	pkill -P $a; pkill -P $b; wait $a $b 2>/dev/null
else
	skip "the moment between a name and its answer: no strace here"
fi
# as long as a name can be, without room for a longer one
long=$dir/$(printf '%*s' $((107 - ${#dir} - 1)) '' | tr ' ' x)
"$V/vgpu-stub" --socket "$long" 2>"$dir/log" & stub=$!
until_true answered "$long" && ok "a name of 107 characters" || fail "a name of 107 characters: $(cat "$dir/log")"
kill $stub; wait $stub 2>/dev/null; stub=
[ ! -e "$long" ] && ok "and gone with its device" || fail "its name stays"
