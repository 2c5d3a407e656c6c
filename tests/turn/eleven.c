/* SPDX-License-Identifier: MIT */
/*
 * A program as one with a static cudart 11 inside: prototypes and structures as CUDA 11 documents them, linked with functions of the
 * runtime's names that trap (run.sh writes them), or with libcudart.so.11.0. It checks what 12 changed; bytes behind each structure must stay.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim;
typedef struct { void *base; size_t bytes; float ratio; int hit, miss; } window;       /* cudaAccessPolicyWindow: 32 bytes */
struct func_attributes {
	size_t shared, constant, local;
	int threads, regs, ptx, binary, cache, dynamic, carveout;
};
/* cudaTextureDesc, before 11.8's second one; cudaResourceDesc of memory in a row */
struct texture {
	int address[3], filter, read, srgb;
	float border[4];
	int normalized;
	unsigned anisotropy;
	int mip_filter;
	float bias, least, most;
	int no_trilinear;
};
struct resource {
	int kind;
	void *at;
	int x, y, z, w, f;
	size_t bytes;
	char more[24];
};
_Static_assert(sizeof(struct texture) == 68, "CUDA 11's layout");
_Static_assert(sizeof(window) == 32 && sizeof(struct func_attributes) == 56, "CUDA 11's layouts");

int cudaRuntimeGetVersion(int *v);
int cudaMalloc(void **p, size_t n);
int cudaMemcpy(void *to, const void *from, size_t n, int kind);
int cudaStreamCreate(void **s);
int cudaStreamSynchronize(void *s);
int cudaStreamBeginCapture(void *s, int mode);
int cudaStreamEndCapture(void *s, void **graph);
int cudaStreamGetCaptureInfo(void *s, int *status, unsigned long long *id);
int cudaGetDeviceProperties(void *prop, int device);
int cudaFuncGetAttributes(void *attr, const void *f);
int cudaStreamGetAttribute(void *s, int attr, void *value);
int cudaStreamSetAttribute(void *s, int attr, const void *value);
int cudaGraphGetNodes(void *graph, void **nodes, size_t *n);
int cudaGraphKernelNodeGetAttribute(void *node, int attr, void *value);
int cudaGraphKernelNodeSetAttribute(void *node, int attr, const void *value);
int cudaGraphInstantiate(void **exec, void *graph, void **node, char *log, size_t bytes);
int cudaGraphExecUpdate(void *exec, void *graph, void **node, int *result);
int cudaGraphLaunch(void *exec, void *s);
int cudaGetTextureReference(const void **ref, const void *symbol);
int cudaCreateTextureObject(unsigned long long *object, const void *resource, const void *texture, const void *view);
int cudaGetTextureObjectTextureDesc(void *texture, unsigned long long object);
int cudaDestroyTextureObject(unsigned long long object);
int cudaGetLastError(void);
/* 11's has three parameters; a fourth register holds anything: here what must not be written through */
int cudaGetDriverEntryPoint(const char *name, void **f, unsigned long long flags, void *nothing);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, void *);
unsigned __cudaPushCallConfiguration(dim grid, dim block, size_t shared, void *stream);
int __cudaPopCallConfiguration(dim *grid, dim *block, size_t *shared, void *stream);
int cudaLaunchKernel(const void *f, dim grid, dim block, void **args, size_t shared, void *stream);

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry add(.param .u64 p, .param .u32 n)\n{\n.reg .b64 %d<4>; .reg .b32 %r<4>;\nld.param.u64 %d0, [p]; ld.param.u32 %r0, [n];\n"
	"mov.u32 %r1, %tid.x; mad.wide.u32 %d0, %r1, 4, %d0; ld.global.u32 %r2, [%d0]; add.u32 %r2, %r2, %r0; st.global.u32 [%d0], %r2; ret;\n}\n";
/* a container of one entry: PTX for 5.0, as it is */
struct __attribute__((packed)) fat_header {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes;
};
struct __attribute__((packed)) fat_entry {
	uint16_t kind, unknown;
	uint32_t header_bytes;
	uint64_t payload_bytes;
	uint32_t compressed_bytes, options;
	uint16_t minor, major;
	uint32_t arch, name_at, name_bytes;
	uint64_t flags, zero, uncompressed_bytes;
};
static struct { uint32_t magic, version; const void *data; void *name; } wrapper = { 0x466243b1u, 1, NULL, NULL };
static uint64_t image[512];
static void **handle;

static void add(unsigned *p, unsigned n)
{
	void *args[] = { &p, &n }, *stream;
	dim grid, block;
	size_t shared;

	if (!__cudaPopCallConfiguration(&grid, &block, &shared, &stream))
		cudaLaunchKernel((const void *)add, grid, block, args, shared, stream);
}

__attribute__((constructor))
static void register_all(void)
{
	struct fat_entry e = { .kind = 1, .unknown = 0x101, .header_bytes = sizeof(e), .payload_bytes = (sizeof(ptx) + 7) & ~7u, .major = 6,
		.arch = 50, .flags = 0x11 };
	struct fat_header h = { 0xba55ed50u, 1, sizeof(h), sizeof(e) + e.payload_bytes };

	memcpy(image, &h, sizeof(h));
	memcpy((char *)image + sizeof(h), &e, sizeof(e));
	memcpy((char *)image + sizeof(h) + sizeof(e), ptx, sizeof(ptx));
	wrapper.data = image;
	handle = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(handle, (const char *)add, (char *)"add", "add", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(handle);
}

__attribute__((destructor))
static void unregister(void)
{
	__cudaUnregisterFatBinary(handle);
}

#define CHECK(what) \
	do { \
		if (!(what)) { \
			printf("line %d: %s\n", __LINE__, #what); \
			exit(1); \
		} \
	} while (0)
/* what lies behind a structure */
static unsigned char room[2048];
static void *guarded(void)
{
	memset(room, 0xa5, sizeof(room));
	return room;
}
static int kept(size_t bytes)
{
	for (size_t i = bytes; i < sizeof(room); i++)
		if (room[i] != 0xa5)
			return 0;
	return 1;
}

static void *captured(void *stream, unsigned *data, unsigned n)
{
	unsigned long long id = 0;
	int status = -1;
	void *graph;

	CHECK(!cudaStreamBeginCapture(stream, 2));
	if (!__cudaPushCallConfiguration((dim){ 1, 1, 1 }, (dim){ 64, 1, 1 }, 0, stream))
		add(data, n);
	CHECK(!cudaStreamGetCaptureInfo(stream, &status, &id) && status == 1 && id);
	CHECK(!cudaStreamEndCapture(stream, &graph));
	return graph;
}

int main(void)
{
	unsigned *data, host[64] = { 0 };
	void *stream, *graph, *other, *exec, *node = room, *nodes[4];
	const void *reference;
	size_t n = 4;
	char log[16] = "log";
	int version = 0, result = -1;
	void *f = NULL;
	window w = { 0 };
	struct resource r = { .kind = 2, .x = 32, .bytes = sizeof(host) };
	unsigned long long object;

	CHECK(!cudaRuntimeGetVersion(&version) && version / 1000 == 11);
	CHECK(!cudaGetDeviceProperties(guarded(), 0) && kept(728) && !memcmp(room, "VGPU", 4));
	CHECK(!cudaFuncGetAttributes(guarded(), (const void *)add) && kept(56));
	CHECK(((struct func_attributes *)room)->threads >= 64 && ((struct func_attributes *)room)->ptx >= 50);
	CHECK(!cudaGetDriverEntryPoint("cuInit", &f, 0, (void *)1) && f && !((int (*)(unsigned))f)(0));
	CHECK(cudaGetDriverEntryPoint("cuNoSuchCall", &f, 0, (void *)1) && !f);
	cudaGetLastError();

	CHECK(!cudaStreamCreate(&stream) && !cudaMalloc((void **)&data, sizeof(host)) && !cudaMemcpy(data, host, sizeof(host), 1));
	w.base = data;
	w.bytes = sizeof(host);
	w.ratio = 0.5f;
	w.hit = 2;
	CHECK(!cudaStreamSetAttribute(stream, 1, &w));
	CHECK(!cudaStreamGetAttribute(stream, 1, guarded()) && kept(32) && !memcmp(room, &w, 28));

	graph = captured(stream, data, 5);
	CHECK(!cudaGraphGetNodes(graph, nodes, &n) && n == 1);
	CHECK(!cudaGraphKernelNodeSetAttribute(nodes[0], 1, &w));
	CHECK(!cudaGraphKernelNodeGetAttribute(nodes[0], 1, guarded()) && kept(32) && ((window *)room)->bytes == sizeof(host));
	CHECK(!cudaGraphInstantiate(&exec, graph, &node, log, sizeof(log)) && !node && !log[0]);
	CHECK(!cudaGraphLaunch(exec, stream) && !cudaStreamSynchronize(stream));
	other = captured(stream, data, 700);
	CHECK(!cudaGraphExecUpdate(exec, other, &node, &result) && result == 0);
	CHECK(!cudaGraphLaunch(exec, stream) && !cudaStreamSynchronize(stream));
	CHECK(!cudaMemcpy(host, data, sizeof(host), 2));
	for (int i = 0; i < 64; i++)
		CHECK(host[i] == 705);
	CHECK(cudaGetTextureReference(&reference, add) == 801);

	/* 12's structure goes on where 11's ends */
	r.at = data;
	memcpy(guarded(), &(struct texture){ .most = 1 }, sizeof(struct texture));
	CHECK(!cudaCreateTextureObject(&object, &r, room, NULL));
	CHECK(!cudaGetTextureObjectTextureDesc(guarded(), object) && kept(sizeof(struct texture)) && ((struct texture *)room)->most == 1);
	CHECK(!cudaDestroyTextureObject(object));
	puts("right");
	return 0;
}
