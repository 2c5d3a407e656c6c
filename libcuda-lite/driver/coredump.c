/* SPDX-License-Identifier: MIT */
/*
 * Device core dumps: when a context has failed, what its device left of that (fw-protocol/vgpu_core.h) goes into a file, then the process
 * aborts, as NVIDIA's driver has it; `vgpu debug -c FILE` reads it. cuCoredumpSetAttribute* and the variables of "GPU core dump support"
 * in CUDA-GDB's guide; these are read when a first question is asked, and take precedence for good.
 *
 * Called by vg_fail(), where a call first answers with the sticky error of a context.
 */
#include "driver.h"

#include "../../fw-protocol/vgpu_core.h"
#include "../../fw-protocol/vgpu_dial.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES 1024u
#define PIECE (1u << 20)
#define SKIP_ALL (CU_COREDUMP_LIGHTWEIGHT_FLAGS)

struct settings {
	uint64_t id;                    /* of the context; 0: nobody's */
	bool enable;
	unsigned flags;                 /* CU_COREDUMP_SKIP_* */
	char file[NAME_BYTES];          /* with its % */
};

static struct vg_lock lock;             /* over all of this */
static struct settings global, own[VGPU_MAX_CONTEXTS];
static unsigned fixed;                  /* bit per CUcoredumpSettings that the environment says */
static bool asked;                      /* it was read */
static uint64_t dumped[VGPU_MAX_CONTEXTS];      /* ids of contexts whose core was tried */

static bool yes(const char *s) { return s && !strcmp(s, "1"); }

/* "skip_global_memory,skip_abort" */
static unsigned flags_named(const char *s)
{
	static const struct { const char *name; unsigned flag; } names[] = {
		{ "skip_nonrelocated_elf_images", CU_COREDUMP_SKIP_NONRELOCATED_ELF_IMAGES }, { "skip_global_memory", CU_COREDUMP_SKIP_GLOBAL_MEMORY },
		{ "skip_shared_memory", CU_COREDUMP_SKIP_SHARED_MEMORY }, { "skip_local_memory", CU_COREDUMP_SKIP_LOCAL_MEMORY },
		{ "skip_abort", CU_COREDUMP_SKIP_ABORT }, { "skip_constbank_memory", CU_COREDUMP_SKIP_CONSTBANK_MEMORY },
	};
	unsigned flags = 0;

	while (*s) {
		size_t n = strcspn(s, ", "), i;

		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strlen(names[i].name) == n && !memcmp(names[i].name, s, n))
				break;
		if (i < sizeof(names) / sizeof(names[0]))
			flags |= names[i].flag;
		else if (n)
			vg_say("CUDA_COREDUMP_GENERATION_FLAGS: %.*s is none of them", (int)n, s);
		s += n;
		s += strspn(s, ", ");
	}
	return flags;
}

/* With the lock held. */
static void look(void)
{
	const char *s;

	if (asked)
		return;
	asked = true;
	strcpy(global.file, "core_%t_%h_%p.nvcudmp");
	if ((s = vgpu_env("CUDA_ENABLE_COREDUMP_ON_EXCEPTION"))) {
		global.enable = yes(s);
		fixed |= 1u << CU_COREDUMP_ENABLE_ON_EXCEPTION;
	}
	if ((s = vgpu_env("CUDA_COREDUMP_FILE")) && *s && strlen(s) < NAME_BYTES) {
		strcpy(global.file, s);
		fixed |= 1u << CU_COREDUMP_FILE;
	}
	if ((s = vgpu_env("CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION"))) {
		global.flags |= yes(s) ? 0 : CU_COREDUMP_SKIP_ABORT;
		fixed |= 1u << CU_COREDUMP_TRIGGER_HOST;
	}
	if ((s = vgpu_env("CUDA_ENABLE_LIGHTWEIGHT_COREDUMP"))) {
		global.flags |= yes(s) ? SKIP_ALL : 0;
		fixed |= 1u << CU_COREDUMP_LIGHTWEIGHT;
	}
	if ((s = vgpu_env("CUDA_COREDUMP_GENERATION_FLAGS"))) {
		global.flags |= flags_named(s);
		fixed |= 1u << CU_COREDUMP_GENERATION_FLAGS;
	}
	if (yes(vgpu_env("CUDA_ENABLE_USER_TRIGGERED_COREDUMP")))
		vg_unsupported_line("CUDA_ENABLE_USER_TRIGGERED_COREDUMP");
}

/* What holds for a context, with the lock held. */
static struct settings *of(const struct vg_ctx *c)
{
	struct settings *s = c ? &own[c->number % VGPU_MAX_CONTEXTS] : &global;

	look();
	if (c && s->id != c->id) {
		*s = global;
		s->id = c->id;
	}
	return s;
}

void vg_coredump_enable(struct vg_ctx *c)
{
	vg_lock(&lock);
	of(c)->enable |= !(fixed >> CU_COREDUMP_ENABLE_ON_EXCEPTION & 1);
	vg_unlock(&lock);
}

/* ---- attributes ------------------------------------------------------------------------------- */

static size_t size_of(CUcoredumpSettings a)
{
	return a == CU_COREDUMP_FILE || a == CU_COREDUMP_PIPE ? NAME_BYTES : a == CU_COREDUMP_GENERATION_FLAGS ? sizeof(int) : sizeof(bool);
}

static bool known(CUcoredumpSettings a) { return (int)a >= CU_COREDUMP_ENABLE_ON_EXCEPTION && a < CU_COREDUMP_MAX; }

static CUresult get(const struct vg_ctx *c, CUcoredumpSettings a, void *value, size_t *size)
{
	struct settings s;
	struct utsname u;
	char text[NAME_BYTES];
	bool b = false;
	int flags;

	if (!known(a) || !size)
		return CUDA_ERROR_INVALID_VALUE;
	if (!value) {
		*size = size_of(a);
		return CUDA_SUCCESS;
	}
	vg_lock(&lock);
	s = *of(c);
	vg_unlock(&lock);
	switch (a) {
	case CU_COREDUMP_FILE:
	case CU_COREDUMP_PIPE:
		memcpy(text, s.file, sizeof(text));
		if (a == CU_COREDUMP_PIPE) {
			if (uname(&u))
				u.nodename[0] = 0;
			snprintf(text, sizeof(text), "corepipe.cuda.%.200s.%d", u.nodename, (int)getpid());
		}
		if (*size < strlen(text) + 1)
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(value, text, strlen(text) + 1);
		return CUDA_SUCCESS;
	case CU_COREDUMP_GENERATION_FLAGS:
		if (*size < sizeof(int))
			return CUDA_ERROR_INVALID_VALUE;
		flags = (int)s.flags;
		memcpy(value, &flags, sizeof(flags));
		return CUDA_SUCCESS;
	case CU_COREDUMP_ENABLE_ON_EXCEPTION:
		b = s.enable;
		break;
	case CU_COREDUMP_TRIGGER_HOST:
		b = !(s.flags & CU_COREDUMP_SKIP_ABORT);
		break;
	case CU_COREDUMP_LIGHTWEIGHT:
		b = (s.flags & SKIP_ALL) == SKIP_ALL;
		break;
	default:
		break;
	}
	if (*size < sizeof(bool))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(value, &b, sizeof(b));
	return CUDA_SUCCESS;
}

static CUresult set(const struct vg_ctx *c, CUcoredumpSettings a, const void *value, size_t *size)
{
	struct settings *s;
	unsigned flags = 0;
	bool b = false;

	if (!known(a) || !size)
		return CUDA_ERROR_INVALID_VALUE;
	if (!value) {
		*size = size_of(a);
		return CUDA_SUCCESS;
	}
	if (a == CU_COREDUMP_FILE || a == CU_COREDUMP_PIPE) {
		if (!*size || *size > NAME_BYTES || strnlen(value, *size) == NAME_BYTES)
			return CUDA_ERROR_INVALID_VALUE;
	} else if (a == CU_COREDUMP_GENERATION_FLAGS) {
		if (*size < sizeof(int))
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(&flags, value, sizeof(flags));
		if (flags & ~(unsigned)(SKIP_ALL | CU_COREDUMP_SKIP_ABORT))
			return CUDA_ERROR_INVALID_VALUE;
	} else {
		if (*size < sizeof(bool))
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(&b, value, sizeof(b));
	}
	/* nobody listens at a pipe */
	if (a == CU_COREDUMP_PIPE || (a == CU_COREDUMP_ENABLE_USER_TRIGGER && b))
		return vg_unsupported("core dumps of the device by a pipe (CU_COREDUMP_ENABLE_USER_TRIGGER)");
	vg_lock(&lock);
	s = of(c);
	if (!(fixed >> a & 1))
		switch (a) {
		case CU_COREDUMP_FILE:
			memset(s->file, 0, sizeof(s->file));
			memcpy(s->file, value, strnlen(value, *size));
			break;
		case CU_COREDUMP_GENERATION_FLAGS:
			s->flags = flags;
			break;
		case CU_COREDUMP_ENABLE_ON_EXCEPTION:
			s->enable = b;
			break;
		case CU_COREDUMP_TRIGGER_HOST:
			s->flags = (s->flags & ~(unsigned)CU_COREDUMP_SKIP_ABORT) | (b ? 0 : CU_COREDUMP_SKIP_ABORT);
			break;
		case CU_COREDUMP_LIGHTWEIGHT:
			s->flags = (s->flags & ~(unsigned)SKIP_ALL) | (b ? (unsigned)SKIP_ALL : 0);
			break;
		default:
			break;
		}
	vg_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult cuCoredumpGetAttribute(CUcoredumpSettings attrib, void *value, size_t *size)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_current_any(&c));
	return get(c, attrib, value, size);
}

CUresult cuCoredumpSetAttribute(CUcoredumpSettings attrib, void *value, size_t *size)
{
	struct vg_ctx *c;

	VG_READY();
	VG_TRY(vg_current_any(&c));
	return set(c, attrib, value, size);
}

/* These work before cuInit(), and are said to: contexts that are there keep what they have. */
CUresult cuCoredumpGetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size)
{
	return get(NULL, attrib, value, size);
}

CUresult cuCoredumpSetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size)
{
	return set(NULL, attrib, value, size);
}

/* ---- a core ------------------------------------------------------------------------------------- */

/* %h, %p, %t, %%. */
static void expand(const char *s, char *out, size_t room)
{
	struct utsname u;
	size_t n = 0;
	int k;

	if (uname(&u))
		u.nodename[0] = 0;
	for (; *s && n + 1 < room; s++) {
		if (*s != '%' || !strchr("hpt%", s[1]) || !s[1]) {
			out[n++] = *s;
			continue;
		}
		s++;
		k = *s == 'h' ? snprintf(out + n, room - n, "%s", u.nodename) : *s == 'p' ? snprintf(out + n, room - n, "%d", (int)getpid()) :
		    *s == 't' ? snprintf(out + n, room - n, "%lld", (long long)time(NULL)) : snprintf(out + n, room - n, "%%");
		n += k < 0 ? 0 : (size_t)k < room - n ? (size_t)k : room - n - 1;
	}
	out[n] = 0;
}

/* All of it from the device, malloc'ed; NULL with its status. */
static uint8_t *fetch(struct vg_ctx *c, size_t *bytes, uint32_t *status)
{
	void *window = vg_window_alloc(PIECE, 64);
	uint8_t *p = NULL;
	uint64_t v[5], at = 0;

	*status = window ? VGPU_ST_OK : VGPU_ST_OUT_OF_MEMORY;
	while (!*status) {
		*status = vg_ctl(c, VGPU_OP_CORE, 0, (uint64_t)(uintptr_t)window, PIECE, at, v);
		if (*status)
			break;
		if (!p) {
			*bytes = v[0];
			p = v[0] && v[0] <= VGPU_CORE_MOST ? malloc(v[0]) : NULL;
		}
		if (!p || v[0] != *bytes || v[1] > PIECE || v[1] > *bytes - at || (!v[1] && at < *bytes)) {
			*status = VGPU_ST_INTERNAL;
			break;
		}
		memcpy(p + at, window, v[1]);
		at += v[1];
		if (at == *bytes)
			break;
	}
	if (window)
		vg_window_free(window, PIECE);
	if (*status) {
		free(p);
		p = NULL;
	}
	return p;
}

/* Memory that is not wanted leaves the list of what is there, and its bytes are zeroes. */
static void leave_out(uint8_t *p, size_t bytes, unsigned skip)
{
	uint32_t kinds = (skip & CU_COREDUMP_SKIP_SHARED_MEMORY ? VGPU_CORE_SHARED : 0) | (skip & CU_COREDUMP_SKIP_LOCAL_MEMORY ? VGPU_CORE_LOCAL : 0) |
			 (skip & CU_COREDUMP_SKIP_GLOBAL_MEMORY ? VGPU_CORE_GLOBAL : 0);
	Elf64_Ehdr e;

	if (bytes < sizeof(e))
		return;
	memcpy(&e, p, sizeof(e));
	if (e.e_phoff > bytes || e.e_phnum > (bytes - e.e_phoff) / sizeof(Elf64_Phdr))
		return;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		Elf64_Phdr h;

		memcpy(&h, p + e.e_phoff + i * sizeof(h), sizeof(h));
		if (h.p_type != PT_LOAD || !(h.p_flags & kinds) || h.p_offset > bytes || h.p_filesz > bytes - h.p_offset)
			continue;
		memset(p + h.p_offset, 0, h.p_filesz);
		h.p_type = PT_NULL;
		memcpy(p + e.e_phoff + i * sizeof(h), &h, sizeof(h));
	}
}

static int put(const char *path, const uint8_t *p, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < bytes; at += (size_t)n) {
		n = write(fd, p + at, bytes - at);
		if (n <= 0 && errno != EINTR) {
			n = -errno;
			close(fd);
			return n ? (int)n : -EIO;
		}
		n = n < 0 ? 0 : n;
	}
	return close(fd) ? -errno : 0;
}

void vg_coredump(struct vg_ctx *c)
{
	struct settings s;
	uint64_t *once = &dumped[c->number % VGPU_MAX_CONTEXTS];
	char path[2 * NAME_BYTES];
	uint32_t status;
	size_t bytes = 0;
	uint8_t *p;
	int err;

	if (__atomic_load_n(once, __ATOMIC_RELAXED) == c->id)
		return;
	vg_lock(&lock);
	s = *of(c);
	s.enable = s.enable && *once != c->id;
	__atomic_store_n(once, c->id, __ATOMIC_RELAXED);
	vg_unlock(&lock);
	if (!s.enable)
		return;
	if (!(vg.features & VGPU_FEATURE_CORE)) {
		vg_say("no device core: vgpu-agent is older than this library");
		return;
	}
	p = fetch(c, &bytes, &status);
	if (!p) {
		vg_say("no device core: %s", status == VGPU_ST_NOT_FOUND ? "the device left none of this fault" : vgpu_status_text(status));
		return;
	}
	leave_out(p, bytes, s.flags);
	expand(s.file, path, sizeof(path));
	err = put(path, p, bytes);
	free(p);
	if (err) {
		vg_say("device core %s: %s", path, strerror(-err));
		return;
	}
	vg_say("device core: %s (vgpu debug -c reads it)", path);
	if (!(s.flags & CU_COREDUMP_SKIP_ABORT))
		abort();
}
