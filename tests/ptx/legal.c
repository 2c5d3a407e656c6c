/* SPDX-License-Identifier: MIT */
/*
 * What is legal PTX: the tables of legal/ hold snippets with the verdict of NVIDIA's assembler, and the engine is to agree.
 *   legal [-v] TABLE...     exit 0: no disagreement but the listed ones
 *
 * A line of a table:
 *   + S text     legal;  - S text   not. S: a statement in the kernel of legal/prelude.ptx, M: a module behind its header,
 *                H: a whole text; "\n" is a line's end
 *   0x2a E s64 expression    its value as a first value of that type; - E …: refused
 *   ! reason     the next line is one where we differ on purpose; before an expression "! =0x2b reason"
 *   .target sm_90a           of what follows
 *   # comment
 * Legal means: the engine takes it, or says NOT_SUPPORTED and names what is missing; not legal: INVALID_PTX, or the
 * NOT_SUPPORTED of an instruction whose operands the engine does not know.
 */
#include <ctype.h>

#include "rig.h"

static struct rig rig;
static char target[64] = "", prelude[16384];
static unsigned legal, unsupported, illegal, values, differ, failures;
static int verbose;

static void unescape(char *d, size_t bytes, const char *s)
{
	size_t n = 0;

	for (; *s && n + 1 < bytes; s++) {
		if (s[0] == '\\' && s[1] == 'n') {
			d[n++] = '\n';
			s++;
		} else {
			d[n++] = *s;
		}
	}
	d[n] = 0;
}

static void put(char *d, size_t bytes, const char *form, const char *body)
{
	size_t n = 0;

	for (*d = 0; *form && n + 1 < bytes;) {
		const char *word = !strncmp(form, "TARGET", 6) ? target : !strncmp(form, "STATEMENT", 9) ? body : NULL;

		if (word) {
			n += (size_t)snprintf(d + n, bytes - n, "%s", word);
			form += word == target ? 6 : 9;
		} else {
			d[n++] = *form++;
		}
	}
	d[n < bytes ? n : bytes - 1] = 0;
}

/* The status of the module or of its first function that is not OK. */
static uint32_t load(const char *text, uint64_t *value, char *log, size_t log_bytes)
{
	static char image[65536];
	struct engine_func_info info;
	struct engine_symbol sym;
	uint32_t module, st;

	*log = 0;
	snprintf(image, sizeof(image), "%s", text);
	st = engine_cpu.module_load(rig.engine, image, strlen(image), &module, log, log_bytes);
	if (st)
		return st;
	for (uint32_t i = 0; !st && engine_cpu.module_symbol(rig.engine, module, i, &sym) == VGPU_ST_OK; i++) {
		if (sym.kind == ENGINE_SYM_FUNC)
			st = engine_cpu.func_info(rig.engine, sym.id, &info, log, log_bytes);
		else if (value && sym.address && sym.bytes <= 8)
			memcpy(value, (void *)(uintptr_t)sym.address, sym.bytes);
	}
	engine_cpu.module_unload(rig.engine, module);
	return st;
}

static void set_target(const char *s)
{
	unsigned n = 0, major, minor;

	if (!strcmp(s, target))
		return;
	snprintf(target, sizeof(target), "%s", s);
	sscanf(s, "sm_%u", &n);
	major = n / 10;
	minor = n % 10;
	if (rig.engine)
		rig_close(&rig);
	if (!n || rig_open(&rig, 1, major, minor))
		exit(1);
}

/* Does the log name a word of the snippet? "instruction 'x' is not supported" is worth nothing if x is not in it. */
static int names(const char *log, const char *body)
{
	const char *a = strchr(log, '\''), *b = a ? strchr(a + 1, '\'') : NULL;
	char word[128];

	if (!b || b - a < 2 || b - a > 100)
		return strstr(log, "not supported") != NULL;
	snprintf(word, sizeof(word), "%.*s", (int)(b - a - 1), a + 1);
	return strstr(body, word) != NULL || strstr(prelude, word) != NULL || strchr(word, '.');
}

static void one(const char *where, const char *verdict, char kind, const char *body, const char *except)
{
	static char text[65536], plain[32768];
	char log[512], type[16] = "", *end;
	uint64_t value = 0, want;
	uint32_t st;
	int ok, n = 0;

	unescape(plain, sizeof(plain), body);
	if (kind == 'S') {
		put(text, sizeof(text), prelude, plain);
	} else if (kind == 'M') {
		snprintf(text, sizeof(text), ".version 9.1\n.target %s\n.address_size 64\n%s\n", target, plain);
	} else if (kind == 'E') {
		sscanf(plain, "%15s %n", type, &n);
		snprintf(text, sizeof(text), ".version 9.1\n.target %s\n.address_size 64\n.visible .global .%s x[1] = {%s};\n", target, type,
			 plain + n);
	} else {
		snprintf(text, sizeof(text), "%s\n", plain);
	}
	st = load(text, &value, log, sizeof(log));
	if (verbose)
		printf("%s: %s %c %s => %s %s\n", where, verdict, kind, body, vgpu_status_text(st), log);
	if (*verdict == '-') {
		ok = st == VGPU_ST_INVALID_PTX || st == VGPU_ST_NOT_SUPPORTED || st == VGPU_ST_NO_BINARY;
		illegal += ok;
	} else if (kind == 'E') {
		want = strtoull(except && except[0] == '=' ? except + 1 : verdict, &end, 0);
		if (except && except[0] == '=' && want == strtoull(verdict, NULL, 0)) {
			printf("%s: no exception: %s\n", where, body);
			failures++;
		}
		ok = st == VGPU_ST_OK && value == want;
		values += ok;
		if (!ok && st == VGPU_ST_OK)
			snprintf(log, sizeof(log), "value %#llx", (unsigned long long)value);
		if (ok && except && except[0] == '=') {
			differ++;
			return;
		}
	} else {
		ok = st == VGPU_ST_OK || (st == VGPU_ST_NOT_SUPPORTED && names(log, plain));
		legal += ok;
		unsupported += ok && st;
	}
	if (except) {
		if (ok) {
			printf("%s: agrees, but is listed as an exception: %s\n", where, body);
			failures++;
		}
		differ += !ok;
		return;
	}
	if (!ok) {
		printf("%s: %s %c %s\n    here: %s %s\n", where, verdict, kind, body, vgpu_status_text(st), log);
		failures++;
	}
}

static int run(const char *path)
{
	static char line[32768], except[1024];
	char verdict[32], kind, where[256];
	FILE *f = fopen(path, "r");
	unsigned n = 0;

	if (!f) {
		printf("%s: cannot read\n", path);
		return 1;
	}
	set_target("sm_90a");
	*except = 0;
	while (fgets(line, sizeof(line), f)) {
		int at = 0;

		n++;
		line[strcspn(line, "\n")] = 0;
		if (!*line || *line == '#')
			continue;
		if (*line == '!') {
			snprintf(except, sizeof(except), "%s", line + 1 + strspn(line + 1, " "));
			continue;
		}
		if (!strncmp(line, ".target ", 8)) {
			set_target(line + 8);
			continue;
		}
		snprintf(where, sizeof(where), "%s:%u", strrchr(path, '/') ? strrchr(path, '/') + 1 : path, n);
		if (sscanf(line, "%31s %c %n", verdict, &kind, &at) < 2 || !at || !strchr("SMEH", kind) || *verdict == '?') {
			printf("%s: no snippet with a verdict\n", where);
			failures++;
			continue;
		}
		one(where, verdict, kind, line + at, *except ? except : NULL);
		*except = 0;
	}
	fclose(f);
	return 0;
}

int main(int argc, char **argv)
{
	char path[512];
	size_t n;
	FILE *f;
	int i = 1;

	if (i < argc && !strcmp(argv[i], "-v"))
		verbose = i++;
	if (i >= argc) {
		printf("usage: legal [-v] TABLE...\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s", argv[i]);
	if (strrchr(path, '/'))
		strrchr(path, '/')[1] = 0;
	else
		*path = 0;
	strncat(path, "prelude.ptx", sizeof(path) - strlen(path) - 1);
	f = fopen(path, "r");
	n = f ? fread(prelude, 1, sizeof(prelude) - 1, f) : 0;
	if (f)
		fclose(f);
	if (!n) {
		printf("%s: cannot read\n", path);
		return 1;
	}
	for (; i < argc; i++)
		failures += (unsigned)run(argv[i]);
	printf("legal: %u legal (%u of them NOT_SUPPORTED by name), %u illegal, %u values, %u exceptions; %u failures\n", legal,
	       unsupported, illegal, values, differ, failures);
	return failures != 0;
}
