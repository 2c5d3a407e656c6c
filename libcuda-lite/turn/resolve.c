/* SPDX-License-Identifier: MIT */
/*
 * From a name of the runtime to our libcudart: stubs that load the library of their major when one is first called.
 *
 *   entry point in the object      jmp *address of stub i          written by object.c
 *   stub i                         jmp *turn_slots[i]              its own lines follow, until resolved:
 *                                  push i; jmp lazy
 *
 * A process that never calls a runtime never loads one, and what the program finds in its namespace is as without us. The
 * first call comes from a constructor (it registers kernels), where dlopen is allowed. It loads by full path into the
 * base namespace, through the base namespace's own dlmopen: ours would be another libc. All names of that major are
 * looked up then, since a look-up takes the loader's lock and a later call may not.
 */
#define _GNU_SOURCE
#include "turn.h"

#include <elf.h>

#define RTLD_NOW_ 2                     /* dlfcn.h; RTLD_LOCAL is 0 */
#define NAME_BYTES (128u << 10)
#define HASH 4096u                      /* power of two, more than TURN_SLOTS */

#define NOT_SUPPORTED 801u              /* cudaErrorNotSupported */
#define NO_LIBRARY 303u                 /* cudaErrorSharedObjectInitFailed */

struct slot {
	const char *name;
	uint8_t major;
	uint8_t missing;                /* our library lacks it */
	uint8_t said;
};

void *turn_slots[TURN_SLOTS];
static struct slot slots[TURN_SLOTS];
static uint16_t table[HASH];            /* index + 1 */
static unsigned used;
static char names[NAME_BYTES];
static size_t names_used;

typedef void *(*dlmopen_fn)(Lmid_t ns, const char *file, int mode);
typedef void *(*dlsym_fn)(void *handle, const char *name);
typedef char *(*dlerror_fn)(void);

static const struct link_map *libc_map, *libdl_map;
static void *library[2];                /* of 12 and 13 */
static uint8_t said_library[2];

extern char turn_stubs[];               /* TURN_SLOTS of STUB_BYTES */
#define STUB_BYTES 32u
#define STUB_LAZY 16u                   /* offset of the second half */

__asm__(".text\n.balign 64\n.globl turn_stubs\n.hidden turn_stubs\n.type turn_stubs,@function\n"
	"turn_stubs:\n"
	"	.set i, 0\n"
	"	.rept 2048\n"
	"	.balign 32\n"
	"	.byte 0xf3, 0x0f, 0x1e, 0xfa\n"                 /* endbr64: it is jumped to through memory */
	"	jmp *(turn_slots + 8 * i)(%rip)\n"
	"	.balign 16\n"
	"	.byte 0xf3, 0x0f, 0x1e, 0xfa\n"
	"	pushq $i\n"
	"	jmp turn_lazy\n"
	"	.set i, i + 1\n"
	"	.endr\n"
	".size turn_stubs, . - turn_stubs\n"
	/* Every register that may hold an argument outlives the look-up; the stack is 16-aligned here (return address, i). */
	".type turn_lazy,@function\n"
	"turn_lazy:\n"
	"	pushq %rax\n	pushq %rdi\n	pushq %rsi\n	pushq %rdx\n	pushq %rcx\n	pushq %r8\n	pushq %r9\n	pushq %r10\n"
	"	subq $128, %rsp\n"
	"	movups %xmm0, (%rsp)\n	movups %xmm1, 16(%rsp)\n	movups %xmm2, 32(%rsp)\n	movups %xmm3, 48(%rsp)\n"
	"	movups %xmm4, 64(%rsp)\n	movups %xmm5, 80(%rsp)\n	movups %xmm6, 96(%rsp)\n	movups %xmm7, 112(%rsp)\n"
	"	movq 192(%rsp), %rdi\n"
	"	call turn_resolve\n"
	"	movq %rax, %r11\n"
	"	movups (%rsp), %xmm0\n	movups 16(%rsp), %xmm1\n	movups 32(%rsp), %xmm2\n	movups 48(%rsp), %xmm3\n"
	"	movups 64(%rsp), %xmm4\n	movups 80(%rsp), %xmm5\n	movups 96(%rsp), %xmm6\n	movups 112(%rsp), %xmm7\n"
	"	addq $128, %rsp\n"
	"	popq %r10\n	popq %r9\n	popq %r8\n	popq %rcx\n	popq %rdx\n	popq %rsi\n	popq %rdi\n	popq %rax\n"
	"	addq $8, %rsp\n"
	"	cmpq $4096, %r11\n"
	"	jb 1f\n"
	"	jmp *%r11\n"
	"1:	movl %r11d, %eax\n"                             /* an error of the runtime's */
	"	ret\n"
	".size turn_lazy, . - turn_lazy\n");
_Static_assert(TURN_SLOTS == 2048 && HASH > TURN_SLOTS, "the assembler's count");

static unsigned hash(unsigned major, const char *s)
{
	unsigned h = major;

	while (*s)
		h = h * 31 + (unsigned char)*s++;
	return h;
}

void *turn_stub(unsigned major, const char *name)
{
	unsigned h = hash(major, name) & (HASH - 1);
	size_t n = turn_len(name) + 1;
	char *copy = names + names_used;

	for (; table[h]; h = (h + 1) & (HASH - 1)) {
		const struct slot *s = &slots[table[h] - 1];

		if (s->major == major && turn_same(s->name, name))
			return turn_stubs + STUB_BYTES * (size_t)(table[h] - 1);
	}
	if (used == TURN_SLOTS || n > NAME_BYTES - names_used)
		return NULL;
	for (size_t i = 0; i < n; i++)
		copy[i] = name[i];
	names_used += n;
	slots[used] = (struct slot){ .name = copy, .major = (uint8_t)major };
	turn_slots[used] = turn_stubs + STUB_BYTES * (size_t)used + STUB_LAZY;
	table[h] = (uint16_t)++used;
	return turn_stubs + STUB_BYTES * (size_t)(used - 1);
}

void turn_note(const struct link_map *map)
{
	const char *base = map->l_name;

	for (const char *s = base; *s; s++)
		if (*s == '/')
			base = s + 1;
	if (turn_same(base, "libc.so.6"))
		libc_map = map;
	else if (turn_same(base, "libdl.so.2"))
		libdl_map = map;
}

/* The loader has made these addresses whole in memory, save where the section is read-only. */
static char *whole(const struct link_map *map, ElfW(Addr) p)
{
	return (char *)(p < map->l_addr ? map->l_addr + p : p);
}

const ElfW(Sym) *turn_symbol(const struct link_map *map, const char *name)
{
	const uint32_t *hash_table = NULL, *buckets, *chain;
	const ElfW(Sym) *sym = NULL;
	const char *str = NULL;
	uint32_t h = 5381, at;

	if (!map)
		return NULL;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			sym = (const void *)whole(map, d->d_un.d_ptr);
		if (d->d_tag == DT_STRTAB)
			str = whole(map, d->d_un.d_ptr);
		if (d->d_tag == DT_GNU_HASH)
			hash_table = (const void *)whole(map, d->d_un.d_ptr);
	}
	if (!sym || !str || !hash_table || !hash_table[0])
		return NULL;
	for (const char *s = name; *s; s++)
		h = h * 33 + (unsigned char)*s;
	buckets = hash_table + 4 + 2 * (size_t)hash_table[2];
	chain = buckets + hash_table[0];
	at = buckets[h % hash_table[0]];
	if (at < hash_table[1])
		return NULL;
	for (;; at++) {
		uint32_t c = chain[at - hash_table[1]];

		if ((c | 1) == (h | 1) && sym[at].st_shndx != SHN_UNDEF && turn_same(str + sym[at].st_name, name))
			return &sym[at];
		if (c & 1)
			return NULL;
	}
}

static void *in_object(const struct link_map *map, const char *name)
{
	const ElfW(Sym) *s = turn_symbol(map, name);

	return s ? (void *)(map->l_addr + s->st_value) : NULL;
}

static void *function(const char *name)
{
	void *f = in_object(libc_map, name);

	return f ? f : in_object(libdl_map, name);      /* a library of its own before glibc 2.34 */
}

/* A call of ours for a name of a runtime of that major. */
static void *call_of(dlsym_fn find, void *h, unsigned major, const char *name)
{
	static const char prefix[] = "__cuda11_";
	char other[sizeof(prefix) + 128];
	size_t n = turn_len(name) + 1;
	void *f = NULL;

	if (major == 11 && n <= sizeof(other) - sizeof(prefix) + 1) {
		for (size_t i = 0; i < sizeof(prefix) - 1; i++)
			other[i] = prefix[i];
		for (size_t i = 0; i < n; i++)
			other[sizeof(prefix) - 1 + i] = name[i];
		f = find(h, other);
	}
	return f ? f : find(h, name);
}

static void *load(unsigned major, const char **why)
{
	dlmopen_fn open = (dlmopen_fn)function("dlmopen");
	dlerror_fn error = (dlerror_fn)function("dlerror");
	const char *name = turn_library(major) == 12 ? "libcudart.so.12" : "libcudart.so.13";
	char path[4096 + 32];
	size_t n, slash = 0;
	void *h;

	*why = "no dlmopen in this process";
	if (!open)
		return NULL;
	turn_file_of(turn_stubs, path, 4096);
	for (n = 0; path[n]; n++)
		if (path[n] == '/')
			slash = n + 1;
	*why = "/proc does not tell where our libraries are";
	if (!slash)
		return NULL;
	/* first the driver: the runtime needs it by its name, and may not find it by that */
	for (int i = 0; i < 2; i++) {
		const char *s = i ? name : "libcuda.so.1";

		for (n = 0; s[n]; n++)
			path[slash + n] = s[n];
		path[slash + n] = 0;
		h = open(LM_ID_BASE, path, RTLD_NOW_);
		if (!h) {
			*why = error ? error() : path;
			return NULL;
		}
	}
	return h;
}

__attribute__((used)) uintptr_t turn_resolve(uintptr_t i)
{
	struct slot *s = &slots[i];
	unsigned at = s->major == 13;
	dlsym_fn find = (dlsym_fn)function("dlsym");
	void *h = __atomic_load_n(&library[at], __ATOMIC_ACQUIRE);
	const char *why = "no dlsym in this process";
	unsigned n = __atomic_load_n(&used, __ATOMIC_ACQUIRE);

	/* Threads that come here at once do the same twice. */
	if (!h && find) {
		h = load(s->major, &why);
		__atomic_store_n(&library[at], h, __ATOMIC_RELEASE);
	}
	if (!h || !find) {
		if (!__atomic_exchange_n(&said_library[at], 1, __ATOMIC_RELAXED))
			turn_say("the CUDA runtime inside this program cannot be turned over: ", why ? why : "?", NULL);
		return NO_LIBRARY;
	}
	for (unsigned k = 0; k < n && !__atomic_load_n(&s->missing, __ATOMIC_RELAXED); k++) {
		char *lazy = turn_stubs + STUB_BYTES * (size_t)k + STUB_LAZY;
		void *f;

		if (slots[k].major != s->major || slots[k].missing || __atomic_load_n(&turn_slots[k], __ATOMIC_RELAXED) != (void *)lazy)
			continue;
		f = call_of(find, h, s->major, slots[k].name);
		if (f)
			__atomic_store_n(&turn_slots[k], f, __ATOMIC_RELEASE);
		else
			__atomic_store_n(&slots[k].missing, 1, __ATOMIC_RELAXED);
	}
	if (s->missing) {
		if (!__atomic_exchange_n(&s->said, 1, __ATOMIC_RELAXED))
			turn_say(s->name, " is not supported: our libcudart has no such call", NULL);
		return NOT_SUPPORTED;
	}
	return (uintptr_t)__atomic_load_n(&turn_slots[i], __ATOMIC_ACQUIRE);
}
