#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu's manners: help of everything, write errors, JSON alone, nothing left behind, a user's own prefix.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
unset VGPU_AGENT
export TMPDIR=$dir/tmp XDG_RUNTIME_DIR=$dir
mkdir "$TMPDIR"

for c in run smi bench "bench launch" "bench copy" "bench scale" "bench engine" "bench kernels" doctor check trace "trace --ops" toolkit; do
	# shellcheck disable=SC2086
	timeout 20 "$V/vgpu" $c --help >"$dir/out" 2>"$dir/err" </dev/null && grep -q "usage: vgpu ${c%% *}" "$dir/out" && [ ! -s "$dir/err" ] &&
		ok "$c --help" || fail "$c --help: exit $?: $(cat "$dir/err")"
done
# each subcommand that vgpu --help names has one, on standard output
for c in $("$V/vgpu" --help | awk '/^  [a-z]+ / {print $1}'); do
	timeout 20 "$V/vgpu" "$c" --help >"$dir/out" 2>"$dir/err" </dev/null; st=$?
	[ $st = 0 ] && [ -s "$dir/out" ] && [ ! -s "$dir/err" ] || fail "$c --help: exit $st, on standard error: $(cat "$dir/err")"
done
make help | grep -q 'make demo' && ok "make help" || fail "make help"

# --- what cannot be written is an error
full() {
	"$@" >/dev/full 2>"$dir/err"
	local st=$?
	[ $st = 1 ] && grep -qi 'no space' "$dir/err" && ok "/dev/full: ${*:2}" || fail "/dev/full: ${*:2}: exit $st, $(cat "$dir/err")"
}
full "$V/vgpu" --version
for p in agent stub; do
	full "$V/vgpu-$p" --version
	full "$V/vgpu-$p" --help
done
full "$V/vgpu" check --ops
full "$V/vgpu" run --help
start_stub
start_agent
full "$V/vgpu" smi
full "$V/vgpu" smi -j
for c in "smi -L" "smi -q -x" "smi --query-gpu=name --format=csv" "smi dmon -c 1" "smi pmon -c 1" "smi topo -m" "ctl list" "ctl list -j" metrics "cdi generate" doctor env "cc --version" \
	"ptxas --version" "nvlink --help" "sanitizer --help" "debug --help" "toolkit --help"; do
	# shellcheck disable=SC2086
	full "$V/vgpu" $c
done
full "$V/vgpu" trace -j -- "$B/e2e/driver/vecadd"
"$V/vgpu" check --ops | head -n 1 >/dev/null
st=${PIPESTATUS[0]}
[ "$st" = 1 ] || [ "$st" = 0 ] && ok "a reader that leaves: exit $st, no signal" || fail "a reader that leaves: exit $st"
"$V/vgpu" trace -o /dev/full -- "$B/e2e/driver/vecadd" >/dev/null 2>"$dir/err"; st=$?
[ $st = 1 ] && grep -q 'not whole' "$dir/err" && ok "trace -o /dev/full: exit 1" || fail "trace -o /dev/full: exit $st: $(cat "$dir/err")"
"$V/vgpu" trace --perfetto /dev/full -- "$B/e2e/driver/vecadd" >/dev/null 2>"$dir/err"; st=$?
[ $st = 1 ] && grep -q 'not whole' "$dir/err" && ok "trace --perfetto /dev/full: exit 1" || fail "trace --perfetto /dev/full: exit $st: $(cat "$dir/err")"
# lines go to a reader that leaves after the first
"$V/vgpu" trace -- "$B/e2e/driver/streams" 2>&1 >/dev/null | head -n 1 >/dev/null
[ -z "$(ls "$TMPDIR")" ] && ok "trace | head leaves nothing in /tmp" || fail "trace | head leaves $(ls "$TMPDIR")"

# --- what is wrong is named, in one line, where help would bury it
wrong() { # STATUS WORD COMMAND...
	local want=$1 word=$2
	shift 2
	timeout 20 "$V/vgpu" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	local st=$?
	[ $st = "$want" ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -qF -e "$word" "$dir/err" && ok "$*: names $word" || fail "$*: exit $st, $(head -n 3 "$dir/err")"
}
wrong 2 nonsense ctl nonsense
wrong 2 "ctl end" ctl end
wrong 2 "x:" ctl end x
wrong 2 ajar ctl admission ajar
wrong 2 "ctl set" ctl set 1000
wrong 2 --odd metrics --odd
wrong 2 nonsense bench nonsense
wrong 2 --odd env --odd
wrong 2 odd cdi odd
wrong 2 --odd cdi generate --odd
wrong 2 --odd check --odd
wrong 2 "-k is for -d" check -k x file
wrong 2 "doctor: -p" doctor -p
wrong 2 "one of them" doctor -p 1 x
wrong 125 --odd run --odd
wrong 125 300 run --error-exitcode 300 -- true
wrong 2 NOPE smi -q -d MEMORY,NOPE
wrong 2 --odd smi --odd

# --- JSON alone
json() { python3 -c 'import json,sys; assert json.load(open(sys.argv[1]))["functions"]' "$1" 2>"$dir/err"; }
"$V/vgpu" trace -j -- sh -c "echo noise; exec '$B/e2e/driver/vecadd'" >"$dir/out" 2>/dev/null
json "$dir/out" && ok "trace -j: JSON alone on standard output" || fail "trace -j: $(cat "$dir/err"): $(head -c 200 "$dir/out")"
"$V/vgpu" trace -j -o "$dir/json" -- sh -c "echo noise; exec '$B/e2e/driver/vecadd'" >"$dir/out" 2>/dev/null
json "$dir/json" && grep -q noise "$dir/out" && ! grep -q '"functions"' "$dir/out" && ok "trace -j -o: JSON in the file, the program's output where it was" || fail "trace -j -o: $(cat "$dir/err")"
sh -c "'$V/vgpu' run -- sh -c 'kill -PIPE \$\$'"; st=$?
[ $st = 141 ] && ok "a program has SIGPIPE as its starter had it" || fail "a program that SIGPIPE should end: exit $st"

# --- Python: what is put on its path offers no name of another package ("import torch" found an empty one), but Python's own hook, which passes it on
if command -v python3 >/dev/null; then
	"$V/vgpu" run -- python3 -S -s -c 'import importlib.util as u, os
print([m for p in os.environ["PYTHONPATH"].split(":") if "vgpu" in p for m in os.listdir(p) if m not in ("jax_plugins", "sitecustomize.py") and m.split(".")[0].isidentifier() and u.find_spec(m.split(".")[0])])' >"$dir/out" 2>"$dir/err"
	[ "$(cat "$dir/out")" = "[]" ] && ok "vgpu run brings no package of others' names" || fail "vgpu run brings Python packages: $(cat "$dir/out" "$dir/err")"
fi

# --- bench: what cannot be written is said before minutes of work
s=$SECONDS
"$V/vgpu" bench launch -d "$dir/nope/nope" >"$dir/out" 2>"$dir/err"; st=$?
[ $st = 1 ] && grep -q "$dir/nope/nope" "$dir/err" && [ ! -s "$dir/out" ] && ok "bench -d of no folder fails first" || fail "bench -d of no folder: exit $st after $((SECONDS - s)) s"

# --- a user's own prefix
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups test -r "$V/vgpu" -a -r tools/service/install.sh 2>/dev/null; then
	chmod 711 "$dir"; install -d -o 65534 "$dir/home"
	as() { HOME=$dir/home setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
	out=$(as env PREFIX="$dir/home/.local" tools/service/install.sh install "$B" 2>&1); st=$?
	[ $st = 0 ] && [ -x "$dir/home/.local/bin/vgpu" ] && [ ! -e "$dir/home/.local/lib/systemd" ] && ok "install into a user's prefix" || fail "install into a user's prefix: exit $st: $out"
	grep -q 'no services' <<<"$out" && ok "it says what a user does not get" || fail "install as a user says: $out"
	as env -u VGPU_AGENT TMPDIR=/tmp "$dir/home/.local/bin/vgpu" run -- "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && ok "and programs run by it" || fail "vgpu run of a user's prefix: $(tail -n 2 "$dir/out")"
	out=$(as env PREFIX=/usr/local tools/service/install.sh install "$B" 2>&1); st=$?
	[ $st = 1 ] && grep -q 'cannot be written' <<<"$out" && ok "a prefix that a user cannot write is refused at once" || fail "install into /usr/local as a user: exit $st: $out"
	as env PREFIX="$dir/home/.local" tools/service/install.sh uninstall >/dev/null 2>&1
	[ -z "$(find "$dir/home/.local" -type f)" ] && ok "uninstall takes it away" || fail "uninstall leaves $(find "$dir/home/.local" -type f | head -n 3)"
else
	skip "a user's own prefix: not root, or the tree cannot be read by others"
fi

# --- the tables for those who know NVIDIA's tools: each command that stands there is taken
python3 - "$V/vgpu" tools/vgpu/README.md tools/service/CONTAINERS.md <<'PY' && ok "every command of the tables is there" || fail "the tables name what is not there"
import re, subprocess, sys
vgpu, bad, n = sys.argv[1], 0, 0
help_of = {}
for page in sys.argv[2:]:
    for command in re.findall(r"`(?:sudo )?vgpu ([^`]*)`", open(page).read()) + re.findall(r"^    (?:sudo )?vgpu (.*)$", open(page).read(), re.M):
        words = command.split(" -- ")[0].split("#")[0].split()
        sub = words[0]
        if sub not in help_of:
            r = subprocess.run([vgpu, sub, "--help"], capture_output=True, text=True, timeout=60)
            help_of[sub] = r.stdout if r.returncode == 0 else ""
        # options, and the word behind a command that has such
        want = [re.sub(r"=.*", "", w) for w in words[1:] if w.startswith("-")]
        if sub in ("ctl", "cdi") or words[1:] and words[1] in ("dmon", "pmon", "topo"):
            want.append(words[1])
        n += 1
        for w in want:
            if not re.search(r"(?<![a-z-])" + re.escape(w) + r"(?![a-z-])", help_of[sub]):
                print(f"{page}: vgpu {command}: {w} is not in vgpu {sub} --help")
                bad += 1
sys.exit(bool(bad) or n < 30)
PY
