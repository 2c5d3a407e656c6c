# SPDX-License-Identifier: MIT
# The whole build. `make` builds everything into build/; `make demo` and `make test` first install what
# is missing (tools/setup.sh), so each works as the only command on a fresh Debian 12.
#
#   make            libraries, agent, device, vgpu          make CC=clang   the same with clang
#   make demo       device table, example programs, launch latency
#   make test       every test; ends with "N passed, N failed, N skipped"
#   make demo-ollama    builds Ollama where it is not there yet (minutes, once) and has it write text on the device
#   make vm         a guest with a CUDA device, on this terminal; make guest: only its initramfs
#   make toolkit    a CUDA toolkit's folder, TOOLKIT (build/toolkit), by vgpu toolkit
#   make install    into PREFIX (/usr/local) below DESTDIR, with units and man pages; make uninstall
#   make guest-kernel   a kernel for the tests in guests that has VFIO's cdev and iommufd (minutes, once)
#   make pre-push   exactly what CI does: make test in a fresh clone
#   make clean

B       := build
O       := $(B)/obj
ifeq ($(origin CC),default)
CC      := gcc
endif
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)

# a comma where make would take one for its own
,       := ,
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
# Lines are what backtraces, profiles and the reports of valgrind need; variables as well are a fifth of the time of compiling (CFLAGS='-O2 -g')
CFLAGS  ?= -O2 -g1
BASE    := -std=gnu11 $(WARN) -fno-strict-aliasing -MMD -MP
# No jump across 32 bytes: on Intel's processors of 2015 to 2020 such a line never comes from the cache of decoded
# instructions, which costs a launch a fifth. gcc leaves it to the assembler, clang does it itself.
JUMPS   := $(firstword $(foreach o,-Wa$(,)-mbranches-within-32B-boundaries -mbranches-within-32B-boundaries,$(shell \
	echo 'int x;' | $(CC) $(o) -xc -c -o /dev/null - 2>/dev/null && echo $(o))))
# What the release is, in each program and library as systemd, coredumpctl and readelf -n read it (systemd.io/ELF_PACKAGE_METADATA),
# where the linker can.
VERSION := $(shell sed -n 's/^\#define VGPU_VERSION "\(.*\)"/\1/p' fw-protocol/vgpu_version.h)
NOTE    := -Xlinker '--package-metadata={"type":"vgpu","name":"vgpu","version":"$(VERSION)"}'
NOTE    := $(if $(shell echo 'int x;' | $(CC) $(NOTE) -shared -nostdlib -xc -o /dev/null - 2>/dev/null && echo yes),$(NOTE))
PIC     := $(BASE) -fPIC -fvisibility=hidden $(JUMPS) -Ilibcuda-lite/include
# lines are all that a report of theirs needs, and a third of the time of compiling
SAN     := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

# ---- sources ------------------------------------------------------------------------------------
FW      := fw-protocol/vgpu_check.c
SERVICE := tools/service/notify.c
STUB    := $(wildcard tools/vgpu-stub/*.c)
# PTX in a cubin's place: engine, tool and libraries read it
CUBIN   := fw-protocol/vgpu_cubin.c
CPU     := $(wildcard tools/vgpu-stub/cpu/*.c tools/vgpu-stub/cpu/strip/*.c) $(CUBIN)
CUDA    := $(wildcard tools/vgpu-stub/cuda/*.c)
TOOL    := $(wildcard tools/vgpu/*.c) libcuda-lite/turn/carried.c libcuda-lite/turn/stripped.c $(wildcard libcuda-lite/link/*.c)
CORE    := $(wildcard libcuda-lite/core/*.c) $(wildcard libcuda-lite/driver/*.c) $(wildcard libcuda-lite/link/*.c) $(CUBIN)
RT      := $(wildcard libcuda-lite/runtime/*.c)
BLAS    := $(wildcard libcuda-lite/blas/*.c)
NVML    := $(wildcard libcuda-lite/nvml/*.c)
NCCL    := $(wildcard libcuda-lite/nccl/*.c)
BLASLT  := $(wildcard libcuda-lite/blaslt/*.c) $(addprefix libcuda-lite/blas/,module.c types.c levels.c product.c)
CUDNN   := $(wildcard libcuda-lite/cudnn/*.c)
ELEVEN  := libcuda-lite/eleven/versions.c
# library.soname.NOT_SUPPORTED's number: names only
ABSENT  := cufft.11.16 cufft.12.16 cusparse.12.10 cusolver.11.9 cusolver.12.9
TURN    := $(wildcard libcuda-lite/turn/*.c)
LINK    := $(wildcard libcuda-lite/link/*.c) $(CUBIN)
FRONT   := libcuda-lite/front/front.c
RTC     := libcuda-lite/front/clang.c libcuda-lite/front/clang_options.c
AGENT   := $(wildcard agent/*.c)

# the last two are empty: ours need no such part, and kernels that launch kernels are not supported
ARCHIVES := libcuda-lite libcuda libcudart_static libcublas_static libcublasLt_static libnvidia-ml libnccl_static libvgpu-dl libculibos libcudadevrt

# what a plain test takes of the device are the device's own objects
objs     = $(call objs_of,$(if $(filter plain,$(1)),stub,$(1)),$(filter tools/vgpu-stub/%,$(2))) $(call objs_of,$(1),$(filter-out tools/vgpu-stub/%,$(2)))
objs_of  = $(patsubst %.c,$(O)/$(1)/%.o,$(2))
# of a word of ABSENT: its first, second, third part; its file
part     = $(word $(2),$(subst ., ,$(1)))
absent_so = $(B)/lib/vgpu/xla/lib$(call part,$(1),1).so.$(call part,$(1),2)

.DELETE_ON_ERROR:
# V=1 shows the commands
ifeq ($(V),)
.SILENT:
endif
.SUFFIXES:
.PHONY: help all demo demo-ollama toolkit test vm guest guest-kernel check pre-push install uninstall clean  setup libs bins test-bins

all: bins libs

# what programs open by a name without a number, as a toolkit's folder has it
PLAIN   := $(addprefix $(B)/lib/,libcudart.so libcublas.so libcublasLt.so libnvrtc.so libnvJitLink.so libnvidia-ml.so)

bins: $(B)/bin/vgpu $(B)/bin/vgpu-stub $(B)/bin/vgpu-agent $(B)/lib/vgpu/bin/ptxas $(B)/lib/vgpu/bin/nvlink $(B)/lib/vgpu/python
libs: $(B)/lib/libcuda.so.1 $(B)/lib/libcudart.so.12 $(B)/lib/libcudart.so.13 $(B)/lib/libcuda-lite.a \
	$(B)/lib/libcudart.so.11.0 $(B)/lib/libcublas.so.11 $(B)/lib/libcublasLt.so.11 $(B)/lib/libnvrtc.so.11.2 \
	$(B)/lib/libnvidia-ml.so.1 $(B)/lib/libnvToolsExt.so.1 $(B)/lib/libnccl.so.2 $(B)/lib/vgpu/xla/libcudnn.so.9 \
	$(foreach a,$(ABSENT),$(call absent_so,$(a))) $(B)/lib/libvgpu-turn.so \
	$(foreach v,12 13,$(B)/lib/libcublas.so.$(v) $(B)/lib/libcublasLt.so.$(v) $(B)/lib/libnvrtc.so.$(v) $(B)/lib/libnvJitLink.so.$(v)) \
	$(PLAIN) $(foreach v,12 13,$(addprefix $(B)/lib/cuda-$(v)/,$(addsuffix .a,$(ARCHIVES)))) $(B)/lib/toolkit $(B)/include/vgpu $(B)/lib/dev-12/libcuda.so $(B)/lib/dev-13/libcuda.so $(B)/lib/nvidia-smi $(B)/lib/compute-sanitizer $(B)/lib/sdk
$(PLAIN):
	@mkdir -p $(@D)
	ln -sfn $(@F).$(if $(filter %-ml.so,$@),1,13) $@
# a toolkit's folder for CMake's FindCUDAToolkit, of links alone: CUDAToolkit_ROOT
SDK_A   := cudart_static cublas_static cublasLt_static
$(B)/lib/sdk:
	@mkdir -p $@.new/bin $@.new/lib64
	ln -sfn ../../../bin/vgpu $@.new/bin/nvcc
	ln -sfn ../../include/vgpu $@.new/include
	for f in cuda cudart cublas cublasLt nvidia-ml nccl nvrtc; do ln -sfn ../../dev-13/lib$$f.so $@.new/lib64/lib$$f.so || exit; done
	for f in $(SDK_A); do ln -sfn ../../cuda-13/lib$$f.a $@.new/lib64/lib$$f.a || exit; done
	mv -T $@.new $@
# vgpu smi and vgpu sanitizer by the names that scripts look for
$(B)/lib/nvidia-smi $(B)/lib/compute-sanitizer:
	@mkdir -p $(@D)
	ln -sfn ../bin/vgpu $@
# development links, those of a major in a folder: -L there, and -lcuda -lcudart -lcublas -lcublasLt -lnvidia-ml -lnccl -lnvrtc
$(B)/lib/dev-%/libcuda.so:
	@mkdir -p $(@D)
	for f in libcudart.so.$* libcublas.so.$* libcublasLt.so.$* libnvidia-ml.so.1 libnccl.so.2 libnvrtc.so.$* $(if $(filter 12,$*),libnvToolsExt.so.1) libcuda.so.1; do \
		ln -sfn ../$$f $(@D)/$${f%.*}; done; ln -sfn ../libcuda.so.1 $(@D)/
# as they lie when installed: vgpu toolkit finds them by its own place
$(B)/lib/toolkit $(B)/include/vgpu:
	@mkdir -p $(@D)
	ln -sfn $(CURDIR)/$(if $(filter %toolkit,$@),tools/toolkit,libcuda-lite/include) $@

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' build.mk

# what Python programs find by PYTHONPATH
$(B)/lib/vgpu/python:
	@mkdir -p $(@D)
	ln -sfn $(CURDIR)/tools/python $@
# the toolkit's programs by their names: vgpu itself
$(B)/lib/vgpu/bin/ptxas $(B)/lib/vgpu/bin/nvlink:
	@mkdir -p $(@D)
	ln -sf ../../../bin/vgpu $@

# The two commands. Set-up may bring the compiler itself, so the build is a make of its own.
setup:
	@tools/setup.sh
demo: setup
	@echo "building (V=1 shows the commands)"
	@$(MAKE) --no-print-directory -j$(JOBS) all e2e
	@tests/demo.sh $(B)
demo-ollama: setup
	@echo "building (V=1 shows the commands)"
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@$(B)/bin/vgpu run --private -- tests/ollama/demo.sh $(B) build
toolkit:
	@$(MAKE) --no-print-directory -j$(JOBS) bins libs
	@$(B)/bin/vgpu toolkit --nvcc $(B)/nvcc $(or $(TOOLKIT),$(B)/toolkit)
test: setup
	@echo "building (V=1 shows the commands)"
	@$(MAKE) --no-print-directory -j$(JOBS) all test-bins
	@tests/run.sh $(B)
# tests/vm: QEMU and a stock kernel are fetched once into $(B)/vm
guest vm: setup
	@echo "building (V=1 shows the commands)"
	@$(MAKE) --no-print-directory -j$(JOBS) bins $(addprefix $(B)/e2e/static-musl/,vecadd reduce matmul scan threads)
	@tests/vm/guest.sh $(if $(filter vm,$@),shell,image) $(B)
guest-kernel:
	@tools/setup.sh kernel
	@tests/vm/build-kernel.sh $(or $(VGPU_VM_CACHE),$(B)/vm)/own
check:
	@$(MAKE) --no-print-directory -j$(JOBS) all test-bins
	@tests/run.sh $(B)
PREFIX     ?= /usr/local
SYSCONFDIR ?= /etc
install: all
	PREFIX=$(PREFIX) SYSCONFDIR=$(SYSCONFDIR) DESTDIR=$(DESTDIR) tools/service/install.sh install $(B)
uninstall:
	PREFIX=$(PREFIX) SYSCONFDIR=$(SYSCONFDIR) DESTDIR=$(DESTDIR) tools/service/install.sh uninstall
pre-push:
	rm -rf $(B)/clone && git clone -q . $(B)/clone && cd $(B)/clone && bash .ci/run

# ---- the device: dynamic glibc, lz4 and zstd for fatbins -----------------------------------------
STUB_FLAGS :=
CPU_FLAGS  := -ffp-contract=off -frounding-math
# the two that an image without packages lacks go in, where their archives are
ARCHIVED   := $(foreach l,lz4 zstd,$(if $(findstring /,$(shell $(CC) -print-file-name=lib$(l).a)),-Wl$(,)-Bstatic -l$(l) -Wl$(,)-Bdynamic,-l$(l)))
STUB_LIBS  := $(ARCHIVED) -lm -lpthread -ldl

$(O)/stub/tools/vgpu-stub/cpu/%.o: tools/vgpu-stub/cpu/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(BASE) $(CPU_FLAGS) -c -o $@ $<
$(O)/stub/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(BASE) $(STUB_FLAGS) -c -o $@ $<
# the cuda engine's own kernels, as text
$(foreach o,stub asan,$(eval $(O)/$(o)/tools/vgpu-stub/cuda/gemm.o: $(wildcard tools/vgpu-stub/cuda/kernels/*.ptx)))
$(B)/bin/vgpu-stub: $(call objs,stub,$(STUB) $(CPU) $(CUDA) $(FW) $(SERVICE))
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(NOTE) -Wl,-z,relro,-z,now -o $@ $^ $(STUB_LIBS)

# ---- the agent: musl, static-pie, own linker script; only musl and libcpuid in it --------------------
# musl-gcc -static-pie quietly makes a dynamic PIE, so the link names musl's start files itself.
AG      := $(B)/agent-deps
MUSL    := /usr/lib/x86_64-linux-musl
AGENT_FLAGS := -D_GNU_SOURCE -fPIE -fvisibility=hidden -ffunction-sections -fdata-sections \
	-fno-stack-protector -Ifw-protocol -Iagent -isystem $(AG)/khdr -isystem $(AG)/include

$(AG)/libcpuid.a: agent/libcpuid.sh
	agent/libcpuid.sh $(AG)
# the kernel's headers without glibc's
$(AG)/khdr:
	@mkdir -p $@
	@ln -sfn /usr/include/linux $@/linux
	@ln -sfn /usr/include/asm-generic $@/asm-generic
	@ln -sfn /usr/include/x86_64-linux-gnu/asm $@/asm
$(O)/agent/%.o: %.c | $(AG)/khdr $(AG)/libcpuid.a
	@mkdir -p $(@D)
	musl-gcc -O2 -g1 $(BASE) $(AGENT_FLAGS) -c -o $@ $<
$(B)/bin/vgpu-agent: $(call objs,agent,$(AGENT) $(FW) $(SERVICE)) $(AG)/libcpuid.a linker/vgpu-agent.ld
	@mkdir -p $(@D) $(B)/debug
	gcc -static-pie -nostdlib -nostartfiles $(NOTE) \
		-Wl,--gc-sections,-z,relro,-z,now,-z,noexecstack,-T,linker/vgpu-agent.ld -o $(B)/debug/vgpu-agent \
		$(MUSL)/rcrt1.o $(MUSL)/crti.o $$(gcc -print-file-name=crtbeginS.o) $(filter %.o,$^) $(AG)/libcpuid.a \
		-L$(MUSL) -Wl,--start-group -lc -lgcc -lgcc_eh -Wl,--end-group \
		$$(gcc -print-file-name=crtendS.o) $(MUSL)/crtn.o
	strip -s -o $@ $(B)/debug/vgpu-agent

# ---- vgpu ---------------------------------------------------------------------------------------
$(O)/tool/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(BASE) -c -o $@ $<
# the C that the engine is measured against: as fast as gcc makes it here, or in a package for the processors that it names
BENCH_MARCH ?= native
$(O)/tool/tools/vgpu/bench_engine_c.o: tools/vgpu/bench_engine_c.c
	@mkdir -p $(@D)
	gcc -O3 -march=$(BENCH_MARCH) -ffast-math -g1 $(BASE) -c -o $@ $<
$(O)/tool/tools/vgpu/bench_ptx.o: tools/vgpu/kernels/bench.ptx
# and the everyday kernels' algorithms, once more for AVX2
EVERYDAY := $(wildcard tools/vgpu/kernels/everyday/*.c)
define everyday
$(O)/tool/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	gcc -O3 -march=$(if $(filter native,$(1)),$(BENCH_MARCH),$(1)) -ffast-math -fPIC -g1 $(BASE) -DTABLE=c_$$(basename $$(@F))_$(1) -c -o $$@ $$<
endef
$(foreach m,native haswell,$(eval $(call everyday,$(m))))
# an object of its own, held as bytes: gcc calls libmvec in it, which vgpu does without where somebody has nothing but libc
$(O)/tool/everyday.so: $(call objs,tool/native,$(EVERYDAY)) $(call objs,tool/haswell,$(EVERYDAY))
	gcc -shared -o $@ $^ -lm
$(O)/tool/tools/vgpu/bench_kernels_c.o: $(O)/tool/everyday.so
$(O)/tool/tools/vgpu/bench_kernels_c.o: override CFLAGS += -DEVERYDAY_SO='"$(O)/tool/everyday.so"' -DBENCH_MARCH='"$(BENCH_MARCH)"'
$(O)/tool/tools/vgpu/bench_kernels_ptx.o: $(wildcard tools/vgpu/kernels/everyday/*.ptx)
$(B)/bin/vgpu: $(call objs,tool,$(TOOL)) $(call objs,stub,$(CPU))
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(NOTE) -Wl,-z,relro,-z,now -o $@ $^ -ldl $(STUB_LIBS)

# ---- libcuda-lite -------------------------------------------------------------------------------
# Every library is loadable alone (-z defs) and needs libc only (libcudart: libcuda too).
SO := -shared $(NOTE) -Wl,-Bsymbolic-functions -Wl,-z,defs -Wl,-z,relro,-z,now -Wl,-z,nodelete -Wl,--as-needed
# those that need libcuda.so.1 find it in their own folder: the loader does, and the linker of who links with them
BESIDE := -Wl,--enable-new-dtags,-rpath,'$$ORIGIN'

$(O)/lib/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) -c -o $@ $<
$(O)/rt12/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) -DCUDART_MAJOR=12 -c -o $@ $<
$(O)/rt13/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) -DCUDART_MAJOR=13 -c -o $@ $<
# the archives: position-independent, so that static-pie programs take them; no glibc-only call
STATIC  := -DVGPU_STATIC -U_FORTIFY_SOURCE -fno-stack-protector
$(O)/static/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) $(STATIC) -c -o $@ $<
# Where nothing hardens what is compiled, that makes a difference to those alone that ask, or are beside a header that does: of all else the
# archives take the shared libraries' objects. static_objs: a kind of objects, sources, the shared libraries' kind.
HARDENS := $(shell $(CC) $(CFLAGS) -dM -E -xc /dev/null 2>/dev/null | grep -E '_FORTIFY_SOURCE|__SSP')
ASK     := $(shell grep -rl VGPU_STATIC --include=*.[ch] libcuda-lite)
ASK     := $(filter %.c,$(ASK)) $(foreach h,$(filter %.h,$(ASK)),$(wildcard $(dir $(h))*.c))
static_objs = $(if $(HARDENS),$(call objs,$(1),$(2)),$(call objs,$(1),$(filter $(ASK),$(2))) $(call objs,$(3),$(filter-out $(ASK),$(2))))

# The traced side of a library (libcuda-lite/trace): its objects become one, whose public names get inner ones; gen.awk
# writes an entry point for each, and the wrapper that tracing turns it to. Arguments of traced: library, objects, their
# names (awk), header with the prototypes, flags, the library's own kinds of arguments, link flags.
G       := $(O)/traced
TRACE_H := $(wildcard libcuda-lite/trace/*.h) libcuda-lite/trace/gen.awk
$(G)/%/trace.o: libcuda-lite/trace/trace.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) $(if $(findstring libcuda.so,$*),-DTRACE_SHARED) -c -o $@ $<
$(G)/%/format.o: libcuda-lite/trace/format.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) -c -o $@ $<
define traced
$(G)/$(1)/all.o: $(2)
	@mkdir -p $$(@D)
	ld -r -o $$@ $$^
$(G)/$(1)/calls.c: $(G)/$(1)/all.o $(4) $(TRACE_H)
	nm -g --defined-only $$< | awk '$$$$2 == "T" && $$$$3 ~ /^($(3))/ {print $$$$3}' >$(G)/$(1)/defined
	$(if $(filter %/unsupported.o,$(2)),nm -g --defined-only $(filter %/unsupported.o,$(2)),:) | awk '$$$$2 == "T" {print $$$$3}' | \
		awk 'all {print $$$$1, $$$$1 in no ? "unsupported" : ""; next} {no[$$$$1] = 1}' - all=1 $(G)/$(1)/defined >$(G)/$(1)/names
	$(CC) -E -P $(PIC) $(5) -o $(G)/$(1)/calls.i $(4)
	awk -v out=$(G)/$(1)/calls -v header=$(notdir $(4)) -f libcuda-lite/trace/gen.awk $(G)/$(1)/names $(G)/$(1)/calls.i
$(G)/$(1)/calls.o: $(G)/$(1)/calls.c
	$(CC) $(CFLAGS) -O1 $(PIC) -Ilibcuda-lite/trace $(5) -c -o $$@ $$<
$(G)/$(1)/entries.o: $(G)/$(1)/calls.c
	$(CC) -c -o $$@ $(G)/$(1)/calls.S
$(G)/$(1)/bodies.o: $(G)/$(1)/calls.c
	objcopy --redefine-syms=$(G)/$(1)/calls.map $(G)/$(1)/all.o $$@
$(if $(6),$(G)/$(1)/kinds.o: $(6)
	@mkdir -p $$(@D)
	$(CC) $(CFLAGS) $(PIC) $(5) -c -o $$@ $$<)
$(B)/lib/$(1): $(addprefix $(G)/$(1)/,bodies.o entries.o calls.o trace.o format.o $(if $(6),kinds.o))
endef

APART   := $(O)/lib/libcuda-lite/driver/exports.o
$(eval $(call traced,libcuda.so.1,$(filter-out $(APART),$(call objs,lib,$(CORE) $(FW))),cu[A-Z],libcuda-lite/trace/driver_calls.h,,libcuda-lite/trace/driver.c))
$(B)/lib/libcuda.so.1: $(APART) $(O)/lib/libcuda-lite/trace/device.o linker/libcuda.map
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SO) -Wl,-soname,libcuda.so.1 -Wl,--version-script=linker/libcuda.map -o $@ $(filter %.o,$^)
	ln -sf libcuda.so.1 $(B)/lib/libcuda.so
$(foreach v,12 13,$(eval $(call traced,libcudart.so.$(v),$(call objs,rt$(v),$(RT)),cuda[A-Z]|__cuda,libcuda-lite/trace/runtime_calls.h,-DCUDART_MAJOR=$(v),libcuda-lite/trace/runtime.c)))
$(B)/lib/libcudart.so.%: linker/libcudart.%.map $(B)/lib/libcuda.so.1
	$(CC) $(CFLAGS) $(SO) $(BESIDE) -Wl,-soname,libcudart.so.$* -Wl,--version-script=$< -o $@ \
		$(filter %.o,$^) -L$(B)/lib -lcuda
# What knows its major is compiled for each, all else once: no other sees CUBLAS_MAJOR. blas_objs: major, sources.
MAJORS    := libcuda-lite/blas/handle.c libcuda-lite/blaslt/lt.c
blas_objs  = $(call objs,blas$(1),$(filter $(MAJORS),$(2))) $(call objs,blas,$(filter-out $(MAJORS),$(2)))
$(O)/blas/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) -Werror=undef -c -o $@ $<
$(O)/blas12/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) -DCUBLAS_MAJOR=12 -c -o $@ $<
$(O)/blas13/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) -DCUBLAS_MAJOR=13 -c -o $@ $<
# their kernels, as text
$(foreach o,blas static12 static13,$(eval $(O)/$(o)/libcuda-lite/blaslt/matmul.o: libcuda-lite/blas/kernels/epilogue.ptx) \
	$(foreach k,level1 level2 factor,$(eval $(O)/$(o)/libcuda-lite/blas/$(k).o: libcuda-lite/blas/kernels/$(k).ptx)) \
	$(eval $(O)/$(o)/libcuda-lite/blas/product.o: libcuda-lite/blas/kernels/level3.ptx))
$(eval $(call traced,libnvidia-ml.so.1,$(call objs,lib,$(NVML)),nvml[A-Z],libcuda-lite/include/nvml.h))
$(B)/lib/libnvidia-ml.so.1: linker/libnvidia-ml.map
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SO) -Wl,-soname,libnvidia-ml.so.1 -Wl,--default-symver -Wl,--version-script=linker/libnvidia-ml.map -o $@ $(filter %.o,$^)
# NVTX: the trace sees its calls; those that come by injection are led to the same entry points
$(eval $(call traced,libnvToolsExt.so.1,$(call objs,lib,libcuda-lite/nvtx/nvtx.c),nvtx[A-Z],libcuda-lite/nvtx/nvtx.h,-Ilibcuda-lite/nvtx,libcuda-lite/nvtx/traced.c))
$(B)/lib/libnvToolsExt.so.1: $(O)/lib/libcuda-lite/nvtx/inject.o linker/libnvToolsExt.map
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SO) -Wl,-soname,libnvToolsExt.so.1 -Wl,--default-symver -Wl,--version-script=linker/libnvToolsExt.map -o $@ $(filter %.o,$^)
$(B)/lib/libnccl.so.2: $(call objs,lib,$(NCCL)) linker/libnccl.map $(B)/lib/libcuda.so.1
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SO) $(BESIDE) -Wl,-soname,libnccl.so.2 -Wl,--version-script=linker/libnccl.map -o $@ $(filter %.o,$^) -L$(B)/lib -lcuda \
		-Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0
	ln -sf libnccl.so.2 $(B)/lib/libnccl.so
$(O)/lib/libcuda-lite/nccl/plan.o $(O)/static/libcuda-lite/nccl/plan.o: libcuda-lite/nccl/kernels/reduce.ptx
$(B)/lib/vgpu/xla/libcudnn.so.9: $(call objs,lib,$(CUDNN)) linker/libcudnn.map $(B)/lib/libcuda.so.1
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SO) -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' -Wl,-soname,libcudnn.so.9 -Wl,--version-script=linker/libcudnn.map -o $@ $(filter %.o,$^) -L$(B)/lib -lcuda
define absent_rule
$(O)/absent/$(1).o: libcuda-lite/absent/absent.c libcuda-lite/absent/$(call part,$(1),1).def
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) -O1 $$(PIC) -DABSENT=$(call part,$(1),1) -DABSENT_DEF='"$(call part,$(1),1).def"' -DABSENT_STATUS=$(call part,$(1),3) -c -o $$@ $$<
$(call absent_so,$(1)): $(O)/absent/$(1).o linker/lib$(call part,$(1),1).map
	@mkdir -p $$(@D)
	sed 's/\.so\.[0-9]*/.so.$(call part,$(1),2)/g' linker/lib$(call part,$(1),1).map >$(O)/absent/$(1).map
	$$(CC) $$(CFLAGS) $$(SO) -Wl,-soname,$$(@F) -Wl,--version-script=$(O)/absent/$(1).map -o $$@ $$<
endef
$(foreach a,$(ABSENT),$(eval $(call absent_rule,$(a))))
define blas_rule
$(call traced,libcublas.so.$(1),$(call blas_objs,$(1),$(BLAS)),cublas[A-Z],libcuda-lite/trace/cublas_calls.h,-DCUBLAS_MAJOR=$(1))
$(B)/lib/libcublas.so.$(1): linker/libcublas.$(1).map $(B)/lib/libcuda.so.1
	$$(CC) $$(CFLAGS) $$(SO) $$(BESIDE) -Wl,-soname,libcublas.so.$(1) -Wl,--version-script=linker/libcublas.$(1).map -o $$@ \
		$$(filter %.o,$$^) -L$(B)/lib -lcuda
$(B)/lib/libcublasLt.so.$(1): $(call blas_objs,$(1),$(BLASLT)) linker/libcublasLt.$(1).map $(B)/lib/libcuda.so.1
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(SO) $$(BESIDE) -Wl,-soname,libcublasLt.so.$(1) -Wl,--version-script=linker/libcublasLt.$(1).map -o $$@ \
		$$(filter %.o,$$^) -L$(B)/lib -lcuda
endef
$(foreach v,12 13,$(eval $(call blas_rule,$(v))))
# CUDA 11's: jumps to those of 12, which they need. Arguments: library, its major, the names it has itself, the objects these are in.
define eleven_rule
$(O)/eleven/$(1).S: $(B)/lib/$(1).so.12 libcuda-lite/eleven/gen.awk
	@mkdir -p $$(@D)
	nm -D --defined-only $$< | awk '$$$$2 == "T" {sub(/@.*/, "", $$$$3); print $$$$3}' | \
		awk -v to=$(1).so.12 -v own='$(3)' -f libcuda-lite/eleven/gen.awk >$$@
$(O)/eleven/$(1).o: $(O)/eleven/$(1).S
	$$(CC) -c -o $$@ $$<
$(B)/lib/$(1).so.$(2): $(O)/eleven/$(1).o $(4) linker/$(1).12.map
	sed 's/^$(1)\.so\.12/$(1).so.$(2)/' linker/$(1).12.map >$(O)/eleven/$(1).map
	$$(CC) $$(CFLAGS) $$(SO) $$(BESIDE) -Wl,-soname,$$(@F) -Wl,--version-script=$(O)/eleven/$(1).map -o $$@ $$(filter %.o,$$^) $(B)/lib/$(1).so.12
endef
$(O)/eleven/lt/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) -DELEVEN_LT -c -o $@ $<
$(eval $(call eleven_rule,libcudart,11.0))
$(eval $(call eleven_rule,libcublas,11,cublasGetVersion_v2 cublasGetCudartVersion cublasGetProperty,$(call objs,lib,$(ELEVEN))))
$(eval $(call eleven_rule,libcublasLt,11,cublasLtGetVersion cublasLtGetCudartVersion cublasLtGetProperty,$(call objs,eleven/lt,$(ELEVEN))))
# In front of NVIDIA's compilers. dlopen is libdl's until glibc 2.34; the audit library finds vgpu_front_path by DT_HASH.
define front_rule
$(O)/front$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(PIC) -DFRONT_MAJOR=$(1) -c -o $$@ $$<
$(B)/lib/libnvrtc.so.$(1): $(call objs,front$(1),libcuda-lite/front/nvrtc.c $(RTC) $(FRONT) $(CUBIN))
$(B)/lib/libnvJitLink.so.$(1): $(call objs,front$(1),libcuda-lite/front/nvjitlink.c $(FRONT) $(LINK))
$(foreach n,nvrtc nvJitLink,$(B)/lib/lib$(n).so.$(1)): $(B)/lib/lib%.so.$(1): linker/lib%.$(1).map
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(SO) -Wl,--hash-style=both -Wl,-soname,$$(@F) -Wl,--version-script=$$< -o $$@ $$(filter %.o,$$^) \
		-Wl,--no-as-needed -l:libdl.so.2
endef
$(foreach v,12 13,$(eval $(call front_rule,$(v))))
$(O)/front11/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) -DFRONT_MAJOR=11 -c -o $@ $<
$(B)/lib/libnvrtc.so.11.2: $(call objs,front11,libcuda-lite/front/nvrtc.c $(RTC) $(FRONT) $(CUBIN)) linker/libnvrtc.12.map
	sed 's/^libnvrtc\.so\.12/libnvrtc.so.11.2/' linker/libnvrtc.12.map >$(O)/front11/nvrtc.map
	$(CC) $(CFLAGS) $(SO) -Wl,--hash-style=both -Wl,-soname,$(@F) -Wl,--version-script=$(O)/front11/nvrtc.map -o $@ $(filter %.o,$^) \
		-Wl,--no-as-needed -l:libdl.so.2
# the audit library: a namespace of its own, without a libc or anything else in it
$(O)/turn/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PIC) -ffreestanding -fno-stack-protector -U_FORTIFY_SOURCE -c -o $@ $<
$(B)/lib/libvgpu-turn.so: $(call objs,turn,$(TURN)) linker/libvgpu-turn.map
	@mkdir -p $(@D)
	$(CC) -nostdlib $(SO) -Wl,-soname,libvgpu-turn.so -Wl,--version-script=linker/libvgpu-turn.map -o $@ $(filter %.o,$^)
# Archives, those of a major in a folder (libcuda-lite/README.md, "Linked statically"). A library is one object with its public
# names global and no other: archives have no hidden names. What calls the driver brings its object along, the same in
# every archive, so that one is linked whatever the order. CUDA 11's calls are not there: the audit library alone calls them,
# in libcudart.so.12.
AR_     := $(O)/archive
define archive_object
$(AR_)/$(1).o: $(2)
	@mkdir -p $$(@D)
	ld -r -o $$@.all $$^
	objcopy -w $(foreach n,$(3),--keep-global-symbol='$(n)') $$@.all $$@
	rm -f $$@.all
endef
$(eval $(call archive_object,driver,$(call static_objs,static,$(CORE) $(FW),lib),cu[A-Z]* vgpuGemm))
$(eval $(call archive_object,nvml,$(call static_objs,static,$(NVML),lib),nvml[A-Z]*))
$(eval $(call archive_object,nccl,$(call static_objs,static,$(NCCL),lib),nccl[A-Z]*))
# dlopen and its like in static programs: each public name of the driver and NVML, with its address
$(AR_)/dlopen_%.def: $(AR_)/%.o
	nm -g --defined-only $< | awk '$$2 == "T" {print "VG_NAME(" $$3 ")"}' >$@
$(AR_)/dlopen.o: libcuda-lite/dlopen/dlopen.c $(AR_)/dlopen_driver.def $(AR_)/dlopen_nvml.def
	$(CC) $(CFLAGS) $(PIC) $(STATIC) -fvisibility=default -I$(AR_) -c -o $@ $<
static_blas = $(call static_objs,static$(1),$(filter $(MAJORS),$(2)),blas$(1)) $(call static_objs,static$(1),$(filter-out $(MAJORS),$(2)),blas)
define archives
$(O)/static$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(PIC) $(STATIC) -DCUDART_MAJOR=$(1) -DCUBLAS_MAJOR=$(1) -c -o $$@ $$<
$(call archive_object,runtime$(1),$(call static_objs,static$(1),$(filter-out %/eleven.c,$(RT)),rt$(1)),cuda[A-Z]* __cuda[A-Z]*)
$(call archive_object,cublas$(1),$(call static_blas,$(1),$(BLAS)),cublas[A-Z]*)
$(call archive_object,cublasLt$(1),$(call static_blas,$(1),$(BLASLT)),cublas[A-Z]*)
$(foreach a,$(ARCHIVES),$(B)/lib/cuda-$(1)/$(a).a): $(B)/lib/cuda-$(1)/%.a:
	@mkdir -p $$(@D)
	rm -f $$@ && ar rcsD $$@ $$(filter %.o,$$^)
$(B)/lib/cuda-$(1)/libcuda.a: $(AR_)/driver.o
$(B)/lib/cuda-$(1)/libcudart_static.a: $(AR_)/runtime$(1).o $(AR_)/driver.o
$(B)/lib/cuda-$(1)/libcublas_static.a: $(AR_)/cublas$(1).o $(AR_)/driver.o
$(B)/lib/cuda-$(1)/libcublasLt_static.a: $(AR_)/cublasLt$(1).o $(AR_)/driver.o
$(B)/lib/cuda-$(1)/libnvidia-ml.a: $(AR_)/nvml.o
$(B)/lib/cuda-$(1)/libnccl_static.a: $(AR_)/nccl.o $(AR_)/driver.o
$(B)/lib/cuda-$(1)/libvgpu-dl.a: $(addprefix $(AR_)/,dlopen.o nvml.o driver.o)
$(B)/lib/cuda-$(1)/libcuda-lite.a: $(addprefix $(AR_)/,runtime$(1).o cublas$(1).o cublasLt$(1).o nvml.o nccl.o driver.o)
endef
$(foreach v,12 13,$(eval $(call archives,$(v))))
$(B)/lib/libcuda-lite.a: $(B)/lib/cuda-12/libcuda-lite.a
	cp $< $@

# ---- tests: end-to-end programs (tests/e2e/programs.txt says which, in which flavours) -----------------
flavour  = $(shell awk '!/^\#/ && NF && (","$$2",") ~ /,$(1),/ {print $$1}' tests/e2e/programs.txt)
E       := $(B)/e2e
E2E     := $(addprefix $(E)/driver/,$(call flavour,driver)) \
	   $(addprefix $(E)/static/,$(call flavour,static)) $(addprefix $(E)/static-musl/,$(call flavour,static)) \
	   $(addprefix $(E)/rt12/,$(call flavour,rt12)) $(addprefix $(E)/rt13/,$(call flavour,rt13)) \
	   $(addprefix $(E)/c12/,$(call flavour,c12)) $(addprefix $(E)/c13/,$(call flavour,c13)) \
	   $(addprefix $(E)/blas12/,$(call flavour,blas12)) $(addprefix $(E)/blas13/,$(call flavour,blas13)) \
	   $(addprefix $(E)/nvml/,$(call flavour,nvml)) $(addprefix $(E)/nccl/,$(call flavour,nccl))
EFLAGS  := $(CFLAGS) -std=gnu11 $(WARN) -Ilibcuda-lite/include
ESHARED := $(wildcard tests/e2e/*.h tests/e2e/kernels/*)
.PHONY: e2e
e2e: $(E2E)

$(E)/driver/products: $(wildcard tools/vgpu-stub/cuda/kernels/*)
$(E)/driver/%: tests/e2e/%.c $(ESHARED) | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -o $@ $< $(B)/lib/libcuda.so.1 -lpthread -lm
$(E)/static/%: tests/e2e/%.c $(ESHARED) $(B)/lib/libcuda-lite.a
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -static -o $@ $< $(B)/lib/libcuda-lite.a -lpthread -lm
$(E)/static-musl/%: tests/e2e/%.c $(ESHARED) $(B)/lib/libcuda-lite.a
	@mkdir -p $(@D)
	musl-gcc $(EFLAGS) -static -o $@ $< $(B)/lib/libcuda-lite.a -lpthread -lm
$(E)/mkfatbin: tests/e2e/mkfatbin.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -o $@ $< -llz4 -lzstd
$(E)/rt12/%: tests/e2e/%.cu $(ESHARED) $(E)/mkfatbin tests/e2e/cu.sh | libs
	@mkdir -p $(@D)
	tests/e2e/cu.sh 12 lz4 $(B)/lib $(E)/mkfatbin $< $@
$(E)/rt13/%: tests/e2e/%.cu $(ESHARED) $(E)/mkfatbin tests/e2e/cu.sh | libs
	@mkdir -p $(@D)
	tests/e2e/cu.sh 13 zstd $(B)/lib $(E)/mkfatbin $< $@
$(E)/c12/%: tests/e2e/%.c $(ESHARED) | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -DCUDART_VERSION=12000 -o $@ $< $(B)/lib/libcudart.so.12 $(B)/lib/libcuda.so.1 -lpthread -lm
$(E)/c13/%: tests/e2e/%.c $(ESHARED) | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -DCUDART_VERSION=13000 -o $@ $< $(B)/lib/libcudart.so.13 $(B)/lib/libcuda.so.1 -lpthread -lm
$(E)/blas12/%: tests/e2e/%.c $(ESHARED) | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -DCUDART_VERSION=12000 -o $@ $< $(addprefix $(B)/lib/,libcublas.so.12 libcublasLt.so.12 libcudart.so.12 libcuda.so.1) -lm
$(E)/blas13/%: tests/e2e/%.c $(ESHARED) | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -DCUDART_VERSION=13000 -o $@ $< $(addprefix $(B)/lib/,libcublas.so.13 libcublasLt.so.13 libcudart.so.13 libcuda.so.1) -lm
$(E)/nccl/%: tests/e2e/%.c $(ESHARED) | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -o $@ $< $(addprefix $(B)/lib/,libnccl.so.2 vgpu/xla/libcudnn.so.9 libcuda.so.1) -Wl,-rpath,$(abspath $(B)/lib/vgpu/xla)
$(E)/nvml/%: tests/e2e/%.c $(ESHARED) | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -o $@ $< $(addprefix $(B)/lib/,libnvidia-ml.so.1 libcuda.so.1)

# ---- tests: what the libraries answer (tests/abi/probe, test_probe.sh); the runtime's is compiled by nvcc on a GPU (tests/gpu/api.sh) -----
PROBE   := $(B)/test/probe
$(PROBE)/driver: $(wildcard tests/abi/probe/driver*.c) tests/abi/probe/probe.c $(wildcard tests/abi/probe/*.h) | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -Wl,-z,lazy -o $@ $(filter %.c,$^) $(B)/lib/libcuda.so.1 -ldl
$(PROBE)/runtime: tests/abi/probe/runtime.cu $(wildcard tests/abi/probe/probe.[ch] tests/abi/probe/runtime*.h) $(E)/mkfatbin tests/e2e/cu.sh | libs
	@mkdir -p $(@D)
	tests/e2e/cu.sh 13 none $(B)/lib $(E)/mkfatbin $< $@
$(PROBE)/nvml: tests/abi/probe/nvml.c $(wildcard tests/abi/probe/probe.[ch]) | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -Wl,-z,lazy -o $@ $(filter %.c,$^) $(B)/lib/libnvidia-ml.so.1 -ldl
$(PROBE)/cublas: tests/abi/probe/cublas.c $(wildcard tests/abi/probe/probe.[ch]) | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -DCUDART_VERSION=13000 -Wl,-z,lazy -o $@ $(filter %.c,$^) $(addprefix $(B)/lib/,libcublas.so.13 libcublasLt.so.13 libcudart.so.13) -ldl -lm
$(PROBE)/nvrtc: tests/abi/probe/nvrtc.c $(wildcard tests/abi/probe/probe.[ch])
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -o $@ $(filter %.c,$^) -ldl
test-bins: $(addprefix $(PROBE)/,driver runtime nvml cublas nvrtc)

# ---- tests: system (tests/system/*.sh) --------------------------------------------------------------
$(B)/test/system/debug $(B)/test/system/hotloop $(B)/test/system/memcheck $(B)/test/system/sanitizer: $(B)/test/system/%: tests/system/%.c | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -o $@ $< $(B)/lib/libcuda.so.1
# a program with its own libcudart beside it
$(B)/test/system/rpath/libcudart.so.12: tests/system/rpath/cudart.c tests/system/rpath/cudart.map
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -shared -fPIC -Wl,-soname,libcudart.so.12 -Wl,--version-script=tests/system/rpath/cudart.map -o $@ $<
$(B)/test/system/rpath/program: tests/system/rpath/program.c $(B)/test/system/rpath/libcudart.so.12
	$(CC) $(CFLAGS) -o $@ $< $(B)/test/system/rpath/libcudart.so.12 -Wl,--disable-new-dtags,-rpath,'$$ORIGIN'
# the model of the ordering rules, and what runs it
$(B)/test/order/order: tests/order/run.c tests/order/model.c tests/order/model.h | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -o $@ $(filter %.c,$^) $(B)/lib/libcuda.so.1
# a driver for tests, and clients on it
MOCK_H  := $(wildcard tests/cuda/mock/*.h tools/vgpu-stub/cuda/*.h tools/vgpu-stub/cuda/kernels/*.h)
$(B)/test/cuda/libcuda.so.1: $(addprefix tests/cuda/mock/,mock.c memory.c module.c stream.c graph.c blas.c) $(MOCK_H)
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -fPIC -shared -fvisibility=hidden -Wl,-z,defs -Wl,-soname,libcuda.so.1 -o $@ $(filter %.c,$^) -lpthread
$(B)/test/cuda/sweep: $(addprefix tests/cuda/mock/,sweep.c client.c images.c) fw-protocol/vgpu_cubin.c tests/cuda/mock/sweep.h $(MOCK_H) | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -o $@ $(filter %.c,$^) $(B)/lib/libcuda.so.1
$(B)/test/gpu/products: tests/gpu/products.c | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -DCUDART_VERSION=13000 -o $@ $< $(addprefix $(B)/lib/,libcublas.so.13 libcudart.so.13)
$(B)/test/gpu/figures: tests/gpu/figures.c | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -o $@ $< $(B)/lib/libcuda.so.1
$(B)/test/gpu/costs: tests/gpu/costs.c | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -o $@ $< $(B)/lib/libcuda.so.1 -lpthread
# benchmarks, not tests: tests/bench/plain.sh and tools/bench-compare.sh run them
$(B)/test/bench/%: tests/bench/%.c | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -o $@ $< $(B)/lib/libcuda.so.1
SYSTEM  := $(B)/test/bench/launch_plain $(B)/test/system/debug $(B)/test/system/hotloop $(B)/test/system/memcheck $(B)/test/system/sanitizer $(B)/test/system/rpath/program \
	   $(B)/test/order/order $(B)/test/cuda/libcuda.so.1 $(B)/test/cuda/sweep $(B)/test/gpu/figures $(B)/test/gpu/costs $(B)/test/gpu/products

# ---- tests: units, PTX, fuzzers ---------------------------------------------------------------------
# Sources are compiled again for glibc, plain and with ASan + UBSan (musl has no sanitizers), and
# each test names the ones that it wants. tsan: the rings and queues under ThreadSanitizer.
U       := $(B)/test/unit
gnu      = $(if $(shell grep -l 'define _GNU_SOURCE' $(1)),,-D_GNU_SOURCE)
HOST    := $(BASE) -Ifw-protocol -Iagent -Ilibcuda-lite/include -DVGPU_NO_LIBCPUID -DCUDART_MAJOR=12
cpu      = $(if $(filter tools/vgpu-stub/cpu/%,$(1)),$(CPU_FLAGS))

# what drives the tests is no matter of speed, the objects that it drives are; but the reference of each form is
driver   = $(if $(filter tests/ptx/optest.c,$(1)),-O2,$(if $(filter tests/%,$(1)),-O1))
$(O)/plain/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(call driver,$<) $(HOST) $(call cpu,$<) $(call gnu,$<) -c -o $@ $<
# The passes that make code run for milliseconds and are a third of what is to be compiled, as are the products of cuBLAS (of small ones here)
# and the lanes of a strip: their checks, without what optimizes them; so are the agent and what drives units and fuzzers, which wait more than they compute.
# Three of them are what code calls all the time, and a unit computes.
RUNS    := $(addprefix tools/vgpu-stub/cpu/,jit_frame.c strip/park.c strip/run.c) tests/unit/test_tally.c
compiler = $(if $(filter-out $(RUNS),$(filter tools/vgpu-stub/cpu/jit% tools/vgpu-stub/cpu/strip/% tools/vgpu-stub/cpu/gemm% agent/% tests/unit/% tests/fuzz/%,$(1))),-O0)
$(O)/asan/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(SAN) $(call compiler,$<) $(HOST) $(call cpu,$<) $(call gnu,$<) -c -o $@ $<
$(O)/tsan/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -O1 -g1 -fsanitize=thread $(HOST) $(call gnu,$<) -c -o $@ $<

HOST_AGENT := $(filter-out agent/main.c,$(AGENT)) $(SERVICE)
STUB_DEV   := $(addprefix tools/vgpu-stub/,dma.c dma_msg.c irq.c log.c loop.c pci.c regs.c)
src_agent_loopback := $(HOST_AGENT) $(FW)
src_check   := $(FW)
src_context := $(FW)
src_ctxproc := $(STUB_DEV) $(addprefix tools/vgpu-stub/,admin.c ctxguard.c ctxgrant.c ctxmirror.c ctxown.c ctxpieces.c ctxproc.c ctxspawn.c ctxwords.c cgroup.c cap.c fair.c hold.c usage.c)
src_fair    := $(addprefix tools/vgpu-stub/,cap.c fair.c hold.c)
src_gemm    := $(addprefix tools/vgpu-stub/cpu/,gemm_isa.c gemm_avx512.c)
src_dma     := tools/vgpu-stub/dma.c
src_dma_msg := tools/vgpu-stub/dma_msg.c
src_pidfile := agent/pidfile.c
src_cgroup  := tools/vgpu-stub/cgroup.c
src_pool    := agent/pool.c agent/room.c agent/log.c
src_demangle := $(wildcard tools/vgpu-stub/cpu/demangle*.c)
src_bounds  := $(CPU)
lib_bounds  := $(STUB_LIBS)
src_modules := $(CPU)
lib_modules := $(STUB_LIBS)
src_alone   := $(CPU)
lib_alone   := $(STUB_LIBS)
src_solo    := $(CPU)
lib_solo    := $(STUB_LIBS)
src_tally   := $(CPU)
lib_tally   := $(STUB_LIBS)
src_near    := $(CPU)
lib_near    := $(STUB_LIBS)
src_apart   := $(CPU)
lib_apart   := $(STUB_LIBS)
src_trial   := $(CPU)
lib_trial   := $(STUB_LIBS)
src_race    := tools/vgpu-stub/cpu/race.c
src_sandbox := tools/vgpu-stub/ctx_sandbox.c
src_wait    := agent/wait.c agent/cpu.c
src_core_alloc := libcuda-lite/core/extents.c
UNITS   := $(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_*.c))
TSAN    := $(filter ring_tsan core_queue,$(UNITS))

define unit_rule
$(U)/plain/$(1): $(call objs,plain,tests/unit/test_$(1).c $(src_$(1)))
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) -o $$@ $$^ -lpthread $$(lib_$(1))
$(U)/asan/$(1): $(call objs,asan,tests/unit/test_$(1).c $(src_$(1)))
	@mkdir -p $$(@D)
	$$(CC) $$(SAN) -o $$@ $$^ -lpthread $$(lib_$(1))
$(U)/tsan/$(1): $(call objs,tsan,tests/unit/test_$(1).c $(src_$(1)))
	@mkdir -p $$(@D)
	$$(CC) -g -fsanitize=thread -o $$@ $$^ -lpthread
endef
$(foreach u,$(UNITS),$(eval $(call unit_rule,$(u))))

# cuBLAS against OpenBLAS, where its header is
OPENBLAS := $(wildcard /usr/include/x86_64-linux-gnu/openblas-pthread)
OPENLIBS := -L/usr/lib/x86_64-linux-gnu/openblas-pthread -lopenblas -lm
$(B)/test/blas/levels: tests/blas/levels_type.h tests/blas/levels_more.h tests/blas/levels_xt.h
$(B)/test/blas/legacy: tests/blas/legacy_type.h tests/blas/legacy_real.h tests/blas/legacy_complex.h
$(addprefix $(B)/test/blas/,gemm levels legacy): $(B)/test/blas/%: tests/blas/%.c | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -DCUDART_VERSION=12000 -isystem $(OPENBLAS) -o $@ $< $(addprefix $(B)/lib/,libcublas.so.12 libcudart.so.12 libcuda.so.1) $(OPENLIBS)
$(B)/test/blas/native: tests/blas/native.c $(call objs,plain,$(addprefix tools/vgpu-stub/cpu/,gemm.c gemm_bytes.c gemm_double.c gemm_isa.c gemm_avx512.c))
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(HOST) -isystem $(OPENBLAS) -o $@ $^ $(OPENLIBS)

X       := $(B)/test/ptx
define ptx_rule
$(X)/$(1)/ptxrun: $(call objs,$(1),tests/ptx/ptxrun.c $(CPU) $(CUDA))
	@mkdir -p $$(@D)
	$$(CC) $(2) -o $$@ $$^ $$(STUB_LIBS)
$(X)/$(1)/optest: $(call objs,$(1),tests/ptx/optest.c $(CPU) $(CUDA))
	@mkdir -p $$(@D)
	$$(CC) $(2) -o $$@ $$^ $$(STUB_LIBS)
$(X)/$(1)/golden: $(call objs,$(1),tests/ptx/golden.c $(CPU) $(CUDA))
	@mkdir -p $$(@D)
	$$(CC) $(2) -o $$@ $$^ $$(STUB_LIBS)
$(X)/$(1)/legal: $(call objs,$(1),tests/ptx/legal.c $(CPU))
	@mkdir -p $$(@D)
	$$(CC) $(2) -o $$@ $$^ $$(STUB_LIBS)
$(X)/$(1)/jitdiff: $(call objs,$(1),tests/ptx/jitdiff.c $(CPU) $(CUDA))
	@mkdir -p $$(@D)
	$$(CC) $(2) -o $$@ $$^ $$(STUB_LIBS)
$(X)/$(1)/fatbin_test: $(call objs,$(1),tests/fatbin/fatbin_test.c tools/vgpu-stub/cpu/fatbin.c $(CUBIN))
	@mkdir -p $$(@D)
	$$(CC) $(2) -o $$@ $$^ $$(STUB_LIBS)
endef
$(eval $(call ptx_rule,plain,$(CFLAGS)))
$(eval $(call ptx_rule,asan,$(SAN)))

# CUDA's device library against references: __float128 is gcc's
M       := $(B)/test/maths
$(O)/maths/%.o: %.c
	@mkdir -p $(@D)
	gcc $(CFLAGS) -O1 $(HOST) -frounding-math -ffp-contract=off -c -o $@ $<
$(M)/maths: $(O)/maths/tests/maths/maths.o $(call objs,plain,$(CPU) $(CUDA))
	@mkdir -p $(@D)
	gcc $(CFLAGS) -o $@ $^ -lquadmath $(STUB_LIBS)
test-bins: $(M)/maths

Z       := $(B)/test/fuzz
src_fuzz_fatbin := tools/vgpu-stub/cpu/fatbin.c $(CUBIN)
src_fuzz_ptx    := $(CPU)
src_fuzz_elf    := tools/vgpu/elf.c tools/vgpu/fatlist.c
src_fuzz_core   := $(addprefix tools/vgpu/,core.c debug_cmd.c debug_show.c)
src_fuzz_jit    := $(CPU)
src_fuzz_launch := $(CPU)
src_fuzz_dma    := tools/vgpu-stub/dma.c
src_fuzz_ctx    := $(addprefix tools/vgpu-stub/,ctxgrant.c ctxpieces.c ctxwords.c cap.c dma.c fair.c hold.c irq.c log.c loop.c usage.c) $(FW)
src_fuzz_vfu    := $(STUB_DEV) $(addprefix tools/vgpu-stub/,vfu_msg.c vfu_cmd.c admin.c)
src_fuzz_agent_msg := $(HOST_AGENT) $(FW)
src_fuzz_session := $(HOST_AGENT) $(FW)
src_fuzz_device := agent/log.c
src_fuzz_rings  := $(filter-out agent/data.c,$(HOST_AGENT)) $(FW)
src_fuzz_limits := $(HOST_AGENT) $(FW)
src_fuzz_trace  := $(addprefix tools/vgpu/,trace_out.c trace_nvtx.c trace_device.c trace_count.c json.c) $(wildcard tools/vgpu-stub/cpu/demangle*.c)
FUZZ    := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
define fuzz_rule
$(Z)/$(1): $(call objs,asan,tests/fuzz/$(1).c tests/fuzz/standalone.c $(src_$(1)))
	@mkdir -p $$(@D)
	$$(CC) $$(SAN) -o $$@ $$^ $$(STUB_LIBS)
endef
$(foreach f,$(FUZZ),$(eval $(call fuzz_rule,$(f))))

# the same, guided by coverage: clang's libFuzzer (tests/fuzz/run.sh). Lane operations have no branches to be guided by, and no
# kernel reaches the GEMMs, which take minutes to compile so.
FUZZ_SAN  := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_TEXT := fuzz_jit fuzz_launch fuzz_ptx
# what is text has a dictionary and mutations of its own: constants that comparisons saw are of no use to it
nocmp     = $(if $(filter-out %/fatbin.c,$(filter tools/vgpu-stub/cpu/% $(FUZZ_TEXT:%=tests/fuzz/%.c) tests/fuzz/mutate.c,$(1))),-fno-sanitize-coverage=trace-cmp)
$(O)/guided/%.o: %.c
	@mkdir -p $(@D)
	clang $(if $(findstring /gemm,$<),-O1,$(FUZZ_SAN) $(if $(findstring /lanes_,$<),,-fsanitize=fuzzer-no-link $(call nocmp,$<))) $(HOST) $(call cpu,$<) $(call gnu,$<) -c -o $@ $<
define guided_rule
$(B)/guided/$(1): $(call objs,guided,tests/fuzz/$(1).c $(src_$(1)) $(if $(filter $(1),$(FUZZ_TEXT)),tests/fuzz/mutate.c))
	@mkdir -p $$(@D)
	clang $(FUZZ_SAN) -fsanitize=fuzzer -o $$@ $$^ $(STUB_LIBS)
endef
$(foreach f,$(FUZZ),$(eval $(call guided_rule,$(f))))
fuzzers: $(addprefix $(B)/guided/,$(FUZZ))

# the device itself under ASan and UBSan, for the end-to-end programs to run on
$(B)/test/san/bin/vgpu-stub: $(call objs,asan,$(STUB) $(CPU) $(CUDA) $(FW) $(SERVICE))
	@mkdir -p $(@D)
	$(CC) $(SAN) -o $@ $^ $(STUB_LIBS)

test-bins: e2e $(SYSTEM) $(if $(OPENBLAS),$(addprefix $(B)/test/blas/,gemm levels legacy native)) $(addprefix $(U)/plain/,$(filter-out ring_tsan,$(UNITS))) $(addprefix $(U)/asan/,$(filter-out ring_tsan,$(UNITS))) \
	$(addprefix $(U)/tsan/,$(TSAN)) $(foreach k,plain asan,$(addprefix $(X)/$(k)/,ptxrun optest golden jitdiff legal fatbin_test)) \
	$(addprefix $(Z)/,$(FUZZ)) $(B)/test/san/bin/vgpu-stub $(addprefix $(B)/test/hostile/,hostile native bin/vgpu-stub) $(addprefix $(B)/test/soak/,worker churn stale) \
	$(B)/test/vm/outside $(B)/test/vm/delegate $(B)/test/vm/edu

# programs of the guest: static, the second one on the agent's own transport
$(B)/test/vm/outside $(B)/test/vm/delegate: $(B)/test/vm/%: tests/vm/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 $(WARN) -Ifw-protocol -static -o $@ $<
$(B)/test/vm/edu: $(call objs,agent,tests/vm/edu.c $(addprefix agent/,vfio.c vfio_cdev.c vfio_group.c vfio_kernel.c vfio_noiommu.c vfio_pci.c pool.c room.c machine.c \
	vfio_user.c seccomp.c log.c))
	@mkdir -p $(@D)
	musl-gcc -static -o $@ $^

# libcuda, agent and device that speak other protocols, NEWEST-OLDEST: the files that know the numbers once more, the others' objects
KNOWS   := libcuda-lite/core/connect.c agent/hello.c agent/page.c agent/described.c agent/device.c agent/options.c \
	tools/vgpu-stub/regs.c tools/vgpu-stub/options.c
other    = $(foreach f,$(3),$(if $(filter $(KNOWS),$(f)),$(O)/protocol/$(1)/$(f:.c=.o),$(call objs,$(2),$(f))))
define protocol_rule
$(O)/protocol/$(1)/%.o: override CFLAGS += -DVGPU_PROTOCOL_VERSION=$(word 1,$(subst -, ,$(1))) -DVGPU_PROTOCOL_OLDEST=$(word 2,$(subst -, ,$(1)))
$(O)/protocol/$(1)/libcuda-lite/%.o: libcuda-lite/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(PIC) -c -o $$@ $$<
$(O)/protocol/$(1)/agent/%.o: agent/%.c | $(AG)/khdr $(AG)/libcpuid.a
	@mkdir -p $$(@D)
	musl-gcc $$(CFLAGS) $$(BASE) $$(AGENT_FLAGS) -c -o $$@ $$<
$(O)/protocol/$(1)/tools/%.o: tools/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(BASE) $$(STUB_FLAGS) -c -o $$@ $$<
$(B)/test/protocols/$(1)/libcuda.so.1: $(call other,$(1),lib,$(filter-out libcuda-lite/driver/exports.c,$(CORE)) $(FW)) $(APART) linker/libcuda.map
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(SO) -Wl,-soname,libcuda.so.1 -Wl,--version-script=linker/libcuda.map -o $$@ $$(filter %.o,$$^)
$(B)/test/protocols/$(1)/vgpu-agent: $(call other,$(1),agent,$(AGENT) $(FW) $(SERVICE)) $(AG)/libcpuid.a
	@mkdir -p $$(@D)
	musl-gcc -static -Wl,-T,linker/vgpu-agent.ld -o $$@ $$(filter %.o,$$^) $(AG)/libcpuid.a
$(B)/test/protocols/$(1)/vgpu-stub: $(call other,$(1),stub,$(STUB) $(CPU) $(CUDA) $(FW) $(SERVICE))
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) -Wl,-z,relro,-z,now -o $$@ $$^ $$(STUB_LIBS)
test-bins: $(foreach f,libcuda.so.1 vgpu-agent vgpu-stub,$(B)/test/protocols/$(1)/$(f))
endef
$(foreach p,3-2 3-3,$(eval $(call protocol_rule,$(p))))

# at a fixed address: sessions after the first may then lie where a context's process cannot have them
$(B)/test/soak/worker $(B)/test/soak/churn: $(B)/test/soak/%: tests/soak/%.c tests/soak/add.h | libs
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WARN) -std=gnu11 -D_GNU_SOURCE -fno-pie -no-pie -Ilibcuda-lite/include -o $@ $< $(B)/lib/libcuda.so.1 -lpthread

# its poll() is the library's too
$(B)/test/soak/stale: tests/soak/stale.c | libs
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WARN) -std=gnu11 -D_GNU_SOURCE -rdynamic -Ilibcuda-lite/include -o $@ $< $(B)/lib/libcuda.so.1 -lpthread

$(B)/test/hostile/hostile: $(call objs,plain,$(filter-out tests/hostile/native%,$(wildcard tests/hostile/*.c)))
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $^ -lpthread
# a device whose contexts do what a client says as native code would: the installed device's own objects, and one more
$(B)/test/hostile/bin/vgpu-stub: $(call objs,stub,$(STUB) $(CPU) $(CUDA) $(FW) $(SERVICE)) $(O)/plain/tests/hostile/native_ctx.o
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -Wl,-z,relro,-z,now -Wl,--wrap=ctx_exec -Wl,--wrap=ctx_sandbox -o $@ $^ $(STUB_LIBS)
$(B)/test/hostile/native: tests/hostile/native.c tests/hostile/native.h | libs
	@mkdir -p $(@D)
	$(CC) $(EFLAGS) -o $@ $< $(B)/lib/libcuda.so.1

clean:
	rm -rf $(B)

-include $(shell find $(O) -name '*.d' 2>/dev/null)
