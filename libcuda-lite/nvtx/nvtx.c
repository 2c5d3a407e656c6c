/* SPDX-License-Identifier: MIT */
/*
 * What NVTX's calls do in the process: names are kept, ranges are counted and numbered. That somebody sees them is the trace's matter
 * (libcuda-lite/trace): every call here is a traced one, as those of CUDA are.
 *
 * Lists only grow, at their heads, by compare-and-swap: no lock that a fork could leave behind. Domains and registered strings live as
 * long as the process, so that a handle which a program keeps too long is never a wild pointer.
 */
#define _GNU_SOURCE
#include "names.h"
#include "../core/tls.h"

#include <stdlib.h>
#include <string.h>

/* The level of ranges on this thread, in the first domains: 8 bytes, as there is little room for TLS descriptors. Full is lost for good. */
struct nvtx_thread {
	uint16_t level;                 /* in the default domain */
	uint8_t other[NVTX_LEVELS];
};
VGPU_TLS(struct nvtx_thread, vgpu_nvtx_self);
VGPU_TLS_HERE(struct nvtx_thread, vgpu_nvtx_self);

static struct nvtx_domain default_domain = { .name = "" };
static _Atomic(struct nvtx_domain *) domains;
static _Atomic uint64_t ranges;
static _Atomic uint32_t numbers;

size_t nvtx_utf8(char *to, size_t room, const wchar_t *from, size_t n)
{
	char *p = to, *end = to + room - 1;

	for (size_t i = 0; i < n && from[i] && end - p >= 4; i++) {
		uint32_t c = (uint32_t)from[i];

		if (c < 0x80) {
			*p++ = (char)c;
		} else if (c < 0x800) {
			*p++ = (char)(0xc0 | c >> 6);
			*p++ = (char)(0x80 | (c & 63));
		} else if (c < 0x10000) {
			*p++ = (char)(0xe0 | c >> 12);
			*p++ = (char)(0x80 | (c >> 6 & 63));
			*p++ = (char)(0x80 | (c & 63));
		} else {
			*p++ = (char)(0xf0 | (c >> 18 & 7));
			*p++ = (char)(0x80 | (c >> 12 & 63));
			*p++ = (char)(0x80 | (c >> 6 & 63));
			*p++ = (char)(0x80 | (c & 63));
		}
	}
	*p = 0;
	return (size_t)(p - to);
}

static const char *narrow(char buf[NVTX_TEXT], const wchar_t *w)
{
	if (!w)
		return NULL;
	nvtx_utf8(buf, NVTX_TEXT, w, NVTX_TEXT);
	return buf;
}

/* ---- names ---------------------------------------------------------------------------------------- */

nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
	struct nvtx_domain *head = domains, *fresh = NULL;

	if (!name)
		name = "";
	do {
		for (struct nvtx_domain *d = head; d; d = d->next)
			if (!strcmp(d->name, name)) {
				free(fresh);
				return d;
			}
		if (!fresh && !(fresh = calloc(1, sizeof(*fresh) + strlen(name) + 1)))
			return NULL;            /* the default one */
		strcpy(fresh->name, name);
		fresh->next = head;
	} while (!atomic_compare_exchange_weak(&domains, &head, fresh));
	fresh->number = ++numbers;
	return fresh;
}

nvtxDomainHandle_t nvtxDomainCreateW(const wchar_t *name)
{
	char buf[NVTX_TEXT];

	return nvtxDomainCreateA(narrow(buf, name));
}

/* It stays known: ranges that are open may end later. */
void nvtxDomainDestroy(nvtxDomainHandle_t domain)
{
	(void)domain;
}

const struct nvtx_domain *nvtx_domain(uint64_t handle)
{
	const struct nvtx_domain *d = domains;

	if (!handle)
		return &default_domain;
	while (d && (uintptr_t)d != handle)
		d = d->next;
	return d;
}

static struct nvtx_string *keep(_Atomic(struct nvtx_string *) *list, uint32_t key, const char *text)
{
	struct nvtx_string *s;

	if (!text || !(s = calloc(1, sizeof(*s) + strlen(text) + 1)))
		return NULL;
	strcpy(s->text, text);
	s->key = key;
	s->next = *list;
	while (!atomic_compare_exchange_weak(list, &s->next, s))
		;
	return s;
}

void nvtxDomainNameCategoryA(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
	struct nvtx_domain *d = domain ? domain : &default_domain;

	/* a name that is given again and again is kept once; a newer one goes before */
	for (struct nvtx_string *s = d->categories; s && name; s = s->next)
		if (s->key == category) {
			if (!strcmp(s->text, name))
				return;
			break;
		}
	keep(&d->categories, category, name);
}

void nvtxDomainNameCategoryW(nvtxDomainHandle_t domain, uint32_t category, const wchar_t *name)
{
	char buf[NVTX_TEXT];

	nvtxDomainNameCategoryA(domain, category, narrow(buf, name));
}

void nvtxNameCategoryA(uint32_t category, const char *name) { nvtxDomainNameCategoryA(NULL, category, name); }
void nvtxNameCategoryW(uint32_t category, const wchar_t *name) { nvtxDomainNameCategoryW(NULL, category, name); }

nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *string)
{
	return keep(&(domain ? domain : &default_domain)->strings, 0, string);
}

nvtxStringHandle_t nvtxDomainRegisterStringW(nvtxDomainHandle_t domain, const wchar_t *string)
{
	char buf[NVTX_TEXT];

	return nvtxDomainRegisterStringA(domain, narrow(buf, string));
}

/* ---- ranges ----------------------------------------------------------------------------------------- */

/* by 1: the level of the range that begins; by -1: of that which ends, -1 where none is open */
static int step(const struct nvtx_domain *d, int by)
{
	struct nvtx_thread *t = vgpu_nvtx_self_at();
	uint32_t number = d ? d->number : 0;
	int level = !number ? t->level : number <= NVTX_LEVELS ? t->other[number - 1] : UINT16_MAX;

	if (level == (number ? UINT8_MAX : UINT16_MAX) || level == UINT16_MAX)
		return NVTX_NO_PUSH_POP_TRACKING;
	if (level + by < 0)
		return -1;
	if (number)
		t->other[number - 1] = (uint8_t)(level + by);
	else
		t->level = (uint16_t)(level + by);
	return by > 0 ? level : level - 1;
}

static int push(const struct nvtx_domain *d) { return step(d, 1); }
static int pop(const struct nvtx_domain *d) { return step(d, -1); }

int nvtxRangePushA(const char *message) { (void)message; return push(NULL); }
int nvtxRangePushW(const wchar_t *message) { (void)message; return push(NULL); }
int nvtxRangePushEx(const nvtxEventAttributes_t *event) { (void)event; return push(NULL); }
int nvtxRangePop(void) { return pop(NULL); }
int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event) { (void)event; return push(domain); }
int nvtxDomainRangePop(nvtxDomainHandle_t domain) { return pop(domain); }

nvtxRangeId_t nvtxRangeStartA(const char *message) { (void)message; return ++ranges; }
nvtxRangeId_t nvtxRangeStartW(const wchar_t *message) { (void)message; return ++ranges; }
nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *event) { (void)event; return ++ranges; }
nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
	(void)domain, (void)event;
	return ++ranges;
}
void nvtxRangeEnd(nvtxRangeId_t id) { (void)id; }
void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) { (void)domain, (void)id; }

/* ---- things with a handle and nothing else ---------------------------------------------------------------- */

nvtxResourceHandle_t nvtxDomainResourceCreate(nvtxDomainHandle_t domain, const nvtxResourceAttributes_t *resource)
{
	(void)domain, (void)resource;
	return malloc(1);
}
void nvtxDomainResourceDestroy(nvtxResourceHandle_t resource) { free(resource); }

nvtxSyncUser_t nvtxDomainSyncUserCreate(nvtxDomainHandle_t domain, const nvtxSyncUserAttributes_t *sync)
{
	(void)domain, (void)sync;
	return malloc(1);
}
void nvtxDomainSyncUserDestroy(nvtxSyncUser_t handle) { free(handle); }

/* ---- what is an event and no more ------------------------------------------------------------------------------ */

/* Tables for tools that NVIDIA's library loads: this one loads none, and has none. */
const void *nvtxGetExportTable(uint32_t table) { (void)table; return NULL; }

void nvtxInitialize(const void *reserved) { (void)reserved; }
void nvtxMarkA(const char *message) { (void)message; }
void nvtxMarkW(const wchar_t *message) { (void)message; }
void nvtxMarkEx(const nvtxEventAttributes_t *event) { (void)event; }
void nvtxDomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event) { (void)domain, (void)event; }
void nvtxNameOsThreadA(uint32_t thread, const char *name) { (void)thread, (void)name; }
void nvtxNameOsThreadW(uint32_t thread, const wchar_t *name) { (void)thread, (void)name; }
void nvtxDomainSyncUserAcquireStart(nvtxSyncUser_t handle) { (void)handle; }
void nvtxDomainSyncUserAcquireFailed(nvtxSyncUser_t handle) { (void)handle; }
void nvtxDomainSyncUserAcquireSuccess(nvtxSyncUser_t handle) { (void)handle; }
void nvtxDomainSyncUserReleasing(nvtxSyncUser_t handle) { (void)handle; }

#define NAMES(what, type) \
	void nvtxName##what##A(type thing, const char *name) { (void)thing, (void)name; } \
	void nvtxName##what##W(type thing, const wchar_t *name) { (void)thing, (void)name; }
NAMES(CuDevice, int)
NAMES(CuContext, const void *)
NAMES(CuStream, const void *)
NAMES(CuEvent, const void *)
NAMES(CudaDevice, int)
NAMES(CudaStream, const void *)
NAMES(CudaEvent, const void *)
NAMES(ClDevice, const void *)
NAMES(ClContext, const void *)
NAMES(ClCommandQueue, const void *)
NAMES(ClMemObject, const void *)
NAMES(ClSampler, const void *)
NAMES(ClProgram, const void *)
NAMES(ClEvent, const void *)
