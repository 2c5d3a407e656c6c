#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that load NVRTC by the name without a version, as hashcat does, find ours and, behind it, whichever of NVIDIA's there is. What
# stands for NVIDIA's here says its version and no more. Where there is none, clang compiles. VGPU_TEST_NVRTC names a file of NVIDIA's, which has
# to answer nvrtc.c as clang does.
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
VGPU_CLANG=/none same "none behind it" "$t:$t/12" libnvrtc.so.11.2
VGPU_CLANG=/none same "none behind it" "$t" libnvrtc.so
grep -q 'pip install nvidia-cuda-nvrtc.*; or apt install clang' "$t/err" && ok "and says what to install" || fail "it does not say what to install: $(cat "$t/err")"
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

# Where the device runs machine code what NVIDIA's NVRTC and nvJitLink make of a program is the program's, and they are asked for it as the program
# asked. What stands for them here answers with the architecture that it was given.
cat >"$t/makers.c" <<'C'
#include <stdlib.h>
#include <string.h>

struct made { char what[64]; };
int nvrtcVersion(int *major, int *minor) { *major = 12; *minor = 77; return 0; }
int nvrtcCreateProgram(struct made **p, const char *s, const char *n, int k, const char **h, const char **i) { *p = calloc(1, sizeof(**p)); return !s + !n + k + !!h + !!i > 2; }
int nvrtcDestroyProgram(struct made **p) { free(*p); *p = 0; return 0; }
int nvrtcCompileProgram(struct made *p, int n, const char **o)
{
	for (int i = 0; i < n; i++)
		if (strstr(o[i], "arch"))
			strcpy(p->what, strrchr(o[i], '=') + 1);
	return 0;
}
int nvrtcGetPTXSize(struct made *p, size_t *n) { (void)p; *n = 1; return 0; }
int nvrtcGetPTX(struct made *p, char *to) { (void)p; *to = 0; return 0; }
int nvrtcGetCUBINSize(struct made *p, size_t *n) { *n = strlen(p->what) + 1; return 0; }
int nvrtcGetCUBIN(struct made *p, char *to) { strcpy(to, p->what); return 0; }
int nvJitLinkVersion(unsigned *major, unsigned *minor) { *major = 12; *minor = 77; return 0; }
int nvJitLinkCreate(struct made **p, unsigned n, const char **o) { *p = calloc(1, sizeof(**p)); strcpy((*p)->what, n ? o[0] : ""); return 0; }
int nvJitLinkDestroy(struct made **p) { free(*p); *p = 0; return 0; }
int nvJitLinkAddData(struct made *p, int type, const void *data, size_t n, const char *name) { (void)name; return strncat(p->what, data, n), type != 2; }
int nvJitLinkComplete(struct made *p) { return !*p->what; }
int nvJitLinkGetLinkedCubinSize(struct made *p, size_t *n) { *n = strlen(p->what) + 1; return 0; }
int nvJitLinkGetLinkedCubin(struct made *p, char *to) { strcpy(to, p->what); return 0; }
C
cat >"$t/made.py" <<'PY'
import ctypes
def called(lib, name, *args):
    r = getattr(lib, name)(*args)
    assert r == 0, (name, r)
def text(lib, size, get, p):
    n = ctypes.c_size_t()
    called(lib, size, p, ctypes.byref(n))
    s = ctypes.create_string_buffer(n.value)
    called(lib, get, p, s)
    return s.value.decode()
p = ctypes.c_void_p()
rtc = ctypes.CDLL("libnvrtc.so.12")
called(rtc, "nvrtcCreateProgram", ctypes.byref(p), b"", b"t.cu", 0, None, None)
called(rtc, "nvrtcCompileProgram", p, 1, (ctypes.c_char_p * 1)(b"--gpu-architecture=sm_90a"))
print(text(rtc, "nvrtcGetCUBINSize", "nvrtcGetCUBIN", p), end=" ")
called(rtc, "nvrtcDestroyProgram", ctypes.byref(p))
link = ctypes.CDLL("libnvJitLink.so.12")
called(link, "nvJitLinkCreate", ctypes.byref(p), 1, (ctypes.c_char_p * 1)(b"-arch=sm_90"))
called(link, "nvJitLinkAddData", p, 2, b" code", ctypes.c_size_t(5), b"x")
called(link, "nvJitLinkComplete", p)
print(text(link, "nvJitLinkGetLinkedCubinSize", "nvJitLinkGetLinkedCubin", p))
called(link, "nvJitLinkDestroy", ctypes.byref(p))
PY
mkdir -p "$t/makers"
for so in libnvrtc.so.12 libnvJitLink.so.12; do gcc -w -shared -fPIC -Wl,-soname,$so -o "$t/makers/$so" "$t/makers.c" || exit 1; done
got=$(VGPU_CUBINS=1 LD_LIBRARY_PATH=$t/makers "$V/vgpu" run -- python3 "$t/made.py" 2>"$t/err")
[ "$got" = "sm_90a -arch=sm_90 code" ] && ok "VGPU_CUBINS: what NVIDIA's compilers make is the program's" || fail "VGPU_CUBINS: '$got', $(tail -n 1 "$t/err")"
got=$(VGPU_CUBINS=0 LD_LIBRARY_PATH=$t/makers "$V/vgpu" run -- python3 "$t/made.py" 2>"$t/err")
[ "$got" != "sm_90a -arch=sm_90 code" ] && ok "VGPU_CUBINS=0: it is not" || fail "VGPU_CUBINS=0: '$got'"

# --- clang in its place
cd "$(dirname "$0")/../.." || exit 1
unset LD_LIBRARY_PATH VGPU_AGENT
export XDG_RUNTIME_DIR=$dir TMPDIR=$dir/tmp
mkdir "$TMPDIR"
if ! command -v clang++ >/dev/null; then
	skip "NVRTC by clang: not installed"
	exit 0
fi
cat >"$t/want" <<'END'
architectures in order: 1
a name before it is compiled: NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION
work<float, 7> is _Z4workIfLi7EEvPT_3TwoIS0_Ex
&far::total is _ZN3far5totalE
&far::table is _ZN3far5tableE
plain is plain
a name that was not asked for: NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID
a name after it was compiled: NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION
PTX: target sm_60 1, no names of another's 1, a cubin 0; wrong 0
a cubin: wrong 0
an error: NVRTC_ERROR_COMPILATION, the log says it: 1
its place: NVRTC_ERROR_COMPILATION, the log says it: 1
a function of the host's: NVRTC_ERROR_COMPILATION, the log says it: 1
a header that is not there: NVRTC_ERROR_COMPILATION, the log says it: 1
an option that is none: NVRTC_ERROR_INVALID_OPTION, the log says it: 1
no program: NVRTC_ERROR_INVALID_PROGRAM
no source: 1
END
for v in 12 13; do
	gcc -Wall -Wextra -Ilibcuda-lite/include -o "$t/rtc$v" tests/system/nvrtc.c "$B/lib/libnvrtc.so.$v" "$B/lib/libcuda.so.1" || { fail "nvrtc.c does not build"; exit 1; }
	VGPU_NVRTC=clang timeout 200 "$V/vgpu" run --private --cc 7.5 -- "$t/rtc$v" >"$t/have" 2>"$t/err"
	{ echo "version $v"; cat "$t/want"; } | cmp -s - "$t/have" && [ ! -s "$t/err" ] && ok "libnvrtc.so.$v by clang: names, headers, options, logs; what it compiles runs" ||
		fail "libnvrtc.so.$v by clang: $(tail -n 3 "$t/have" "$t/err")"
done
if [ -n "${VGPU_TEST_NVRTC:-}" ]; then
	VGPU_NVRTC=$VGPU_TEST_NVRTC timeout 200 "$V/vgpu" run --private --cc 7.5 -- "$t/rtc12" >"$t/have" 2>"$t/err"
	tail -n +2 "$t/have" | cmp -s - "$t/want" && ok "NVIDIA's says the same" || fail "NVIDIA's: $(diff "$t/have" "$t/want"; cat "$t/err")"
else
	skip "the same by NVIDIA's: VGPU_TEST_NVRTC=libnvrtc.so.12 names it"
fi
[ -z "$(ls "$TMPDIR")" ] && ok "nothing is left in \$TMPDIR" || fail "left in \$TMPDIR: $(ls "$TMPDIR")"
# each option that NVRTC's documentation names is taken, or refused with its reason
cat >"$t/options.py" <<'PY'
import ctypes, sys
n = ctypes.CDLL(sys.argv[1])
def compiled(text, *options):
    p, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert n.nvrtcCreateProgram(ctypes.byref(p), text, b"t.cu", 0, None, None) == 0
    r = n.nvrtcCompileProgram(p, len(options), (ctypes.c_char_p * len(options))(*[o.encode() for o in options]))
    out = []
    for what in ("ProgramLog", "PTX"):
        getattr(n, f"nvrtcGet{what}Size")(p, ctypes.byref(size))
        s = ctypes.create_string_buffer(size.value)
        getattr(n, f"nvrtcGet{what}")(p, s)
        out.append(s.value.decode())
    return r, *out
K = b'extern "C" __global__ void k(float *p, float x) { *p = *p * x + 1; printf("%f", *p); }'
for o in ("-dc", "--relocatable-device-code=true", "-rdc=false", "-ewp", "-G", "-lineinfo", "-dopt on", "--dopt=on", "--ptxas-options=-v", "-Xptxas -O1",
          "--maxrregcount=32", "-ftz=true", "--prec-sqrt=false", "--prec-div=false", "--fmad=true", "--use_fast_math", "--extra-device-vectorization",
          "--modify-stack-limit=false", "-DA", "-DA=1", "-D A=1", "--define-macro=A=1", "-UA", "--undefine-macro=A", "-I/tmp", "-I /tmp", "--include-path=/tmp",
          "--pre-include=stddef.h", "-include stddef.h", "--no-source-include", "-std=c++11", "--std=c++20", "--builtin-move-forward=false",
          "--builtin-initializer-list=false", "-w", "--restrict", "-default-device", "--optimization-info=inline", "-err-no", "--diag-suppress=177,68",
          "--brief-diagnostics=true", "--split-compile=0", "--minimal", "--device-int128", "-pch", "-no-cache", "-arch=sm_75", "-arch compute_80",
          "--gpu-architecture=compute_90a", "-arch=compute_120"):
    r, log, ptx = compiled(K, *o.split(" "))
    assert r == 0 and ".entry k" in ptx and not log, (o, r, log)
for o, why in (("-dlto", "LTO-IR"), ("--optix-ir", "OptiX-IR"), ("-arch=sm_20", "compute_20"), ("-arch=nonsense", "nonsense"), ("-O3", "-O3"), ("-I", "-I"), ("--std", "--std")):
    r, log, ptx = compiled(K, o)
    assert r == 5 and why in log and not ptx, (o, r, log)
# what an option says is so
assert "fma.rn.f32" in compiled(K)[2] and "fma.rn.f32" not in compiled(K, "--fmad=false")[2]
assert ".ftz" in compiled(K, "--ftz=true")[2] and ".ftz" not in compiled(K)[2]
assert ".loc\t" in compiled(K, "-lineinfo")[2] and ".loc\t" not in compiled(K)[2]
assert "vprintf" in compiled(K)[2]
assert compiled(b"#ifdef A\n#error A is there\n#endif\n" + K, "-DA", "-UA")[0] == 0
assert compiled(b"__global__ void k(int *p) { auto f = [](auto x) { return x; }; *p = f(1); }", "--std=c++14")[0] == 0
# headers of ours, none of the host's
for h in ("cuda_fp16.h", "cuComplex.h", "cooperative_groups.h", "curand_kernel.h", "cuda_runtime.h", "cuda.h", "math_constants.h", "stdint.h", "limits.h", "float.h"):
    r, log, _ = compiled(f"#include <{h}>\n".encode() + K)
    assert r == 0, (h, log)
assert compiled(b"#include <stdio.h>\n" + K)[0] == 6
# names of headers stay in the folder that is made for them
for bad in (b"../up.h", b"/etc/x.h", b"a/../../b.h", b"", b"a/"):
    p = ctypes.c_void_p()
    assert n.nvrtcCreateProgram(ctypes.byref(p), K, b"t.cu", 1, (ctypes.c_char_p * 1)(b""), (ctypes.c_char_p * 1)(bad)) == 3, bad
# two at once, and a program that waits for all its children
import os, signal, threading
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
got = []
def one(i):
    got.append(compiled(K.replace(b"+ 1", b"+ %d" % i))[:2])
threads = [threading.Thread(target=one, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert got == [(0, "")] * 4, got
# no folder to write in: an error that says so
os.environ["TMPDIR"] = "/nonexistent"
r, log, _ = compiled(K)
assert r == 11 and "/nonexistent" in log, (r, log)
PY
VGPU_NVRTC=clang timeout 200 python3 "$t/options.py" "$B/lib/libnvrtc.so.12" >"$t/have" 2>&1 && ok "options, headers, threads, no folder" || fail "options: $(tail -n 2 "$t/have")"
