# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The tests, in the order they run; sourced by run.sh. Programs are built by build.mk (test-bins).

T=$B/test

# What looks at processor time, or changes the machine's hugepages, is alone: before the others, who then need not end together.
alone='agent hugepages'
for name in $alone; do
	many "system/$name" 300 "tests/system/$name.sh" "$B"
done

# One thread each, or asleep: they share the machine, and have devices of their own. Long ones are begun early.
together

# --- a guest with a stock kernel: the agent over kernel VFIO, the device outside
many vm 1200 tests/vm/run.sh "$B"

# --- asleep nearly all the time: an agent against a device that fails in every way there is, contexts that do
patient=' agent_loopback ctxproc '
for name in $patient; do
	for p in "$T"/unit/{asan,plain}/$name; do
		[ -x "$p" ] && asleep t "${p#"$T/"}" 300 "$p"
	done
done

# --- PTX: one file per case, then every form against the scalar reference
for kind in plain asan; do
	for mode in interp jit; do
		many "ptx/cases/$mode/$kind" 300 "$T/ptx/$kind/ptxrun" -m $mode -s tests/ptx/cases
		t "ptx/forms/$mode/$kind" 300 "$T/ptx/$kind/optest" -m $mode
	done
	many "ptx/memcheck/$kind" 300 "$T/ptx/$kind/ptxrun" -m memcheck -s tests/ptx/memcheck
	many "ptx/ops/$kind" 300 "$T/ptx/$kind/ptxrun" -m ops -s tests/ptx/ops
	# the interpreter under ASan has had all cases above: of what stands around it, every third
	few=; [ $kind = plain ] || few='-e 3'
	for mode in memcheck ops; do
		# shellcheck disable=SC2086
		many "ptx/cases/$mode/$kind" 300 "$T/ptx/$kind/ptxrun" -m $mode $few -s tests/ptx/cases
	done
done
# processors without AVX-512: strips, and below AVX2 the interpreter
for isa in base avx2; do
	many "ptx/cases/$isa" 300 env VGPU_CPU_ISA=$isa "$T/ptx/plain/ptxrun" -m jit -s tests/ptx/cases
	t "ptx/forms/$isa" 300 env VGPU_CPU_ISA=$isa "$T/ptx/plain/optest" -m jit
done
many ptx/cases/avx2/asan 300 env VGPU_CPU_ISA=avx2 "$T/ptx/asan/ptxrun" -m jit -s tests/ptx/cases
many ptx/cases/avx2/verify 300 env VGPU_CPU_ISA=avx2 "$T/ptx/plain/ptxrun" -m verify -s tests/ptx/cases
for kind in plain asan; do
	t "ptx/legal/$kind" 60 "$T/ptx/$kind/legal" tests/ptx/legal/*.txt
done
# the JIT's code left to the interpreter and entered again all over
for x in 3 20; do
	many "ptx/cases/partly/$x" 300 "$T/ptx/plain/ptxrun" -m jit -x $x -s tests/ptx/cases
done
# one worker: atomics without locks
many ptx/cases/alone 300 "$T/ptx/plain/ptxrun" -c 1 -m jit -s tests/ptx/cases
many ptx/cases/avx2/alone 300 env VGPU_CPU_ISA=avx2 "$T/ptx/plain/ptxrun" -c 1 -m jit -s tests/ptx/cases
# the everyday kernels' results against C's
t ptx/everyday/jit 120 "$B/bin/vgpu" bench kernels -n
t ptx/everyday/avx2 120 env VGPU_CPU_ISA=avx2 "$B/bin/vgpu" bench kernels -n
t ptx/everyday/interp 120 env VGPU_ENGINE=interp "$B/bin/vgpu" bench kernels -n
t ptx/forms/partly 300 "$T/ptx/plain/optest" -m jit -x 5
many ptx/cases/verify 300 "$T/ptx/plain/ptxrun" -m verify -s tests/ptx/cases
t ptx/oracle 300 tests/ptx/oracle/run.sh "$B" -e 6
t ptx/probe 60 tests/ptx/probe.sh "$B"
# what a GPU gave where the ISA leaves it open
for mode in interp jit; do
	t "ptx/golden/$mode" 60 "$T/ptx/plain/golden" -m $mode tests/ptx/golden
done
t ptx/golden/avx2 60 env VGPU_CPU_ISA=avx2 "$T/ptx/plain/golden" -m jit tests/ptx/golden
t ptx/golden/asan 60 "$T/ptx/asan/golden" -m jit tests/ptx/golden
t ptx/verify 120 tests/ptx/verify.sh "$B"
t ptx/ops 60 tests/ptx/ops.sh "$B"
t ptx/noavx512 300 tests/ptx/noavx512.sh "$B"
t ptx/disasm 60 tests/ptx/disasm.sh "$B"
# kernels that were wrong once, and show it on memory that cases/ do not have
t ptx/random/kept 60 "$T/ptx/plain/jitdiff" -1 -o "$T/ptx" tests/ptx/random/*.ptx
t ptx/random/kept/avx2 60 env VGPU_CPU_ISA=avx2 "$T/ptx/plain/jitdiff" -1 -o "$T/ptx" tests/ptx/random/*.ptx
t ptx/random/plain 300 "$T/ptx/plain/jitdiff" -n 600 -o "$T/ptx"
t ptx/random/avx2 300 env VGPU_CPU_ISA=avx2 "$T/ptx/plain/jitdiff" -n 600 -s 40000 -o "$T/ptx"
t ptx/random/avx2/asan 300 env VGPU_CPU_ISA=avx2 "$T/ptx/asan/jitdiff" -n 60 -s 50000 -o "$T/ptx"
t ptx/random/asan 300 "$T/ptx/asan/jitdiff" -n 60 -s 10000 -o "$T/ptx"
t ptx/random/partly 300 "$T/ptx/plain/jitdiff" -n 300 -s 20000 -x 1 -o "$T/ptx"
t ptx/mutants 300 tests/ptx/mutants.sh -b "$B" -q
many ptx/planted 60 tests/ptx/mutants.sh -c
t ptx/random/partly/asan 300 "$T/ptx/asan/jitdiff" -n 30 -s 30000 -x 1 -o "$T/ptx"

# --- CUDA's device library, compiled by NVIDIA's nvcc where PyPI can be had
many maths 600 tests/maths/run.sh "$B"

# --- random C++ programs, one a thread, against the same on the host
many csmith 300 tests/csmith/run.sh "$B"

# --- units: every binary that was built, in each of its builds (plain, asan, tsan)
for kind in plain asan tsan; do
	for p in "$T/unit/$kind"/*; do
		[ -x "$p" ] || continue
		[ "$kind" != tsan ] && [[ $patient == *" ${p##*/} "* ]] || t "unit/$kind/$(basename "$p")" 300 "$p"
	done
done

t fatbin/plain 60 "$T/ptx/plain/fatbin_test" tests/fatbin
t fatbin/asan 60 "$T/ptx/asan/fatbin_test" tests/fatbin

# --- fuzzers: committed corpus and deterministic mutations, under ASan and UBSan
for p in "$T/fuzz"/*; do
	[ "$(basename "$p")" = fuzz_jit ] && continue
	[ -x "$p" ] && t "fuzz/$(basename "$p")" 120 "$p" -t 5 "tests/fuzz/corpus/$(basename "$p" | sed 's/^fuzz_//')"
done
# what coverage has led to so far (tests/fuzz/run.sh)
[ -x "$T/fuzz/fuzz_jit" ] && t fuzz/fuzz_jit 300 "$T/fuzz/fuzz_jit" -n 0 tests/fuzz/corpus/jit

# --- ABI of the libraries
for p in tests/abi/test_*.sh; do
	[ -e "$p" ] && t "abi/$(basename "$p" .sh)" 120 "$p" "$B"
done

# Each with a device and an agent of its own. Ollama first: where it has to be built, others run meanwhile.
# --- Ollama: built once from the Go proxy's and npm's sources, where these can be had
many ollama 1200 tests/ollama/run.sh "$B"

# --- end to end, each flavour against one device and agent
t e2e/ptx_fresh 60 tests/e2e/ptx_fresh.sh
many e2e 600 tests/e2e/run.sh "$B"
t e2e/tensormap/9.0 60 "$B/bin/vgpu" run --private --cc 9.0 -- "$B/e2e/driver/tensormap"
t e2e/cluster/9.0 60 "$B/bin/vgpu" run --private --cc 9.0 -- "$B/e2e/driver/cluster"
t e2e/products/9.0 60 "$B/bin/vgpu" run --private --cc 9.0 -- "$B/e2e/driver/products"
t e2e/largeparams/7.0 120 "$B/bin/vgpu" run --private --cc 7.0 -- "$B/e2e/driver/largeparams"
many e2e/avx2 600 env VGPU_CPU_ISA=avx2 E2E_WINDOW=536870912 tests/e2e/run.sh "$B"

# --- the engine on a CUDA driver: ours, over a second agent and device
many cuda/nested 300 tests/cuda/nested.sh "$B"
# a driver whose every call fails in turn
asleep many cuda/mock 600 tests/cuda/mock.sh "$B"
# what a context leaks the sweep counts; LeakSanitizer, at its end, asks for calls that the sandbox does not give it
asleep many cuda/mock/asan 600 env STUB="$B/test/san/bin/vgpu-stub" ASAN_OPTIONS=detect_leaks=0 tests/cuda/mock.sh "$B" cuLaunch

# --- CUDA programs compiled by NVIDIA's nvcc where PyPI can be had: CUB, Thrust, warps
many nvcc 900 tests/nvcc/run.sh "$B"
many nvcc/shown 600 tests/nvcc/shown.sh "$B"
many nvcc/names 120 tests/nvcc/names.sh "$B"
many nvcc/rdc 300 tests/nvcc/rdc.sh "$B"
many nvcc/launches 600 tests/nvcc/launches.sh "$B"
many nvcc/archives 900 tests/nvcc/archives.sh "$B"
many nvcc/toolkit 300 tests/nvcc/toolkit.sh "$B"
many nvcc/ggml 900 tests/nvcc/ggml.sh "$B"
many nvcc/cutlass 1200 tests/nvcc/cutlass.sh "$B"

# --- cuBLAS against OpenBLAS
many blas 300 tests/blas/run.sh "$B"

# --- programs that carry NVIDIA's cudart inside, by nvcc from PyPI where that can be had
many turn 400 tests/turn/run.sh "$B"
many turn/wheels 1200 tests/turn/wheels.sh "$B"
# --- the linker of PTX behind cuLink* and libnvJitLink
many link 120 tests/link/run.sh "$B"
# --- OpenMP and OpenACC by Debian's gcc
many offload 300 tests/offload/run.sh "$B"
many strangers/debian 900 tests/strangers/debian.sh "$B"
many strangers/wheels 5000 tests/strangers/wheels.sh "$B"
many strangers/operators 1200 tests/strangers/operators.sh "$B"
many strangers/curand 3000 tests/strangers/curand.sh "$B"
many strangers/eleven 900 tests/strangers/eleven.sh "$B"
many strangers/boxes 400 tests/strangers/boxes.sh "$B"
many strangers/mpi 500 tests/strangers/mpi.sh "$B"
many strangers/jvm 700 tests/strangers/jvm.sh "$B"
many strangers/go 2000 tests/strangers/go.sh "$B"
many strangers/rust 4000 tests/strangers/rust.sh "$B"
# --- languages and frameworks as PyPI has them
many languages 900 tests/languages/run.sh "$B"
# --- what is ordered, by a model of CUDA's rules
many order 300 tests/order/run.sh "$B"

# --- an unmodified llama.cpp, fetched from npm where that can be had
many llm 700 tests/llm/run.sh "$B"
many llm/node 600 tests/llm/node.sh "$B"
many llm/trace 300 tests/llm/trace.sh "$B"
many llm/cuda13 400 tests/llm/cuda13.sh "$B"
many llm/strangers 700 tests/llm/strangers.sh "$B"
many llm/rpc 600 tests/llm/rpc.sh "$B"
many llm/whole 300 tests/llm/whole.sh "$B"
many llm/ops 900 tests/llm/ops.sh "$B"
many llm/ops/avx2 900 env VGPU_CPU_ISA=avx2 tests/llm/ops.sh -s 3 "$B"
many llm/archs 900 tests/llm/archs.sh "$B"

# --- Ollama again, now that it is there
many ollama/doctor 900 tests/ollama/doctor.sh "$B"
many ollama/static 600 tests/ollama/static.sh "$B"
many ollama/service 300 tests/ollama/service.sh "$B"
many ollama/guest 600 tests/ollama/guest.sh "$B"

# --- hostile clients and deaths: they wait for those now and then
asleep many soak/beside 300 tests/soak/beside.sh "$B"
asleep many soak/stopped 300 tests/soak/stopped.sh "$B"
asleep many soak/ended 200 tests/soak/ended.sh "$B"
many native 600 tests/hostile/native.sh "$B"
many hostile 900 tests/hostile/run.sh "$B"
many hostile/planted 60 tests/hostile/mutants.sh -c "$B"
many crowd 300 tests/hostile/crowd.sh "$B"
many soak/leaks 300 tests/soak/leaks.sh "$B" 1
many soak/again 300 tests/soak/again.sh "$B"
many soak/replace 300 tests/soak/replace.sh "$B"
many soak/storm 300 tests/soak/storm.sh "$B" 40
many soak/crowd 300 tests/soak/crowd.sh "$B"

# --- the acceptance list of the agent and the tools
sleeping='doctor lost inflight notify service load gates device slurm'
for name in $sleeping; do
	asleep many "system/$name" 300 "tests/system/$name.sh" "$B"
done
for p in tests/system/*.sh; do
	name=$(basename "$p" .sh)
	[[ " lib $sleeping $alone " == *" $name "* ]] || many "system/$name" 300 "$p" "$B"
done
