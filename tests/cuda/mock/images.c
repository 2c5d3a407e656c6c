/* SPDX-License-Identifier: MIT */
/*
 * What a module may come in, on a driver that knows PTX, cubins and fatbins of these, as NVIDIA's does, and nothing of ours (module.c):
 * PTX in a cubin's place, alone and in a fatbin; machine code, alone, in a fatbin and in a file; what is damaged.
 */
#include "sweep.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../fw-protocol/vgpu_cubin.h"

static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .global .align 4 .b8 mock_variable[64];\n"
	".visible .entry mock_set(.param .u64 p, .param .u32 value, .param .u32 n) { ret; }\n";

static const char managed[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .global .attribute(.managed) .align 4 .b8 mock_managed[64];\n"
	".visible .entry mock_set(.param .u64 p, .param .u32 value, .param .u32 n) { ret; }\n";

/*
 * Machine code of nobody's: one function, one variable, in an ELF file for NVIDIA's machine. As ptxas does it names what is no variable, too:
 * an array in shared memory, and the driver's own.
 */
static size_t cubin(uint8_t *to, const char *variable)
{
	char names[128] = "\0mock_set\0.nv.global\0.nv.shared.mock_set\0mock_shared\0.nv.reservedSmem.offset0";
	const Elf64_Sym syms[] = {
		{ 0 },
		{ .st_name = 53, .st_info = ELF64_ST_INFO(STB_WEAK, STT_OBJECT), .st_size = 4 },
		{ .st_name = 41, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), .st_shndx = 4, .st_size = 16 },
		{ .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1 },
		{ .st_name = 100, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_shndx = 3, .st_size = 64 },
	};
	const uint64_t at_names = sizeof(Elf64_Ehdr), at_syms = at_names + sizeof(names), at_sections = at_syms + sizeof(syms);
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_type = SHT_STRTAB, .sh_offset = at_names, .sh_size = sizeof(names) },
		{ .sh_type = SHT_SYMTAB, .sh_offset = at_syms, .sh_size = sizeof(syms), .sh_link = 1, .sh_entsize = sizeof(syms[0]), .sh_info = 3 },
		{ .sh_name = 10, .sh_type = SHT_NOBITS, .sh_size = 64 },
		{ .sh_name = 21, .sh_type = SHT_NOBITS, .sh_size = 16 },
	};
	Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_EXEC, .e_machine = VGPU_CUBIN_MACHINE,
			 .e_version = EV_CURRENT, .e_shoff = at_sections, .e_ehsize = sizeof(h), .e_shentsize = sizeof(sections[0]), .e_shnum = 5,
			 .e_shstrndx = 1 };

	strcpy(names + 100, variable);
	memcpy(to, &h, sizeof(h));
	memcpy(to + at_names, names, sizeof(names));
	memcpy(to + at_syms, syms, sizeof(syms));
	memcpy(to + at_sections, sections, sizeof(sections));
	return at_sections + sizeof(sections);
}

static size_t fatbin(uint8_t *to, const void *elf, size_t bytes)
{
	struct { uint32_t magic; uint16_t version, header; uint64_t bytes; } c = { 0xba55ed50, 1, 16, 64 + bytes };
	struct { uint16_t kind, version; uint32_t header; uint64_t payload; uint32_t packed, options; uint16_t minor, major; uint32_t arch, name[2]; uint64_t flags, zero, whole; }
		e = { .kind = 2, .version = 0x101, .header = 64, .payload = bytes, .arch = 90 };

	memcpy(to, &c, sizeof(c));
	memcpy(to + 16, &e, sizeof(e));
	memcpy(to + 80, elf, bytes);
	return 80 + bytes;
}

/* Its kernel writes what it is told, its variable is memory. */
static const char *works(CUmodule m)
{
	CUdeviceptr p = 0, v = 0;
	uint32_t value = 77, n = 16, got[16] = { 0 };
	void *args[] = { &v, &value, &n };
	size_t bytes = 0;
	CUfunction f;

	if (cuModuleGetFunction(&f, m, "mock_set"))
		return "its kernel is not known";
	if (cuModuleGetGlobal_v2(&v, &bytes, m, "mock_variable") || bytes != 64)
		return "its variable is not known";
	if (cuMemAlloc_v2(&p, 64) || cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL) || cuMemcpyDtoD_v2(p, v, 64) ||
	    cuMemcpyDtoH_v2(got, p, 64) || cuMemFree_v2(p))
		return "it does not run";
	for (uint32_t i = 0; i < n; i++)
		if (got[i] != value)
			return "its kernel did not write into its variable";
	return NULL;
}

static int one(const char *what, const void *image)
{
	CUmodule m = NULL;
	CUresult r = cuModuleLoadData(&m, image);
	const char *wrong = r ? "it does not load" : works(m);

	if (!r && cuModuleUnload(m))
		wrong = "it cannot be unloaded";
	printf("%s cuda/mock/%s %s\n", wrong ? "FAIL" : "ok", what, wrong ? wrong : "");
	return wrong != NULL;
}

static int refused(const char *what, const void *image)
{
	CUmodule m = NULL;
	CUresult r = cuModuleLoadData(&m, image);

	printf(r == CUDA_ERROR_NOT_SUPPORTED ? "ok cuda/mock/%s is refused\n" : "FAIL cuda/mock/%s is refused: %d\n", what, (int)r);
	return r != CUDA_ERROR_NOT_SUPPORTED;
}

static int from_file(const void *image, size_t bytes, const char *what, CUresult want)
{
	char path[] = "/tmp/vgpu-mock-cubin-XXXXXX";
	int fd = mkstemp(path), ok = fd >= 0 && write(fd, image, bytes) == (ssize_t)bytes;
	CUmodule m = NULL;
	CUresult r = cuModuleLoad(&m, path);
	const char *wrong = !ok ? "no file" : r != want ? "another answer" : r ? NULL : works(m);

	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	printf("%s cuda/mock/%s %s\n", wrong ? "FAIL" : "ok", what, wrong ? wrong : "");
	return wrong != NULL;
}

int images(void)
{
	static uint8_t machine[4096], ours[8192], fat[16384];
	const struct vgpu_cubin c = { .target = 80, .name = "images", .ptx = ptx, .ptx_bytes = sizeof(ptx) - 1 };
	size_t machine_bytes = cubin(machine, "mock_variable"), ours_bytes = vgpu_cubin_write(&c, ours, sizeof(ours));
	CUcontext ctx;
	CUdevice dev;
	int bad;

	if (cuInit(0) || cuDeviceGet(&dev, 0) || cuCtxCreate_v2(&ctx, 0, dev)) {
		puts("FAIL cuda/mock/images no context");
		return 1;
	}
	bad = one("PTX", ptx);
	bad |= one("PTX in a cubin's place", ours);
	fatbin(fat, ours, ours_bytes);
	bad |= one("PTX in a cubin's place in a fatbin", fat);
	bad |= one("a cubin", machine);
	fatbin(fat, machine, machine_bytes);
	bad |= one("a cubin in a fatbin", fat);
	bad |= from_file(machine, machine_bytes, "a cubin in a file", CUDA_SUCCESS);
	bad |= from_file(machine, machine_bytes - 1, "a cubin in a file that is cut off", CUDA_ERROR_INVALID_IMAGE);
	/* what the program's own side could not read */
	bad |= refused("a managed variable", managed);
	cubin(machine, "mock_managed");
	bad |= refused("a managed variable of a cubin", machine);
	cuCtxDestroy_v2(ctx);
	return bad;
}
