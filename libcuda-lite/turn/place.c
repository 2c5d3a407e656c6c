/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's compilers as libraries, NVRTC and nvJitLink, make machine code; ours stand in front of them and stop at PTX
 * (libcuda-lite/front). Python opens them by absolute paths in wheels, where neither a preload nor LD_LIBRARY_PATH reaches. So
 * where the loader is about to open such a file that exists, it gets ours, which is told the file's path; what is not there
 * stays not there. What ours asks for itself is left alone. Without effect when hot: only dlopen and program start come here.
 *
 * A preload stands for libcudart.so.12 where a program is linked with it, not where it opens a file by its path, as ctransformers and
 * cuda-pathfinder do with a wheel's: NVIDIA's would be a second one beside ours, and its cuBLAS cannot live with our cuBLASLt. So there the
 * loader gets ours, too, also for the names that auditwheel gives, libcudart-15a7433b.so.12.6.37, and for CUDA 11's, which are not preloaded.
 */
#define _GNU_SOURCE
#include "turn.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_BYTES 4096

static struct place {
	const char *name;
	char own[PATH_BYTES];           /* ours; "": not beside this library */
	char theirs[PATH_BYTES];
	char *told;                     /* vgpu_front_path in ours, once it is mapped */
	const struct link_map *map;     /* ours */
} places[] = {
	{ .name = "libnvrtc.so.11.2" }, { .name = "libnvrtc.so.12" }, { .name = "libnvrtc.so.13" }, { .name = "libnvJitLink.so.12" }, { .name = "libnvJitLink.so.13" },
	{ .name = "libnvrtc.so" },
};
#define NPLACES (sizeof(places) / sizeof(places[0]))

/* Those that ours are opened in the stead of. */
static const char *const stood_for[] = {
	"libcudart.so.12", "libcudart.so.13", "libcublas.so.12", "libcublas.so.13", "libcublasLt.so.12", "libcublasLt.so.13", "libcuda.so.1",
	"libnvidia-ml.so.1", "libnccl.so.2", "libcudart.so.11.0", "libcublas.so.11", "libcublasLt.so.11"
};
static char folder[PATH_BYTES];         /* ours lie there */

static int state;                       /* 0 not looked yet, 1 at work, -1 off (VGPU_TURN=0) */

static int readable(const char *path)
{
	return !turn_is_error(sys_call(SYS_access, (long)path, R_OK, 0, 0, 0, 0));
}

static const char *base_of(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

/* libNAME-0123abcd.so.MAJOR.x.y as libNAME.so.MAJOR; 0: it is no such name */
static int original(const char *base, char to[32])
{
	size_t n = 0, k;

	while (base[n] && base[n] != '-' && base[n] != '.')
		n++;
	/* a name may have one of its own: libnvidia-ml */
	if (base[n] == '-' && base[n + 1] == 'm' && base[n + 2] == 'l' && base[n + 3] == '-')
		n += 3;
	if (base[n] != '-' || n > 16)
		return 0;
	for (k = 1; k <= 8; k++)
		if (!((base[n + k] >= '0' && base[n + k] <= '9') || (base[n + k] >= 'a' && base[n + k] <= 'f')))
			return 0;
	base += n + k;
	if (base[0] != '.' || base[1] != 's' || base[2] != 'o')
		return 0;
	for (k = 0; k < n; k++)
		to[k] = base[k - (n + 9)];
	for (k = 0; k < 4 && base[k]; k++)
		to[n++] = base[k];
	while (n < 31 && base[k] >= '0' && base[k] <= '9')
		to[n++] = base[k++];
	to[n] = 0;
	/* sonames that have two numbers: 11.0 and 11.2 */
	if (turn_same(to, "libcudart.so.11") || turn_same(to, "libnvrtc.so.11")) {
		to[n++] = '.';
		to[n++] = to[3] == 'c' ? '0' : '2';
		to[n] = 0;
	}
	return 1;
}

static struct place *place_named(const char *path)
{
	const char *base = base_of(path);
	char name[32];

	if (original(base, name))
		base = name;
	for (size_t i = 0; i < NPLACES; i++)
		if (turn_same(base, places[i].name))
			return &places[i];
	return NULL;
}

/* Ours lie beside this library. */
static void begin(void)
{
	char here[PATH_BYTES];
	size_t n;

	state = turn_setting() == '0' ? -1 : 1;
	turn_file_of(&places, here, sizeof(here));
	n = (size_t)(base_of(here) - here);
	memcpy(folder, here, n);
	for (size_t i = 0; i < NPLACES && state > 0; i++) {
		size_t k = turn_len(places[i].name);

		if (!n || n + k >= PATH_BYTES)
			continue;
		memcpy(places[i].own, here, n);
		memcpy(places[i].own + n, places[i].name, k + 1);
		if (!readable(places[i].own))
			places[i].own[0] = 0;
	}
}

/* With a "./" before the last name: where the loader knows ours by that path, the file itself still has another. */
static void tell(struct place *p)
{
	size_t n = (size_t)(base_of(p->theirs) - p->theirs), k = turn_len(p->theirs);

	if (!p->told || !p->theirs[0] || k + 2 >= PATH_BYTES)
		return;
	memcpy(p->told, p->theirs, n);
	memcpy(p->told + n, "./", 2);
	memcpy(p->told + n + 2, p->theirs + n, k - n + 1);
}

/* libNAME.so.MAJOR, or that with more numbers behind it */
static int is_of(const char *base, const char *name)
{
	size_t n = turn_len(name);

	return turn_len(base) >= n && !memcmp(base, name, n) && (!base[n] || base[n] == '.');
}

/* A library of NVIDIA's by its path, and ours in its stead; of a link without a number, where it leads to says which. */
static char *instead(const char *name)
{
	static char own[PATH_BYTES], target[PATH_BYTES];
	const char *first = base_of(name), *ours = NULL;
	char before[32];
	size_t n = turn_len(first);
	long k;

	if (first == name || n < 7 || first[0] != 'l' || first[1] != 'i' || first[2] != 'b' || (first[3] != 'c' && first[3] != 'n'))
		return NULL;
	if (original(first, before))
		first = before;
	if (!memcmp(first + turn_len(first) - 3, ".so", 3)) {
		k = sys_call(SYS_readlink, (long)name, (long)target, sizeof(target) - 1, 0, 0, 0);
		if (turn_is_error(k))
			return NULL;
		target[k] = 0;
		first = base_of(target);
	}
	for (size_t i = 0; i < sizeof(stood_for) / sizeof(stood_for[0]) && !ours; i++)
		if (is_of(first, stood_for[i]))
			ours = stood_for[i];
	if (!ours)
		return NULL;
	if (!state)
		begin();
	n = turn_len(folder);
	if (state < 0 || !n || n + turn_len(ours) >= PATH_BYTES || !readable(name))
		return NULL;
	memcpy(own, folder, n);
	memcpy(own + n, ours, turn_len(ours) + 1);
	return readable(own) && !turn_same(own, name) ? own : NULL;
}

/* What ours needs that stands in such a place: its $ORIGIN is that place, where libcuda.so.1 is none of ours. */
static char *needed(const char *name, const struct link_map *asks)
{
	static char own[PATH_BYTES];
	size_t n = turn_len(folder);

	if (base_of(name) != name || !asks || !asks->l_name || !n || n + turn_len(name) >= PATH_BYTES || !instead(asks->l_name))
		return NULL;
	memcpy(own, folder, n);
	memcpy(own + n, name, turn_len(name) + 1);
	return readable(own) ? own : NULL;
}

char *place_instead(const char *name, const struct link_map *asks, unsigned flag)
{
	struct place *p = place_named(name);
	char *other;

	if (!p) {
		other = instead(name);
		other = other ? other : needed(name, asks);
		return other ? other : (char *)(uintptr_t)name;
	}
	if (!state)
		begin();
	for (size_t i = 0; i < NPLACES; i++)
		if (places[i].map && places[i].map == asks)
			return (char *)(uintptr_t)name;
	if (state < 0 || !p->own[0] || turn_same(name, p->own) || base_of(name) == name || !readable(name) ||
	    turn_len(name) >= PATH_BYTES)
		return (char *)(uintptr_t)name;
	(void)flag;
	memcpy(p->theirs, name, turn_len(name) + 1);
	tell(p);
	return p->own;
}

/* The loader may have added the object's base to such an address already. */
static const void *address(const struct link_map *map, uint64_t v)
{
	return (const void *)(uintptr_t)(v < map->l_addr ? v + map->l_addr : v);
}

void place_opened(const struct link_map *map)
{
	const ElfW(Sym) *symbols = NULL;
	const uint32_t *hash = NULL;
	const char *names = NULL;
	struct place *p = map->l_name && *map->l_name ? place_named(map->l_name) : NULL;

	if (!p || p->told)
		return;
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			symbols = address(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			names = address(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_HASH)
			hash = address(map, d->d_un.d_ptr);
	}
	for (uint32_t i = 0; symbols && names && hash && i < hash[1]; i++) {
		if (!symbols[i].st_shndx || symbols[i].st_size < PATH_BYTES || !turn_same(names + symbols[i].st_name, "vgpu_front_path"))
			continue;
		p->told = (char *)(uintptr_t)(map->l_addr + symbols[i].st_value);
		p->map = map;
		tell(p);
	}
}
