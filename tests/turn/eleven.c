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
/* textureReference; surfaceReference is a channel's description */
struct channel { int x, y, z, w, f; };
struct reference {
	int normalized, filter, address[3];
	struct channel channel;
	int srgb;
	unsigned anisotropy;
	int mip_filter;
	float bias, least, most;
	int no_trilinear, reserved[14];
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
int cudaGetSurfaceReference(const void **ref, const void *symbol);
int cudaGetTextureAlignmentOffset(size_t *offset, const void *ref);
int cudaBindTexture(size_t *offset, const void *ref, const void *at, const struct channel *c, size_t bytes);
int cudaBindTexture2D(size_t *offset, const void *ref, const void *at, const struct channel *c, size_t width, size_t height, size_t pitch);
int cudaBindTextureToArray(const void *ref, const void *array, const struct channel *c);
int cudaUnbindTexture(const void *ref);
int cudaBindSurfaceToArray(const void *ref, const void *array, const struct channel *c);
int cudaMallocArray(void **array, const struct channel *c, size_t width, size_t height, unsigned flags);
int cudaMemcpy2DToArray(void *array, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, int kind);
int cudaMemcpy2DFromArray(void *to, size_t pitch, const void *array, size_t x, size_t y, size_t width, size_t height, int kind);
int cudaDeviceSynchronize(void);
int cudaGetSymbolAddress(void **at, const void *symbol);
int cudaCreateTextureObject(unsigned long long *object, const void *resource, const void *texture, const void *view);
int cudaGetTextureObjectTextureDesc(void *texture, unsigned long long object);
int cudaDestroyTextureObject(unsigned long long object);
int cudaGetLastError(void);
/* 11's has three parameters; a fourth register holds anything: here what must not be written through */
int cudaGetDriverEntryPoint(const char *name, void **f, unsigned long long flags, void *nothing);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterTexture(void **, const void *, const void **, const char *, int, int, int);
void __cudaRegisterSurface(void **, const void *, const void **, const char *, int, int);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, void *);
unsigned __cudaPushCallConfiguration(dim grid, dim block, size_t shared, void *stream);
int __cudaPopCallConfiguration(dim *grid, dim *block, size_t *shared, void *stream);
int cudaLaunchKernel(const void *f, dim grid, dim block, void **args, size_t shared, void *stream);

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry add(.param .u64 p, .param .u32 n)\n{\n.reg .b64 %d<4>; .reg .b32 %r<4>;\nld.param.u64 %d0, [p]; ld.param.u32 %r0, [n];\n"
	"mov.u32 %r1, %tid.x; mad.wide.u32 %d0, %r1, 4, %d0; ld.global.u32 %r2, [%d0]; add.u32 %r2, %r2, %r0; st.global.u32 [%d0], %r2; ret;\n}\n"
	/* as nvcc 11 writes tex1Dfetch(t, i + n), tex2D(u, i + n, 1), surf2Dwrite(surf2Dread(s, 4 * i, 1) + n, s, 4 * i, 1) */
	".global .texref t;\n.global .texref u;\n.global .surfref s;\n"
	".visible .entry row(.param .u64 p, .param .u32 n)\n{\n.reg .b64 %d<4>; .reg .b32 %r<4>; .reg .f32 %f<6>;\nld.param.u64 %d0, [p]; ld.param.u32 %r0, [n];\n"
	"mov.u32 %r1, %tid.x; mad.wide.u32 %d0, %r1, 4, %d0; add.s32 %r1, %r1, %r0;\n"
	"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1}]; st.global.f32 [%d0], %f1; ret;\n}\n"
	".visible .entry plane(.param .u64 p, .param .u32 n)\n{\n.reg .b64 %d<4>; .reg .b32 %r<4>; .reg .f32 %f<6>;\nld.param.u64 %d0, [p]; ld.param.u32 %r0, [n];\n"
	"mov.u32 %r1, %tid.x; mad.wide.u32 %d0, %r1, 4, %d0; add.s32 %r1, %r1, %r0; cvt.rn.f32.s32 %f1, %r1; mov.f32 %f2, 0f3F800000;\n"
	"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [u, {%f1, %f2}]; st.global.f32 [%d0], %f1; ret;\n}\n"
	".visible .entry surface(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %r<6>;\nld.param.u32 %r0, [n];\n"
	"mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, 1; suld.b.2d.b32.trap %r4, [s, {%r2, %r3}]; add.u32 %r4, %r4, %r0;\n"
	"sust.b.2d.b32.trap [s, {%r2, %r3}], %r4; ret;\n}\n";
/* texture<float, 1> t; texture<unsigned char, 2, cudaReadModeNormalizedFloat> u; surface<void, 2> s */
static struct reference t = { .filter = 0 }, u = { .filter = 1, .address = { 1, 1, 1 } };
static struct channel s;
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
static uint64_t image[1024];
static void **handle;

static void add(unsigned *p, unsigned n)
{
	void *args[] = { &p, &n }, *stream;
	dim grid, block;
	size_t shared;

	if (!__cudaPopCallConfiguration(&grid, &block, &shared, &stream))
		cudaLaunchKernel((const void *)add, grid, block, args, shared, stream);
}

static void launch(const void *f, void *p, int n)
{
	void *args[] = { &p, &n };

	cudaLaunchKernel(f, (dim){ 1, 1, 1 }, (dim){ 64, 1, 1 }, args, 0, NULL);
}

/* a kernel is known by the address of its stub: here, by any */
static const char row, plane, surface;

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
	__cudaRegisterFunction(handle, &row, (char *)"row", "row", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(handle, &plane, (char *)"plane", "plane", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(handle, &surface, (char *)"surface", "surface", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterTexture(handle, &t, NULL, "::t", 1, 0, 0);
	__cudaRegisterTexture(handle, &u, NULL, "u", 2, 1, 0);
	__cudaRegisterSurface(handle, &s, NULL, "s", 2, 0);
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

static const struct channel floats = { 32, 0, 0, 0, 2 }, bytes = { 8, 0, 0, 0, 1 }, words = { 32, 0, 0, 0, 1 };

static void references(void)
{
	const void *r = NULL;
	unsigned char image_bytes[2][64];
	unsigned texels[2][64], back[2][64];
	float host[64];
	size_t off = 99;
	float *data, *out;
	void *array;

	CHECK(!cudaGetTextureReference(&r, &t) && r == &t && !cudaGetSurfaceReference(&r, &s) && r == &s);
	CHECK(cudaGetTextureReference(&r, &s) == 18 && cudaGetSurfaceReference(&r, &t) == 37 && cudaGetTextureReference(&r, host) == 18);
	CHECK(cudaGetSymbolAddress(&array, &t) == 13);
	for (int i = 0; i < 64; i++)
		host[i] = 0.5f * (float)i - 3;
	CHECK(!cudaMalloc((void **)&data, sizeof(host)) && !cudaMalloc((void **)&out, sizeof(host)) && !cudaMemcpy(data, host, sizeof(host), 1));
	/* without a size, as C++ calls it: UINT_MAX */
	CHECK(!cudaBindTexture(&off, &t, data, &floats, 0xffffffffu) && off == 0);
	launch(&row, out, 0);
	CHECK(!cudaMemcpy(host, out, sizeof(host), 2));
	for (int i = 0; i < 64; i++)
		CHECK(host[i] == 0.5f * (float)i - 3);
	CHECK(!cudaBindTexture(&off, &t, data + 3, &floats, 40) && !(off % 4) && !cudaGetTextureAlignmentOffset(&off, &t));
	launch(&row, out, (int)off / 4);
	CHECK(!cudaMemcpy(host, out, sizeof(host), 2));
	for (int i = 0; i < 64; i++)
		CHECK(host[i] == (i < 10 ? 0.5f * (float)(i + 3) - 3 : 0));
	CHECK(cudaBindTexture(NULL, &t, data + 3, &floats, 40) && cudaBindTexture(&off, host, data, &floats, 40) == 18);
	CHECK(cudaBindTexture(&off, &t, host, &floats, 40) && !cudaUnbindTexture(&t));

	/* bytes as 0 to 1, between four of them, from memory with a pitch and from an array */
	for (int i = 0; i < 128; i++) {
		image_bytes[i / 64][i % 64] = (unsigned char)(2 * (i % 64) + 100 * (i / 64));
		texels[i / 64][i % 64] = 7u * (unsigned)i;
	}
	CHECK(!cudaMemcpy(data, image_bytes, sizeof(image_bytes), 1));
	CHECK(!cudaMallocArray(&array, &bytes, 64, 2, 0) && !cudaMemcpy2DToArray(array, 0, 0, image_bytes, 64, 64, 2, 1));
	for (int k = 0; k < 2; k++) {
		CHECK(k ? !cudaBindTextureToArray(&u, array, &bytes) : !cudaBindTexture2D(&off, &u, data, &bytes, 64, 2, 64) && !off);
		launch(&plane, out, 1);
		CHECK(!cudaMemcpy(host, out, sizeof(host), 2));
		for (int i = 0; i < 63; i++)
			CHECK(host[i] > (2 * i + 51 - .01f) / 255 && host[i] < (2 * i + 51 + .01f) / 255);
	}
	/* what the variable says counts when it is bound anew */
	u.filter = 0;
	CHECK(!cudaBindTextureToArray(&u, array, &bytes));
	launch(&plane, out, 1);
	CHECK(!cudaMemcpy(host, out, sizeof(host), 2));
	for (int i = 0; i < 63; i++)
		CHECK(host[i] > (2 * i + 102 - .01f) / 255 && host[i] < (2 * i + 102 + .01f) / 255);

	CHECK(!cudaMallocArray(&array, &words, 64, 2, 2) && !cudaMemcpy2DToArray(array, 0, 0, texels, 256, 256, 2, 1));
	CHECK(cudaBindSurfaceToArray(&t, array, &words) == 37 && !cudaBindSurfaceToArray(&s, array, &words));
	launch(&surface, out, 5);
	CHECK(!cudaMemcpy2DFromArray(back, 256, array, 0, 0, 256, 2, 2));
	for (unsigned i = 0; i < 128; i++)
		CHECK(back[i / 64][i % 64] == 7 * i + (i < 64 ? 0 : 5));
	cudaGetLastError();
}

int main(void)
{
	unsigned *data, host[64] = { 0 };
	void *stream, *graph, *other, *exec, *node = room, *nodes[4];
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
	references();

	/* 12's structure goes on where 11's ends */
	r.at = data;
	memcpy(guarded(), &(struct texture){ .most = 1 }, sizeof(struct texture));
	CHECK(!cudaCreateTextureObject(&object, &r, room, NULL));
	CHECK(!cudaGetTextureObjectTextureDesc(guarded(), object) && kept(sizeof(struct texture)) && ((struct texture *)room)->most == 1);
	CHECK(!cudaDestroyTextureObject(object));
	puts("right");
	return 0;
}
