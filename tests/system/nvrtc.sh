#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that load NVRTC by the name without a version, as hashcat does, find ours and, behind it, whichever of NVIDIA's there is. What
# stands for NVIDIA's here says its version and no more.
. "$(dirname "$0")/lib.sh"
t=$dir
cat >"$t/theirs.c" <<'C'
int nvrtcVersion(int *major, int *minor) { *major = MAJOR; *minor = 77; return 0; }
C
cat >"$t/asks.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>

int main(int n, char **v)
{
	void *h = dlopen(n > 1 ? v[1] : "libnvrtc.so", RTLD_NOW);
	int (*version)(int *, int *) = h ? (int (*)(int *, int *))dlsym(h, "nvrtcVersion") : NULL;
	int major = 0, minor = 0;

	if (!version || version(&major, &minor))
		return puts(h ? "none behind it" : dlerror()), 1;
	printf("%d.%d%s\n", major, minor, dlsym(h, "vgpu_front_path") ? " behind ours" : "");
	return 0;
}
C
gcc -w -o "$t/asks" "$t/asks.c" -ldl || exit 1
for v in 11.2 12 13; do
	mkdir -p "$t/$v"
	gcc -shared -fPIC -DMAJOR=${v%.2} -Wl,-soname,libnvrtc.so.$v -o "$t/$v/libnvrtc.so.$v" "$t/theirs.c" || exit 1
done
same() { # same WANT FOLDERS NAME
	local got
	got=$(LD_LIBRARY_PATH=$2 "$V/vgpu" run -- "$t/asks" "$3" 2>"$t/err")
	[ "$got" = "$1" ] && ok "$3 with ${2//$t\//}: $got" || fail "$3 with ${2//$t\//}: '$got', not '$1': $(tail -n 1 "$t/err")"
}
same "12.77 behind ours" "$t/12" libnvrtc.so
same "13.77 behind ours" "$t/13" libnvrtc.so
same "13.77 behind ours" "$t/12:$t/13" libnvrtc.so
same "12.77 behind ours" "$t/12:$t/13" libnvrtc.so.12
same "13.77 behind ours" "$t/13" libnvrtc.so.12
same "11.77 behind ours" "$t/12:$t/11.2" libnvrtc.so.11.2
same "none behind it" "$t:$t/12" libnvrtc.so.11.2
same "none behind it" "$t" libnvrtc.so
grep -q 'pip install nvidia-cuda-nvrtc' "$t/err" && ok "and says what to install" || fail "it does not say what to install: $(cat "$t/err")"
# as a repaired wheel has it: another name, no path of its own, and builtins beside it that it asks for by name
mkdir -p "$t/repaired"
cat >"$t/renamed.c" <<'C'
#include <dlfcn.h>

int nvrtcVersion(int *major, int *minor)
{
	*major = 12;
	*minor = dlopen("libnvrtc-builtins.so.12.6", RTLD_NOW) ? 6 : 0;
	return 0;
}
C
printf '#include <dlfcn.h>\n#include <stdio.h>\nint nvrtcVersion(int *, int *);\nint main(void) { int a = 0, b = 0; nvrtcVersion(&a, &b); printf("%%d.%%d%%s\\n", a, b, dlsym(RTLD_DEFAULT, "vgpu_front_path") ? " behind ours" : ""); return 0; }\n' >"$t/linked.c"
gcc -shared -fPIC -Wl,-soname,libnvrtc-e0967580.so.12.6.20 -o "$t/repaired/libnvrtc-e0967580.so.12.6.20" "$t/renamed.c" -ldl &&
	echo 'int nothing;' | gcc -x c - -shared -fPIC -Wl,-soname,libnvrtc-builtins.so.12.6 -o "$t/repaired/libnvrtc-builtins.so.12.6" &&
	gcc -w -D_GNU_SOURCE -o "$t/linked" "$t/linked.c" "$t/repaired/libnvrtc-e0967580.so.12.6.20" -Wl,-rpath,"$t/repaired" -ldl || exit 1
got=$("$V/vgpu" run -- "$t/linked" 2>"$t/err")
[ "$got" = "12.6 behind ours" ] && ok "a renamed one beside a program: $got" || fail "a renamed one: '$got', $(tail -n 1 "$t/err")"
