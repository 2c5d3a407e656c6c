/* SPDX-License-Identifier: MIT */
/* See options.h. */
#include "options.h"
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPT_DEVICE = 256, OPT_LISTEN, OPT_ALSO, OPT_PIDFILE, OPT_CPU, OPT_MODE, OPT_MAX_CONTEXTS, OPT_MAX_CLIENTS,
       OPT_CLIENT_MEMORY, OPT_CLIENT_WINDOW, OPT_WINDOWS, OPT_UID_CLIENTS, OPT_SPIN_US, OPT_NO_HUGE, OPT_NO_SECCOMP,
       OPT_VFIO, OPT_NOIOMMU, OPT_UID_WINDOWS, OPT_UID_MEMORY, OPT_BOX_CLIENTS, OPT_BOX_WINDOWS, OPT_BOX_MEMORY, OPT_UID_COMPUTE, OPT_BOX_COMPUTE, OPT_LIMITS,
       OPT_Q_FAULTS, OPT_Q_REFUSALS, OPT_Q_SECONDS, OPT_CONNECT_RATE, OPT_CONTEXT_RATE, OPT_ADMISSION, OPT_ADMIN,
       OPT_LOG_LEVEL, OPT_REPLACE, OPT_BIND, OPT_UNBIND, OPT_MODULES, OPT_RUN, OPT_HELP, OPT_VERSION };

static const struct option table[] = {
	{ "device", 1, NULL, OPT_DEVICE },
	{ "listen", 1, NULL, OPT_LISTEN },
	{ "also-listen", 1, NULL, OPT_ALSO },
	{ "mode", 1, NULL, OPT_MODE },
	{ "pidfile", 1, NULL, OPT_PIDFILE },
	{ "cpu", 1, NULL, OPT_CPU },
	{ "max-contexts", 1, NULL, OPT_MAX_CONTEXTS },
	{ "max-clients", 1, NULL, OPT_MAX_CLIENTS },
	{ "uid-clients", 1, NULL, OPT_UID_CLIENTS },
	{ "client-memory", 1, NULL, OPT_CLIENT_MEMORY },
	{ "client-window", 1, NULL, OPT_CLIENT_WINDOW },
	{ "windows", 1, NULL, OPT_WINDOWS },
	{ "uid-windows", 1, NULL, OPT_UID_WINDOWS },
	{ "uid-memory", 1, NULL, OPT_UID_MEMORY },
	{ "uid-compute", 1, NULL, OPT_UID_COMPUTE },
	{ "container-compute", 1, NULL, OPT_BOX_COMPUTE },
	{ "container-clients", 1, NULL, OPT_BOX_CLIENTS },
	{ "container-windows", 1, NULL, OPT_BOX_WINDOWS },
	{ "container-memory", 1, NULL, OPT_BOX_MEMORY },
	{ "quarantine-faults", 1, NULL, OPT_Q_FAULTS },
	{ "quarantine-refusals", 1, NULL, OPT_Q_REFUSALS },
	{ "quarantine-seconds", 1, NULL, OPT_Q_SECONDS },
	{ "connect-rate", 1, NULL, OPT_CONNECT_RATE },
	{ "context-rate", 1, NULL, OPT_CONTEXT_RATE },
	{ "admission", 1, NULL, OPT_ADMISSION },
	{ "admin-group", 1, NULL, OPT_ADMIN },
	{ "limits", 1, NULL, OPT_LIMITS },
	{ "log-level", 1, NULL, OPT_LOG_LEVEL },
	{ "replace", 0, NULL, OPT_REPLACE },
	{ "spin-us", 1, NULL, OPT_SPIN_US },
	{ "no-hugepages", 0, NULL, OPT_NO_HUGE },
	{ "no-seccomp", 0, NULL, OPT_NO_SECCOMP },
	{ "vfio", 1, NULL, OPT_VFIO },
	{ "unsafe-noiommu", 0, NULL, OPT_NOIOMMU },
	{ "bind", 1, NULL, OPT_BIND },
	{ "unbind", 1, NULL, OPT_UNBIND },
	{ "modules", 1, NULL, OPT_MODULES },
	{ "run", 1, NULL, OPT_RUN },
	{ "verbose", 0, NULL, 'v' },
	{ "quiet", 0, NULL, 'q' },
	{ "help", 0, NULL, 'h' },
	{ "version", 0, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"vgpu-agent: owns a vgpu device and serves it to the processes of this machine\n"
	"\n"
	"usage: vgpu-agent --device D [options]\n"
	"       vgpu-agent --bind A | --unbind A\n"
	"\n"
	"  --device D          vfio-user:SOCKET (a vgpu-stub), a PCI address like 0000:00:05.0,\n"
	"                      vendor:device like 1b36:7667, or auto: the first device of our kind;\n"
	"                      up to 8 times\n"
	"  --vfio auto|cdev|group  which of the kernel's interfaces opens PCI functions\n"
	"                      [auto: cdev and iommufd where the kernel has them]\n"
	"  --unsafe-noiommu    use a PCI function that no IOMMU confines, in VFIO's no-IOMMU\n"
	"                      mode: it can reach all memory of this machine\n"
	"  --bind A            gives the PCI function A to the kernel's vfio-pci, says each step, ends\n"
	"  --unbind A          takes it back\n"
	"  --listen A          socket for clients [/run/vgpu/agent.sock as root,\n"
	"                      else $XDG_RUNTIME_DIR/vgpu/agent.sock]\n"
	"  --mode OCTAL        permissions of that socket [0660, as root for the group vgpu]\n"
	"  --also-listen A     another socket, for whoever may search its folder (a container's user):\n"
	"                      up to 16 times\n"
	"  --replace           take the socket over from the agent that listens there, which serves its\n"
	"                      clients to their end; this one needs a device of its own\n"
	"  --pidfile P         locked while it runs [the socket's name with .pid]\n"
	"  --cpu N|auto|none   where the data thread runs [auto: the last core of NUMA node 0,\n"
	"                      none on machines with fewer than 4 CPUs]\n"
	"  --max-clients N     processes at once [128, at most 224]\n"
	"  --uid-clients N, --container-clients N  of one user [96], out of one container [96]\n"
	"  --max-contexts N    of one process [8, at most 8]\n"
	"  --client-memory S   device memory of one process, K M G T [all of the device]\n"
	"  --client-window S   shared and pinned memory of one process [4G, at most 256G]\n"
	"  --uid-memory S, --container-memory S    of one user, of one container [all of the device]\n"
	"  --uid-compute P, --container-compute P  of the device's time, like 25% [100%]\n"
	"  --windows S         of all processes together [half of this machine's memory]\n"
	"  --uid-windows S, --container-windows S  of one user, of one container [7/8 of that]\n"
	"  --quarantine-faults N, --quarantine-refusals N  within a minute hold a user, out of one\n"
	"                      container, off for --quarantine-seconds S [10], each time twice as long [0: never]\n"
	"  --connect-rate N, --context-rate N  a minute, of one user out of one container [0: as they like]\n"
	"  --admission open|closed  closed: only users and cgroups that vgpu ctl admits [open]\n"
	"  --admin-group G     whose members may use vgpu ctl as root does, not in a container [none]\n"
	"  --limits FILE       more of these limits, one \"NAME VALUE\" a line; read again at SIGHUP\n"
	"  --log-level L       error, warning, info or debug [info]\n"
	"  --spin-us N         how long to look for work before sleeping [20]\n"
	"  --no-hugepages      do not use hugetlb pages\n"
	"  --no-seccomp        do not restrict system calls after start (for debuggers)\n"
	"  --modules DIR       load DIR/*.ko in the order of their names first\n"
	"  --run PROGRAM       start it when ready, end when it ends (PID 1: then power off)\n"
	"  -v, --verbose       more log lines      -q, --quiet  warnings and errors only\n"
	"  -h, --help          this text           --version\n"
	"\n"
	"It prints a line \"ready: ...\" when clients may come, and ends cleanly on SIGTERM and SIGINT.\n";

/* What was asked for stands there: the end, without a fault. */
static int said(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 1;
	fprintf(stderr, "vgpu-agent: standard output: %s\n", strerror(errno));
	exit(1);
}

void options_default(struct options *o)
{
	const char *run = getenv("XDG_RUNTIME_DIR");

	memset(o, 0, sizeof(*o));
	if (geteuid() == 0)
		snprintf(o->listen, sizeof(o->listen), "%s", VGPU_AGENT_SOCKET_SYSTEM);
	else if (run && *run && strlen(run) + 1 + strlen(VGPU_AGENT_SOCKET_USER) < sizeof(o->listen))
		snprintf(o->listen, sizeof(o->listen), "%s/%s", run, VGPU_AGENT_SOCKET_USER);
	o->mode = MODE_DEFAULT;
	o->cpu = CPU_AUTO;
	o->max_contexts = VGPU_MAX_CONTEXTS;
	o->max_clients = 128;
	o->uid_clients = o->container_clients = 96;
	o->log_level = LOG_INFO;
	o->quarantine_seconds = 10;
	o->admin_gid = -1;
	o->client_window = 4 * VGPU_GIB;
	o->spin_us = 20;
	o->huge = 1;
	o->sandbox = 1;
}

static char complaint[300];

static int bad(const char *name, const char *value, const char *expected)
{
	snprintf(complaint, sizeof(complaint), "%s %s: %s", name, value, expected);
	return -1;
}

static int number(const char *s, unsigned long min, unsigned long max, unsigned *out)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(s, &end, 10);
	if (*s < '0' || *s > '9' || *end || errno || v < min || v > max)
		return -1;
	*out = (unsigned)v;
	return 0;
}

/* "25%" in thousandths; all of it is no limit. */
static int percent(const char *s, uint32_t *permille)
{
	char text[8];
	unsigned v;

	if (strlen(s) < 2 || strlen(s) > 4 || s[strlen(s) - 1] != '%')
		return -1;
	memcpy(text, s, strlen(s) + 1);
	text[strlen(s) - 1] = 0;
	if (number(text, 1, 100, &v))
		return -1;
	*permille = v == 100 ? 0 : v * 10;
	return 0;
}

/* 512M, 4G: bytes with K, M, G or T. */
static int size(const char *s, uint64_t max, uint64_t *out)
{
	char *end;
	unsigned shift = 0;
	uint64_t v;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (*s < '0' || *s > '9' || errno)
		return -1;
	switch (*end) {
	case 'T': case 't': shift = 40; end++; break;
	case 'G': case 'g': shift = 30; end++; break;
	case 'M': case 'm': shift = 20; end++; break;
	case 'K': case 'k': shift = 10; end++; break;
	}
	if (*end || v > max >> shift || !v)
		return -1;
	*out = v << shift;
	return 0;
}

/* A group's number or name; its number, -1: there is none that can be told from others. */
static long group(const char *s)
{
	const struct group *g = getgrnam(s);
	unsigned n;

	if (g)
		n = g->gr_gid;
	else if (number(s, 0, UINT32_MAX - 1, &n))
		return -1;
	/* whom this machine has no number for, out of any container: the kernel's overflowgid */
	return n == 65534 ? -1 : (long)n;
}

static const char *const levels[] = { "error", "warning", "info", "debug" };

static int option(struct options *o, int opt, const char *name, const char *arg)
{
	unsigned n;
	char *end;

	switch (opt) {
	case OPT_DEVICE:
		if (o->devices == VGPU_MAX_DEVICES)
			return bad(name, arg, "at most 8 devices");
		o->device[o->devices++] = arg;
		return 0;
	case OPT_LISTEN:
		if (!*arg || strlen(arg) >= sizeof(o->listen))
			return bad(name, arg, "a path of 1 to 107 characters is needed");
		strcpy(o->listen, arg);
		return 0;
	case OPT_ALSO:
		if (o->alsos == AGENT_ALSO)
			return bad(name, arg, "at most 16 more sockets");
		if (!*arg || strlen(arg) >= sizeof(o->listen))
			return bad(name, arg, "a path of 1 to 107 characters is needed");
		o->also[o->alsos++] = arg;
		return 0;
	case OPT_PIDFILE:
		if (!*arg || strlen(arg) >= sizeof(o->pidfile))
			return bad(name, arg, "a path of 1 to 255 characters is needed");
		strcpy(o->pidfile, arg);
		return 0;
	case OPT_MODE:
		o->mode = (unsigned)strtoul(arg, &end, 8);
		return *end || !*arg || o->mode > 0777 ? bad(name, arg, "octal permissions are needed, like 0660") : 0;
	case OPT_CPU:
		if (!strcmp(arg, "auto"))
			o->cpu = CPU_AUTO;
		else if (!strcmp(arg, "none"))
			o->cpu = CPU_NONE;
		else if (number(arg, 0, 1023, &n) == 0)
			o->cpu = (int)n;
		else
			return bad(name, arg, "a CPU number, auto or none is needed");
		return 0;
	case OPT_MAX_CONTEXTS:
		return number(arg, 1, VGPU_MAX_CONTEXTS, &o->max_contexts) ? bad(name, arg, "1 to 8") : 0;
	case OPT_MAX_CLIENTS:
		return number(arg, 1, AGENT_CLIENTS - 32, &o->max_clients) ? bad(name, arg, "1 to 224") : 0;
	case OPT_UID_CLIENTS:
		return number(arg, 1, AGENT_CLIENTS, &o->uid_clients) ? bad(name, arg, "1 to 256") : 0;
	case OPT_CLIENT_MEMORY:
		return size(arg, VGPU_TIB, &o->client_memory) ? bad(name, arg, "a size up to 1T is needed, like 8G") : 0;
	case OPT_BOX_CLIENTS:
		return number(arg, 1, AGENT_CLIENTS, &o->container_clients) ? bad(name, arg, "1 to 256") : 0;
	case OPT_UID_MEMORY:
		return size(arg, VGPU_TIB, &o->uid_memory) ? bad(name, arg, "a size up to 1T is needed, like 8G") : 0;
	case OPT_BOX_MEMORY:
		return size(arg, VGPU_TIB, &o->container_memory) ? bad(name, arg, "a size up to 1T is needed, like 8G") : 0;
	case OPT_UID_COMPUTE:
		return percent(arg, &o->uid_compute) ? bad(name, arg, "a share of the device's time up to 100%, like 25%") : 0;
	case OPT_BOX_COMPUTE:
		return percent(arg, &o->container_compute) ? bad(name, arg, "a share of the device's time up to 100%, like 25%") : 0;
	case OPT_UID_WINDOWS:
		return size(arg, 64 * VGPU_TIB, &o->uid_windows) ? bad(name, arg, "a size is needed, like 16G") : 0;
	case OPT_BOX_WINDOWS:
		return size(arg, 64 * VGPU_TIB, &o->container_windows) ? bad(name, arg, "a size is needed, like 16G") : 0;
	case OPT_Q_FAULTS:
		return number(arg, 0, 1000, &o->quarantine_faults) ? bad(name, arg, "0 to 1000 within a minute") : 0;
	case OPT_Q_REFUSALS:
		return number(arg, 0, 1000, &o->quarantine_refusals) ? bad(name, arg, "0 to 1000 within a minute") : 0;
	case OPT_Q_SECONDS:
		return number(arg, 1, 3600, &o->quarantine_seconds) ? bad(name, arg, "1 to 3600 seconds") : 0;
	case OPT_CONNECT_RATE:
		return number(arg, 0, 100000, &o->connect_rate) ? bad(name, arg, "0 to 100000 a minute") : 0;
	case OPT_CONTEXT_RATE:
		return number(arg, 0, 100000, &o->context_rate) ? bad(name, arg, "0 to 100000 a minute") : 0;
	case OPT_ADMISSION:
		o->admission = !strcmp(arg, "closed");
		return o->admission || !strcmp(arg, "open") ? 0 : bad(name, arg, "open or closed is needed");
	case OPT_ADMIN:
		o->admin_gid = group(arg);
		return o->admin_gid < 0 ? bad(name, arg, "a group of this machine is needed, by name or number, and not nogroup") : 0;
	case OPT_LIMITS:
		o->limits = arg;
		return 0;
	case OPT_LOG_LEVEL:
		for (n = 0; n < sizeof(levels) / sizeof(levels[0]); n++)
			if (!strcmp(arg, levels[n])) {
				o->log_level = (enum log_level)n;
				return 0;
			}
		return bad(name, arg, "error, warning, info or debug is needed");
	case OPT_CLIENT_WINDOW:
		if (size(arg, 256 * VGPU_GIB, &o->client_window) || o->client_window < VGPU_SEG0_BYTES)
			return bad(name, arg, "a size from 4M to 256G is needed");
		return 0;
	case OPT_WINDOWS:
		return size(arg, 64 * VGPU_TIB, &o->windows) ? bad(name, arg, "a size is needed, like 16G") : 0;
	case OPT_SPIN_US:
		return number(arg, 0, 10000, &o->spin_us) ? bad(name, arg, "0 to 10000 microseconds") : 0;
	case OPT_NO_HUGE:
		o->huge = 0;
		return 0;
	case OPT_NO_SECCOMP:
		o->sandbox = 0;
		return 0;
	case OPT_VFIO:
		if (!strcmp(arg, "auto"))
			o->vfio = VFIO_WAY_AUTO;
		else if (!strcmp(arg, "cdev"))
			o->vfio = VFIO_WAY_CDEV;
		else if (!strcmp(arg, "group"))
			o->vfio = VFIO_WAY_GROUP;
		else
			return bad(name, arg, "auto, cdev or group is needed");
		return 0;
	case OPT_REPLACE:
		o->replace = 1;
		return 0;
	case OPT_NOIOMMU:
		o->unsafe_noiommu = 1;
		return 0;
	case OPT_BIND:
		o->bind = arg;
		return 0;
	case OPT_UNBIND:
		o->unbind = arg;
		return 0;
	case OPT_MODULES:
		o->modules = arg;
		return 0;
	case OPT_RUN:
		o->run = arg;
		return 0;
	case 'v':
		o->log_level = LOG_DEBUG;
		return 0;
	case 'q':
		o->log_level = LOG_WARN;
		return 0;
	case 'h':
		fputs(help, stdout);
		return said();
	case OPT_VERSION:
		puts("vgpu-agent " VGPU_VERSION " (" VGPU_PROTOCOLS ")");
		return said();
	}
	return bad("an option", "that is not known", "see vgpu-agent --help");
}

/* What may change while clients are served. The rest says how memory is laid out, or is done once. */
static int may_change(int opt)
{
	switch (opt) {
	case OPT_MAX_CONTEXTS: case OPT_MAX_CLIENTS: case OPT_UID_CLIENTS: case OPT_BOX_CLIENTS:
	case OPT_CLIENT_MEMORY: case OPT_UID_MEMORY: case OPT_BOX_MEMORY: case OPT_UID_COMPUTE: case OPT_BOX_COMPUTE:
	case OPT_WINDOWS: case OPT_UID_WINDOWS: case OPT_BOX_WINDOWS: case OPT_LOG_LEVEL:
	case OPT_Q_FAULTS: case OPT_Q_REFUSALS: case OPT_Q_SECONDS: case OPT_CONNECT_RATE: case OPT_CONTEXT_RATE:
		return 1;
	}
	return 0;
}

static int one_limit(struct options *o, char *line)
{
	char *name = line + strspn(line, " \t"), *value, *end;
	const struct option *t = table;

	if (!*name || *name == '#')
		return 0;
	value = name + strcspn(name, " \t=");
	if (*value)
		*value++ = 0;
	value += strspn(value, " \t=");
	end = value + strcspn(value, " \t#");
	if (end[strspn(end, " \t")] && end[strspn(end, " \t")] != '#')
		return bad(name, value, "one value is needed");
	*end = 0;
	while (t->name && strcmp(t->name, name))
		t++;
	if (!t->name || !may_change(t->val))
		return bad(name, value, "that is no limit; max-contexts, max-clients, uid-, container-, client- and quarantine- ones, rates, windows and log-level are");
	return option(o, t->val, name, value);
}

int options_limits(struct options *o, char *why, size_t n)
{
	char text[4097], *line = text, *next;
	struct options with = *o;
	int fd = o->limits ? (int)syscall(SYS_openat, AT_FDCWD, o->limits, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));

	why[0] = 0;
	if (!o->limits)
		return 0;
	if (got < 0 || got == sizeof(text))
		snprintf(why, n, "--limits %s: %s", o->limits, got < 0 ? strerror(errno) : "longer than 4096 bytes");
	if (fd >= 0)
		close(fd);
	if (why[0])
		return -1;
	text[got] = 0;
	for (unsigned number = 1; line; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (one_limit(&with, line) < 0) {
			snprintf(why, n, "--limits %s, line %u: %s", o->limits, number, complaint);
			return -1;
		}
	}
	*o = with;
	return 0;
}

static unsigned share_of(uint32_t permille) { return permille ? permille / 10 : 100; }

void options_say(const struct options *o, char *text, size_t n)
{
	const uint64_t mib[] = { o->client_memory >> 20, o->uid_memory >> 20, o->container_memory >> 20, o->windows >> 20,
				 o->uid_windows >> 20, o->container_windows >> 20 };

	snprintf(text, n, "max-contexts %u, max-clients %u, uid-clients %u, container-clients %u, MiB (0: all there is, or 7/8): "
		 "client-memory %llu, uid-memory %llu, container-memory %llu, windows %llu, uid-windows %llu, "
		 "container-windows %llu; uid-compute %u%%, container-compute %u%%; quarantine-faults %u, -refusals %u, -seconds %u, connect-rate %u, context-rate %u; log-level %s", o->max_contexts, o->max_clients, o->uid_clients, o->container_clients,
		 (unsigned long long)mib[0], (unsigned long long)mib[1], (unsigned long long)mib[2], (unsigned long long)mib[3],
		 (unsigned long long)mib[4], (unsigned long long)mib[5], share_of(o->uid_compute), share_of(o->container_compute), o->quarantine_faults, o->quarantine_refusals, o->quarantine_seconds,
		 o->connect_rate, o->context_rate, levels[o->log_level]);
}

/* The pid file stands beside the socket: A.sock and A.pid. One agent per socket, then. */
static void default_pidfile(struct options *o)
{
	size_t n = strlen(o->listen);

	if (n > 5 && !strcmp(o->listen + n - 5, ".sock"))
		n -= 5;
	snprintf(o->pidfile, sizeof(o->pidfile), "%.*s.pid", (int)n, o->listen);
}

int options_parse(struct options *o, int argc, char **argv)
{
	int opt, index = 0;

	options_default(o);
	optind = 1;
	while ((opt = getopt_long(argc, argv, "hvq", table, &index)) != -1) {
		int rc = option(o, opt, opt >= OPT_DEVICE ? table[index].name : "", optarg ? optarg : "");

		if (rc < 0)
			fprintf(stderr, "vgpu-agent: %s%s\n", opt >= OPT_DEVICE ? "--" : "", complaint);
		if (rc)
			return rc;
	}
	if (optind < argc) {
		fprintf(stderr, "vgpu-agent: %s: no such option; see vgpu-agent --help\n", argv[optind]);
		return -1;
	}
	if (o->bind || o->unbind)
		return 0;
	if (!o->devices && machine_first())
		o->device[o->devices++] = "auto";
	if (!o->devices) {
		fprintf(stderr, "vgpu-agent: no device; use --device vfio-user:SOCKET or a PCI address (see vgpu-agent --help)\n");
		return -1;
	}
	if (!o->listen[0]) {
		fprintf(stderr, "vgpu-agent: neither root nor XDG_RUNTIME_DIR: where to listen? use --listen SOCKET\n");
		return -1;
	}
	if (!o->pidfile[0])
		default_pidfile(o);
	return 0;
}
