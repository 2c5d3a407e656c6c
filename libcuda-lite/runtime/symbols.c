/* SPDX-License-Identifier: MIT */
/*
 * What compilers register at program start: fat binaries, kernels and variables by host address.
 *
 * Called by the constructors that nvcc and clang emit (one big program registers 6,700 kernels and
 * 1,900 variables), so registration only stores pointers. Lookup is on the path of every launch:
 * rt_find() takes no lock.
 *
 *   table: open addressing, power of two, at most half full
 *     slot { key: host address | EMPTY 0 | DEAD 1 ; sym }
 *
 * Writers hold `registry`. A reader sees either the old table or the new one; retired tables stay
 * allocated, since a reader may be in one (each is half its successor, so all cost one more table).
 * A dead slot is taken again: a reader that mixes its two owners is launching what is being unregistered.
 */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

#define RT_CHUNK 64
#define KEY_DEAD ((uintptr_t)1)

struct rt_symbol_chunk {
	struct rt_symbol_chunk *next;
	unsigned int used;
	struct rt_symbol sym[RT_CHUNK];
};

struct slot {
	_Atomic(uintptr_t) key;
	_Atomic(struct rt_symbol *) sym;
};

struct table {
	size_t mask;
	size_t used;	/* including dead ones; writers only */
	struct table *retired;
	struct slot slot[];
};

static struct rt_lock registry;
static _Atomic(struct table *) table;
static struct rt_fatbin *fatbins;
/* Kernels that did not come from a registered fat binary: the library API's. Never freed: handles may be reused. */
static struct rt_symbol_chunk *adopted;

static size_t slot_of(uintptr_t key, size_t mask)
{
	/* Fibonacci hashing: host stubs lie 16 bytes apart, the high bits of the product are well mixed. */
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
}

struct rt_symbol *rt_find(const void *host)
{
	/* Acquire pairs with grow()'s release: the slots of a published table are whole. */
	struct table *t = atomic_load_explicit(&table, memory_order_acquire);
	uintptr_t key = (uintptr_t)host, k;
	size_t i;

	if (!t || key <= KEY_DEAD)
		return NULL;
	for (i = slot_of(key, t->mask);; i = (i + 1) & t->mask) {
		/* Acquire pairs with put()'s release of the key: sym was written before it. */
		k = atomic_load_explicit(&t->slot[i].key, memory_order_acquire);
		if (k == key)
			return atomic_load_explicit(&t->slot[i].sym, memory_order_relaxed);
		if (!k)
			return NULL;
	}
}

static void put(struct table *t, uintptr_t key, struct rt_symbol *sym)
{
	size_t i, dead = SIZE_MAX;
	uintptr_t k;

	for (i = slot_of(key, t->mask);; i = (i + 1) & t->mask) {
		k = atomic_load_explicit(&t->slot[i].key, memory_order_relaxed);
		if (k == KEY_DEAD && dead == SIZE_MAX)
			dead = i;
		/* A key that is there already gets the new meaning: the last registration wins. */
		if (!k || k == key)
			break;
	}
	if (!k && dead != SIZE_MAX)
		i = dead;
	else if (!k)
		t->used++;
	atomic_store_explicit(&t->slot[i].sym, sym, memory_order_relaxed);
	atomic_store_explicit(&t->slot[i].key, key, memory_order_release);
}

/* A table with room for one more; NULL when memory is out. Registry lock held. */
static struct table *grow(void)
{
	struct table *old = atomic_load_explicit(&table, memory_order_relaxed), *t;
	size_t n = 1024, i;
	uintptr_t k;

	if (old) {
		if (old->used * 2 < old->mask)
			return old;
		n = (old->mask + 1) * 2;
	}
	t = calloc(1, sizeof(*t) + n * sizeof(t->slot[0]));
	if (!t)
		return NULL;
	t->mask = n - 1;
	t->retired = old;
	for (i = 0; old && i <= old->mask; i++) {
		k = atomic_load_explicit(&old->slot[i].key, memory_order_relaxed);
		if (k > KEY_DEAD)
			put(t, k, atomic_load_explicit(&old->slot[i].sym, memory_order_relaxed));
	}
	atomic_store_explicit(&table, t, memory_order_release);
	return t;
}

static struct rt_symbol *new_symbol(struct rt_symbol_chunk **list)
{
	struct rt_symbol_chunk *c = *list;

	if (!c || c->used == RT_CHUNK) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return NULL;
		c->next = *list;
		*list = c;
	}
	return &c->sym[c->used++];
}

static void register_symbol(void **handle, const void *host, const char *name, enum rt_symbol_kind kind,
			    size_t size, int normalized)
{
	struct rt_fatbin *f = (struct rt_fatbin *)handle;
	struct rt_symbol *sym = NULL;
	struct table *t;

	if (!f || (uintptr_t)host <= KEY_DEAD || !name)
		return;
	rt_lock(&registry);
	t = grow();
	if (t)
		sym = new_symbol(&f->chunks);
	if (sym) {
		sym->host = host;
		sym->name = name;
		sym->fatbin = f;
		sym->kind = kind;
		sym->size = size;
		sym->normalized = normalized;
		put(t, (uintptr_t)host, sym);
	}
	rt_unlock(&registry);
	/* A constructor has nobody to tell; the later use fails as an unknown symbol. */
	if (!sym)
		rt_complain("cannot register", name, CUDA_ERROR_OUT_OF_MEMORY);
}

/*
 * A kernel handle that a program got from us may be launched like a host function: it becomes a key.
 * Without sym the kernel belongs to no fat binary and gets a record of its own.
 */
cudaError_t rt_adopt_kernel(CUkernel kernel, struct rt_symbol *sym)
{
	struct table *t;

	rt_lock(&registry);
	t = grow();
	if (t && !sym) {
		sym = new_symbol(&adopted);
		if (sym) {
			sym->host = kernel;
			sym->name = "";
			sym->kind = RT_SYMBOL_KERNEL;
			atomic_store_explicit(&sym->kernel, kernel, memory_order_release);
		}
	}
	if (t && sym)
		put(t, (uintptr_t)kernel, sym);
	rt_unlock(&registry);
	return t && sym ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* The CUfunctions of a device die with its context. */
void rt_forget_functions(int device)
{
	struct rt_symbol_chunk *c;
	struct rt_fatbin *f;
	unsigned int i;

	if (device >= RT_FN_CACHED)
		return;
	rt_lock(&registry);
	for (f = fatbins; f; f = f->next)
		for (c = f->chunks; c; c = c->next)
			for (i = 0; i < c->used; i++)
				atomic_store_explicit(&c->sym[i].fn[device], NULL, memory_order_relaxed);
	for (c = adopted; c; c = c->next)
		for (i = 0; i < c->used; i++)
			atomic_store_explicit(&c->sym[i].fn[device], NULL, memory_order_relaxed);
	rt_unlock(&registry);
}

static const void *host_in(const struct rt_symbol_chunk *c, CUfunction fn)
{
	unsigned int i, d;

	for (; c; c = c->next)
		for (i = 0; i < c->used; i++)
			for (d = 0; d < RT_FN_CACHED; d++)
				if (atomic_load_explicit(&c->sym[i].fn[d], memory_order_relaxed) == fn)
					return c->sym[i].host;
	return NULL;
}

/* The way back, for who asks what a graph's node launches: a look at all of them. */
const void *rt_host_of(CUfunction fn)
{
	const void *host = NULL;
	struct rt_fatbin *f;

	rt_lock(&registry);
	for (f = fatbins; f && !host; f = f->next)
		host = host_in(f->chunks, fn);
	if (!host)
		host = host_in(adopted, fn);
	rt_unlock(&registry);
	return host;
}

/*
 * A managed variable by where it is: in a program its name means that place, not the word that stands for it. Who asks for
 * something that is no symbol waits for this look at all of them.
 */
struct rt_symbol *rt_find_managed(const void *place)
{
	struct rt_symbol *sym = NULL;
	struct rt_symbol_chunk *c;
	struct rt_fatbin *f;
	unsigned int i;

	if (!place)
		return NULL;
	rt_lock(&registry);
	for (f = fatbins; f && !sym; f = f->next)
		for (c = f->chunks; c && !sym; c = c->next)
			for (i = 0; i < c->used && !sym; i++)
				if (c->sym[i].kind == RT_SYMBOL_MANAGED && *(void *const *)c->sym[i].host == place)
					sym = &c->sym[i];
	rt_unlock(&registry);
	return sym;
}

void **__cudaRegisterFatBinary(void *wrapper)
{
	struct rt_fatbin *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->image = wrapper;
	rt_lock(&registry);
	f->next = fatbins;
	if (fatbins)
		fatbins->prev = f;
	fatbins = f;
	rt_unlock(&registry);
	return (void **)f;
}

/* The end of a registration means nothing to us: loading is lazy anyway. */
void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host_fn, char *device_fn, const char *device_name,
			    int thread_limit, void *tid, void *bid, void *block_dim, void *grid_dim,
			    int *warp_size)
{
	(void)device_fn;
	(void)thread_limit;
	(void)tid;
	(void)bid;
	(void)block_dim;
	(void)grid_dim;
	(void)warp_size;
	register_symbol(handle, host_fn, device_name, RT_SYMBOL_KERNEL, 0, 0);
}

void __cudaRegisterVar(void **handle, char *host_var, char *device_address, const char *device_name,
		       int ext, size_t size, int constant, int global)
{
	(void)device_address;
	(void)ext;
	(void)constant;
	(void)global;
	register_symbol(handle, host_var, device_name, RT_SYMBOL_VARIABLE, size, 0);
}

/* host_var is a pointer in the program that __cudaInitModule fills with the variable's address. */
void __cudaRegisterManagedVar(void **handle, void **host_var, char *device_address,
			      const char *device_name, int ext, size_t size, int constant, int global)
{
	(void)device_address;
	(void)ext;
	(void)constant;
	(void)global;
	register_symbol(handle, host_var, device_name, RT_SYMBOL_MANAGED, size, 0);
}

void rt_register_reference(void **handle, const void *host, const char *name, enum rt_symbol_kind kind, int normalized)
{
	/* nvcc 11 registers "::name" */
	register_symbol(handle, host, name && !strncmp(name, "::", 2) ? name + 2 : name, kind, 0, normalized);
}

/*
 * Managed variables live in managed memory from the moment that their library is loaded. Where the
 * driver has none, the library is refused: its kernels would work on a copy that the host never sees.
 */
static CUresult fill_managed(struct rt_fatbin *f, CUlibrary library)
{
	struct rt_symbol_chunk *c;
	CUdeviceptr ptr;
	CUresult result;
	size_t size;
	unsigned int i;

	for (c = f->chunks; c; c = c->next) {
		for (i = 0; i < c->used; i++) {
			if (c->sym[i].kind != RT_SYMBOL_MANAGED)
				continue;
			result = cuLibraryGetManaged(&ptr, &size, library, c->sym[i].name);
			if (result == CUDA_ERROR_NOT_FOUND)
				result = CUDA_ERROR_NOT_SUPPORTED;
			if (result != CUDA_SUCCESS) {
				rt_complain("__managed__ variable", c->sym[i].name, result);
				return result;
			}
			*(void **)(uintptr_t)c->sym[i].host = (void *)(uintptr_t)ptr;
		}
	}
	return CUDA_SUCCESS;
}

/* The library of a fat binary, loaded at the first call. */
CUresult rt_library(struct rt_fatbin *f, CUlibrary *library)
{
	/* The image stays where it is until it is unregistered, so the driver need not copy it. */
	CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *yes = (void *)1;
	CUresult result = CUDA_SUCCESS;

	*library = atomic_load_explicit(&f->library, memory_order_acquire);
	if (*library)
		return CUDA_SUCCESS;
	rt_lock(&f->lock);
	*library = atomic_load_explicit(&f->library, memory_order_relaxed);
	if (!*library) {
		result = cuLibraryLoadData(library, f->image, NULL, NULL, 0, &option, &yes, 1);
		if (result == CUDA_SUCCESS) {
			result = fill_managed(f, *library);
			if (result != CUDA_SUCCESS)
				cuLibraryUnload(*library);
		}
		if (result == CUDA_SUCCESS)
			atomic_store_explicit(&f->library, *library, memory_order_release);
	}
	rt_unlock(&f->lock);
	return result;
}

static void forget_key(uintptr_t key, struct rt_symbol *sym)
{
	struct table *t = atomic_load_explicit(&table, memory_order_relaxed);
	uintptr_t k;
	size_t i;

	for (i = slot_of(key, t->mask);; i = (i + 1) & t->mask) {
		k = atomic_load_explicit(&t->slot[i].key, memory_order_relaxed);
		if (!k)
			return;
		if (k == key)
			break;
	}
	/* Another image may have taken the address over. */
	if (atomic_load_explicit(&t->slot[i].sym, memory_order_relaxed) == sym)
		atomic_store_explicit(&t->slot[i].key, KEY_DEAD, memory_order_release);
}

/* Called when the program, or a shared object of it, goes away: nobody launches its kernels any more. */
void __cudaUnregisterFatBinary(void **handle)
{
	struct rt_fatbin *f = (struct rt_fatbin *)handle;
	struct rt_symbol_chunk *c, *next;
	CUlibrary library;
	CUkernel kernel;
	unsigned int i;

	if (!f)
		return;
	rt_lock(&registry);
	if (f->prev)
		f->prev->next = f->next;
	else
		fatbins = f->next;
	if (f->next)
		f->next->prev = f->prev;
	for (c = f->chunks; c; c = c->next) {
		for (i = 0; i < c->used; i++) {
			forget_key((uintptr_t)c->sym[i].host, &c->sym[i]);
			forget_key((uintptr_t)&c->sym[i], &c->sym[i]);
			kernel = atomic_load_explicit(&c->sym[i].kernel, memory_order_relaxed);
			if (kernel)
				forget_key((uintptr_t)kernel, &c->sym[i]);
		}
	}
	rt_unlock(&registry);
	library = atomic_load_explicit(&f->library, memory_order_acquire);
	if (library)
		cuLibraryUnload(library);
	for (c = f->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(f);
}

/* Emitted by nvcc before the first access to a managed variable. */
char __cudaInitModule(void **handle)
{
	struct rt_fatbin *f = (struct rt_fatbin *)handle;
	CUresult result = CUDA_ERROR_NOT_INITIALIZED;
	CUlibrary library;

	if (f && rt_enter() == cudaSuccess)
		result = rt_library(f, &library);
	if (result != CUDA_SUCCESS)
		rt_complain("cannot load", "a module with managed variables", result);
	rt_cu(result);
	return result == CUDA_SUCCESS;
}
