/* SPDX-License-Identifier: MIT */
/*
 * vgpu cdi generate: a CDI specification (Container Device Interface 0.5.0, as JSON), by which podman, docker, containerd and CRI-O give
 * containers the device: our libraries, nvidia-smi, the folder of the agent's socket, and the environment that vgpu run would set.
 */
#define _GNU_SOURCE
#include "smi.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSIDE "/usr/local/lib/vgpu"    /* where the libraries are in a container */

struct cdi {
	const char *kind, *socket, *file;
	char lib[PATH_MAX], tool[PATH_MAX], folder[PATH_MAX];
	struct agent_status s;
};

static int usage(FILE *to)
{
	fputs("usage: vgpu cdi generate [--kind VENDOR/CLASS] [--socket PATH] [--output FILE]\n"
	      "  Writes a CDI specification. Into /etc/cdi/vgpu.json it goes as root; then\n"
	      "    podman run --device nvidia.com/gpu=all IMAGE    (docker run --device ..., CDI enabled)\n"
	      "  --kind    nvidia.com/gpu, unless NVIDIA's own are here as well\n"
	      "  --socket  the agent's, as containers reach it; else where an agent answers now. Rootless containers: one of\n"
	      "            vgpu-agent --also-listen, since the group of the first has no number in there\n"
	      "  Images need glibc 2.17 or later.\n", to);
	return to == stderr ? 2 : 0;
}

static void pair(struct json *j, const char *name, const char *value)
{
	char text[4 * PATH_MAX];

	snprintf(text, sizeof(text), "%s=%s", name, value);
	json_str(j, NULL, text);
}

static void mount_of(struct json *j, const char *host, const char *inside)
{
	static const char *const options[] = { "rbind", "ro", "nosuid", "nodev" };

	json_open(j, NULL, '{');
	json_str(j, "hostPath", host);
	json_str(j, "containerPath", inside);
	json_open(j, "options", '[');
	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		json_str(j, NULL, options[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void device(struct json *j, const char *name, const char *visible)
{
	json_open(j, NULL, '{');
	json_str(j, "name", name);
	json_open(j, "containerEdits", '{');
	json_open(j, "env", '[');
	pair(j, "NVIDIA_VISIBLE_DEVICES", visible);
	json_close(j, ']');
	json_close(j, '}');
	json_close(j, '}');
}

static void print(const struct cdi *c, FILE *out)
{
	struct json j = { .out = out };
	char list[2048] = "", uuid[SMI_UUID], index[16];
	size_t n = 0;

	for (size_t i = 0; run_preload[i]; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s" INSIDE "/%s", n ? ":" : "", run_preload[i]);
	json_open(&j, NULL, '{');
	json_str(&j, "cdiVersion", "0.5.0");
	json_str(&j, "kind", c->kind);
	json_open(&j, "devices", '[');
	for (unsigned i = 0; i < c->s.devices; i++) {
		smi_uuid(uuid, c->s.device[i].uuid);
		snprintf(index, sizeof(index), "%u", i);
		device(&j, index, uuid);
		device(&j, uuid, uuid);
	}
	device(&j, "all", "void");      /* nothing is hidden: as NVIDIA's own specifications say it */
	json_close(&j, ']');
	json_open(&j, "containerEdits", '{');
	json_open(&j, "env", '[');
	pair(&j, "VGPU_AGENT", c->socket);
	pair(&j, "VGPU_REQUIRED", "1");
	pair(&j, "LD_PRELOAD", list);
	pair(&j, "LD_AUDIT", INSIDE "/" RUN_AUDIT);
	json_close(&j, ']');
	json_open(&j, "mounts", '[');
	mount_of(&j, c->lib, INSIDE);
	mount_of(&j, c->tool, "/usr/bin/nvidia-smi");
	/* the folder and not the socket: an agent that starts anew makes another one */
	mount_of(&j, c->folder, c->folder);
	json_close(&j, ']');
	json_close(&j, '}');
	json_close(&j, '}');
}

static int generate(struct cdi *c)
{
	struct agent_reach reach;
	char where[128], real[PATH_MAX];
	FILE *out = stdout;
	int err, bad;

	if (agent_search(where, sizeof(where), &reach) != VGPU_REACH_OK) {
		complain("cdi: %s; %s", reach.why, reach.fix);
		return 1;
	}
	c->socket = c->socket ? c->socket : where;
	if (*c->socket != '/' || !strcmp(c->socket, "/") || strrchr(c->socket, '/') == c->socket) {
		complain("cdi: --socket %s: an absolute path is needed, in a folder of its own: containers get the folder", c->socket);
		return 2;
	}
	snprintf(c->folder, sizeof(c->folder), "%.*s", (int)(strrchr(c->socket, '/') - c->socket), c->socket);
	if (tool_path(c->lib, sizeof(c->lib), "lib", "libcuda.so.1") || !realpath(c->lib, real)) {
		complain("cdi: %s is missing: build it with 'make', or reinstall", c->lib);
		return 1;
	}
	*strrchr(real, '/') = 0;
	snprintf(c->lib, sizeof(c->lib), "%s", real);
	if (!realpath("/proc/self/exe", c->tool)) {
		complain("cdi: /proc: %s", strerror(errno));
		return 1;
	}
	err = agent_status(where, &c->s);
	if (err) {
		complain("the agent at %s does not answer as expected: %s", where, strerror(-err));
		return 1;
	}
	if (c->file && !(out = fopen(c->file, "we"))) {
		complain("cdi: cannot write %s: %s", c->file, strerror(errno));
		agent_status_free(&c->s);
		return 1;
	}
	print(c, out);
	agent_status_free(&c->s);
	if (out == stdout)
		return 0;
	bad = ferror(out);
	if (!(fclose(out) | bad))
		return 0;
	complain("cdi: %s is not whole: %s", c->file, strerror(errno));
	return 1;
}

/* VENDOR/CLASS, as the specification has them: letters, digits, "_-." in between. */
static int is_kind(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
	size_t n = strspn(s, more), k;

	if (!n || s[n] != '/' || !strchr(letters, s[0]) || strchr("_-.", s[n - 1]))
		return 0;
	s += n + 1;
	k = strspn(s, more);
	return k && !s[k] && strchr(letters, s[0]) && !strchr("_-.", s[k - 1]);
}

int cmd_cdi(int argc, char **argv)
{
	struct cdi c = { .kind = "nvidia.com/gpu" };

	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return usage(stdout);
	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "generate"))
		return misused("cdi", argv[1]);
	for (int i = 2; i < argc; i++) {
		const char **to = !strncmp(argv[i], "--kind", 6) ? &c.kind : !strncmp(argv[i], "--socket", 8) ? &c.socket :
				  !strncmp(argv[i], "--output", 8) ? &c.file : NULL;
		size_t n = strcspn(argv[i], "=");

		if (!to || n != (to == &c.kind ? 6u : 8u) || (!argv[i][n] && i + 1 == argc))
			return misused("cdi", argv[i]);
		*to = argv[i][n] ? argv[i] + n + 1 : argv[++i];
	}
	if (!is_kind(c.kind)) {
		complain("cdi: --kind %s: VENDOR/CLASS is needed, like nvidia.com/gpu", c.kind);
		return 2;
	}
	return generate(&c);
}
