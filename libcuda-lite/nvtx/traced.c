/* SPDX-License-Identifier: MIT */
/* Kinds of arguments that only NVTX has: events, wide strings, domains. Called by trace/format.c; reads as that does, without faults. */
#define _GNU_SOURCE
#include "names.h"
#include "../trace/trace.h"

static void text_or_address(struct text *t, uint64_t at, const char *s, size_t n)
{
	if (n)
		text_quoted(t, s, n, 0);
	else
		text_add(t, at ? "%#llx" : "NULL", (unsigned long long)at);
}

static void wide(struct text *t, uint64_t from)
{
	wchar_t w[64];
	char s[NVTX_TEXT];
	size_t n = 0;

	/* one at a time: what lies behind its end may not be there */
	while (from && n < 63 && !trace_read(&w[n], from + n * sizeof(w[0]), sizeof(w[0])) && w[n])
		n++;
	w[n] = 0;
	text_or_address(t, from, s, nvtx_utf8(s, sizeof(s), w, n));
}

static void registered(struct text *t, uint64_t handle)
{
	trace_quoted(t, handle ? handle + offsetof(struct nvtx_string, text) : 0);
}

static void message(struct text *t, int32_t type, const nvtxMessage *m)
{
	text_add(t, "message=");
	switch (type) {
	case NVTX_MESSAGE_ASCII: trace_quoted(t, (uintptr_t)m->ascii); break;
	case NVTX_MESSAGE_UNICODE: wide(t, (uintptr_t)m->unicode); break;
	case NVTX_MESSAGE_REGISTERED: registered(t, (uintptr_t)m->registered); break;
	default: text_add(t, "NULL");
	}
}

static void event(struct text *t, uint64_t at, const struct nvtx_domain *d)
{
	nvtxEventAttributes_t e = { 0 };
	const struct nvtx_string *c = d ? d->categories : NULL;

	if (!at || trace_read(&e, at, offsetof(nvtxEventAttributes_t, category)) || e.size < sizeof(e) || trace_read(&e, at, sizeof(e))) {
		text_add(t, at ? "%#llx" : "NULL", (unsigned long long)at);
		return;
	}
	text_add(t, "{");
	message(t, e.message_type, &e.message);
	while (c && c->key != e.category)
		c = c->next;
	if (c) {
		text_add(t, ", category=");
		text_quoted(t, c->text, strlen(c->text), 0);
	} else if (e.category) {
		text_add(t, ", category=%u", e.category);
	}
	if (e.colour_type)
		text_add(t, ", colour=#%08x", e.colour);
	switch (e.payload_type) {
	case NVTX_PAYLOAD_U64: text_add(t, ", payload=%llu", (unsigned long long)e.payload.u64); break;
	case NVTX_PAYLOAD_I64: text_add(t, ", payload=%lld", (long long)e.payload.i64); break;
	case NVTX_PAYLOAD_DOUBLE: text_add(t, ", payload=%.17g", e.payload.f64); break;
	case NVTX_PAYLOAD_U32: text_add(t, ", payload=%u", e.payload.u32); break;
	case NVTX_PAYLOAD_I32: text_add(t, ", payload=%d", e.payload.i32); break;
	case NVTX_PAYLOAD_FLOAT: text_add(t, ", payload=%.9g", (double)e.payload.f32); break;
	}
	text_add(t, "}");
}

static void resource(struct text *t, uint64_t at)
{
	nvtxResourceAttributes_t r = { 0 };

	if (!at || trace_read(&r, at, sizeof(r))) {
		text_add(t, at ? "%#llx" : "NULL", (unsigned long long)at);
		return;
	}
	text_add(t, "{");
	message(t, r.message_type, &r.message);
	text_add(t, ", type=%#x, identifier=%#llx}", (unsigned)r.identifier_type, (unsigned long long)r.identifier);
}

static void sync_user(struct text *t, uint64_t at)
{
	nvtxSyncUserAttributes_t s = { 0 };

	if (!at || trace_read(&s, at, sizeof(s))) {
		text_add(t, at ? "%#llx" : "NULL", (unsigned long long)at);
		return;
	}
	text_add(t, "{");
	message(t, s.message_type, &s.message);
	text_add(t, "}");
}

void vgpu_trace_special(struct text *t, char kind, const uint64_t *args, unsigned i)
{
	const struct nvtx_domain *d;

	switch (kind) {
	case 'W': wide(t, args[i]); break;
	case 'R': registered(t, args[i]); break;
	/* a domain is the first argument, where there is one */
	case 'V': event(t, args[i], nvtx_domain(i ? args[0] : 0)); break;
	case 'Y': resource(t, args[i]); break;
	case 'Z': sync_user(t, args[i]); break;
	case 'O':
		d = nvtx_domain(args[i]);
		if (d && args[i])
			text_quoted(t, d->name, strlen(d->name), 0);
		else
			text_add(t, args[i] ? "%#llx" : "NULL", (unsigned long long)args[i]);
		break;
	}
}
