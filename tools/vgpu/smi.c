/* SPDX-License-Identifier: MIT */
/*
 * vgpu smi: what the agent says of devices, memory and clients; the command line, the table and JSON. What nvidia-smi has beside
 * that: smi_query.c (CSV), smi_log.c (-q, -x), smi_watch.c (dmon, pmon, topo). By the name nvidia-smi it is this command too.
 */
#include "smi.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB(x) ((uint64_t)(x) >> 20)

static const char *const walls[] = {
#define X(name, word) word,
	VGPU_WALLS(X)
#undef X
};

static void print_json(const char *path, const struct agent_status *s)
{
	struct json j = { .out = stdout };
	char uuid[SMI_UUID], cuda[SMI_CUDA], name[512];

	json_open(&j, NULL, '{');
	json_str(&j, "vgpu_version", VGPU_VERSION);
	json_str(&j, "driver_version", VGPU_NVIDIA_DRIVER);
	json_str(&j, "cuda_version", smi_cuda(cuda, s));
	json_open(&j, "agent", '{');
	json_str(&j, "socket", path);
	json_u64(&j, "pid", s->status.agent_pid);
	json_str(&j, "version", s->status.agent_version);
	json_str(&j, "transport", s->status.transport);
	json_f(&j, "uptime_s", (double)s->status.agent_uptime_ns / 1e9);
	json_u64(&j, "sleeps", s->status.sleeps);
	json_u64(&j, "wakeups_sent", s->status.wakeups_sent);
	if (s->status.agent_cpu != ~0u)
		json_u64(&j, "cpu", s->status.agent_cpu);
	json_close(&j, '}');
	json_open(&j, "devices", '[');
	for (unsigned i = 0; i < s->devices; i++) {
		const struct vgpu_device_info *d = &s->device[i];

		smi_uuid(uuid, d->uuid);
		json_open(&j, NULL, '{');
		json_u64(&j, "index", i);
		json_str(&j, "name", d->name);
		json_str(&j, "uuid", uuid);
		json_str(&j, "bus_id", d->bus_id);
		json_str(&j, "engine", d->engine);
		char cc[16];
		snprintf(cc, sizeof(cc), "%u.%u", d->cc_major, d->cc_minor);
		json_str(&j, "compute_capability", cc);
		json_u64(&j, "sm_count", d->sm_count);
		json_u64(&j, "cores", d->cores);
		json_u64(&j, "memory_total_bytes", d->memory_bytes);
		json_u64(&j, "memory_used_bytes", s->load.device[i].memory_used);
		json_str(&j, "state", s->load.device[i].state ? "ready" : "lost");
		json_f(&j, "utilization", s->load.device[i].permille / 1000.0);
		json_u64(&j, "contexts", s->load.device[i].contexts);
		json_u64(&j, "faults", s->load.device[i].faults);
		json_u64(&j, "losses", s->load.device[i].losses);
		json_open(&j, "walls", '[');
		for (unsigned w = 0; w < VGPU_WALL_COUNT; w++)
			if (d->walls >> w & 1)
				json_str(&j, NULL, walls[w]);
		json_close(&j, ']');
		json_open(&j, "walls_missing", '[');
		for (unsigned w = 0; d->walls && w < VGPU_WALL_COUNT; w++)
			if (!(d->walls >> w & 1))
				json_str(&j, NULL, walls[w]);
		json_close(&j, ']');
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_open(&j, "clients", '[');
	for (unsigned i = 0; i < s->clients; i++) {
		const struct vgpu_msg_client *c = &s->client[i];

		json_open(&j, NULL, '{');
		json_u64(&j, "id", c->client_id);
		json_u64(&j, "pid", c->pid);
		json_u64(&j, "uid", c->uid);
		json_str(&j, "command", c->command);
		json_str(&j, "process_name", smi_process(c->pid, c->command, name, sizeof(name)));
		json_u64(&j, "contexts", c->contexts);
		json_u64(&j, "memory_used_bytes", c->memory_bytes);
		json_u64(&j, "window_bytes", c->window_bytes);
		json_u64(&j, "commands", c->commands);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
}

static void rule(const char *s)
{
	printf("+%s+\n", s);
}

#define LINE "------------------------------------------------------------------------------"

/* Around each context; the reasons of those that are missing are in the device's log. */
static void print_walls(uint32_t have)
{
	char text[80];
	size_t n = (size_t)snprintf(text, sizeof(text), "walls");

	for (unsigned w = 0; w < VGPU_WALL_COUNT; w++)
		if (have >> w & 1)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", walls[w]);
	if (have)
		printf("|    %-73s |\n", text);
	n = (size_t)snprintf(text, sizeof(text), "no wall");
	for (unsigned w = 0; w < VGPU_WALL_COUNT; w++)
		if (!(have >> w & 1))
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %s", walls[w]);
	if (have && have != VGPU_WALLS_ALL)
		printf("|    %-73s |\n", text);
}

static int by_memory(const void *a, const void *b)
{
	const struct vgpu_msg_client *x = a, *y = b;

	return x->memory_bytes != y->memory_bytes ? (x->memory_bytes < y->memory_bytes ? 1 : -1) : x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* The largest first. On a wide terminal ($COLUMNS) the whole command line; the frame is cut open for it. */
static void print_clients(const struct agent_status *s)
{
	const char *columns = getenv("COLUMNS");
	int width = columns && atoi(columns) > 80 && atoi(columns) < 2000 ? atoi(columns) - 54 : 26;
	char name[2048];

	printf("| %-8s %-8s %-26s %4s %12s %13s |\n", "PID", "UID", "Command", "Ctx", "Memory MiB", "Window MiB");
	if (!s->clients)
		printf("| %-76s |\n", "no clients");
	qsort(s->client, s->clients, sizeof(*s->client), by_memory);
	for (unsigned i = 0; i < s->clients; i++) {
		const struct vgpu_msg_client *c = &s->client[i];

		smi_command_line(c->pid, c->command, name, sizeof(name));
		printf("| %-8u %-8u %-*.*s %4u %12" PRIu64 " %13" PRIu64 " |\n", c->pid, c->uid, width, width, name,
		       c->contexts, MIB(c->memory_bytes), MIB(c->window_bytes));
	}
}

const char *smi_cuda(char out[SMI_CUDA], const struct agent_status *s)
{
	uint32_t v = s ? vgpu_cuda_version(s->device, s->devices) : VGPU_CUDA_VERSION;

	snprintf(out, SMI_CUDA, "%u.%u", v / 1000, v % 1000 / 10);
	return out;
}

/* Without an agent: what this release answers. */
static int print_versions(void)
{
	char path[128], cuda[SMI_CUDA];
	struct agent_status s;
	int known = agent_find(path, sizeof(path)) && !agent_status(path, &s);

	printf("NVIDIA-SMI version  : vgpu " VGPU_VERSION "\nNVML version        : 590.44\nDRIVER version      : " VGPU_NVIDIA_DRIVER
	       "\nCUDA Version        : %s\n", smi_cuda(cuda, known ? &s : NULL));
	if (known)
		agent_status_free(&s);
	return 0;
}

static void print_table(const char *path, const struct agent_status *s)
{
	char uuid[SMI_UUID], cuda[SMI_CUDA], left[80], right[64];

	rule(LINE);
	snprintf(left, sizeof(left), "VGPU-SMI %s", VGPU_VERSION);
	snprintf(right, sizeof(right), "vgpu-agent %.16s  pid %u", s->status.agent_version, s->status.agent_pid);
	printf("| %-38s %37s |\n", left, right);
	printf("| socket %-46.46s %22.22s |\n", path, s->status.transport);
	snprintf(left, sizeof(left), "Driver Version: " VGPU_NVIDIA_DRIVER "    CUDA Version: %s", smi_cuda(cuda, s));
	printf("| %-76s |\n", left);
	rule(LINE);
	for (unsigned i = 0; i < s->devices; i++) {
		const struct vgpu_device_info *d = &s->device[i];

		smi_uuid(uuid, d->uuid);
		snprintf(left, sizeof(left), "%u  %.44s", i, d->name);
		snprintf(right, sizeof(right), "%s  CC %u.%u", d->bus_id, d->cc_major, d->cc_minor);
		printf("| %-50s %25s |\n", left, right);
		if (s->load.device[i].state)
			snprintf(right, sizeof(right), "%" PRIu64 " / %" PRIu64 " MiB", MIB(s->load.device[i].memory_used), MIB(d->memory_bytes));
		else
			snprintf(right, sizeof(right), "LOST");
		printf("|    %-50s %22s |\n", uuid, right);
		snprintf(left, sizeof(left), "engine %.48s", d->engine);
		snprintf(right, sizeof(right), "%u SMs on %u cores  %3u%%", d->sm_count, d->cores, smi_percent(s->load.device[i].permille));
		printf("|    %-47s %25s |\n", left, right);
		print_walls(d->walls);
		rule(LINE);
	}
	print_clients(s);
	for (unsigned i = 0; i < s->gates; i++)
		if (s->gate[i].state == VGPU_GATE_HELD) {
			snprintf(left, sizeof(left), "user %u, container %.24s: held off, %u s more", s->gate[i].uid, s->gate[i].cgroup[0] ? s->gate[i].cgroup : "none",
				 s->gate[i].seconds);
			printf("| %-76s |\n", left);
		}
	if (s->closed)
		printf("| %-76s |\n", "admission is closed (vgpu ctl list)");
	rule(LINE);
}

static const char usage_text[] =
	"usage: vgpu smi [-j] [options]            as nvidia-smi, where that has the same\n"
	"  -j                     one JSON object\n"
	"  -L, --list-gpus        a line for each device\n"
	"  -q [-x] [-d SECTIONS]  all that is known of each (-x: XML); MEMORY, UTILIZATION, TEMPERATURE, POWER, CLOCK, COMPUTE,\n"
	"                         ECC, PIDS, PERFORMANCE\n"
	"  --query-gpu=FIELDS     values of each device; --query-compute-apps=FIELDS: of each process;\n"
	"                         with --format=csv[,noheader][,nounits]; --help-query-gpu, --help-query-compute-apps: the fields\n"
	"  -i, --id=ID            that device alone: index, UUID or bus id; commas between\n"
	"  -l, --loop=SECONDS     again and again; -lms, --loop-ms=MILLISECONDS\n"
	"  -f, --filename=FILE    into a file\n"
	"  dmon [-c COUNT] [-d SECONDS] [-i ID] [-s pucvmet] [-o DT] [-f FILE]   a line for each device every second\n"
	"  pmon [-c COUNT] [-d SECONDS] [-i ID] [-s um] [-o DT] [-f FILE]        and for each process\n"
	"  topo -m                how devices and processors lie to each other\n"
	"  -pm 1, -c 0, -mig 0, -am 0   are so already; nvidia-smi's other settings are refused by name (exit status 3)\n"
	"A value that the device does not have is [N/A]; of a lost device, [GPU is lost].\n";

/* 0; 1 after saying why not. */
int smi_ask(struct smi *o)
{
	struct agent_reach reach;
	int err;

	if (agent_search(o->path, sizeof(o->path), &reach) != VGPU_REACH_OK) {
		complain("%s; %s", reach.why, reach.fix);
		return 9;               /* nvidia-smi's: the driver is not loaded */
	}
	err = agent_status(o->path, &o->s);
	if (!err)
		return 0;
	complain("the agent at %s does not answer as expected: %s", o->path, strerror(-err));
	return 9;
}

/* One answer. */
static int once(struct smi *o)
{
	int st = smi_ask(o);

	if (st)
		return st;
	st = smi_choose(o);
	if (st) {
	} else if (o->what == SMI_JSON) {
		print_json(o->path, &o->s);
	} else if (o->what == SMI_TABLE) {
		print_table(o->path, &o->s);
	} else if (o->what == SMI_LIST) {
		smi_list(o);
	} else if (o->what == SMI_LOG) {
		smi_log(o);
	} else if (o->what == SMI_SET) {
		st = smi_set(o);
	} else {
		st = smi_csv(o);
	}
	agent_status_free(&o->s);
	fflush(stdout);
	return st;
}

/* "--name=value", "--name value" and "-n value"; NULL: it is another. */
static const char *value(int argc, char **argv, int *i, const char *shorter, const char *longer)
{
	size_t n = longer ? strlen(longer) : 0;

	if (longer && !strncmp(argv[*i], longer, n) && argv[*i][n] == '=')
		return argv[*i] + n + 1;
	if (((shorter && !strcmp(argv[*i], shorter)) || (longer && !strcmp(argv[*i], longer))) && *i + 1 < argc)
		return argv[++*i];
	return NULL;
}

static int bad(const char *option)
{
	complain("smi: %s: no such option, or not a value for it; vgpu smi --help", option);
	return 2;
}

/* Seconds or milliseconds above 0, into ms. */
static int period(const char *text, double unit, unsigned *ms)
{
	char *end;
	double v = strtod(text, &end);

	if (*end || !(v * unit >= 1) || v * unit > 1e9)
		return -1;
	*ms = (unsigned)(v * unit);
	return 0;
}

static int parse(int argc, char **argv, struct smi *o)
{
	const char *v;
	int r;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-j"))
			o->what = SMI_JSON;
		else if (!strcmp(argv[i], "-L") || !strcmp(argv[i], "--list-gpus"))
			o->what = SMI_LIST;
		else if (!strcmp(argv[i], "-q") || !strcmp(argv[i], "--query"))
			o->what = SMI_LOG;
		else if (!strcmp(argv[i], "-x") || !strcmp(argv[i], "--xml-format"))
			o->xml = 1;
		else if (!strcmp(argv[i], "--dtd") || !strcmp(argv[i], "-u"))
			continue;
		else if ((v = value(argc, argv, &i, "-d", "--display")))
			o->sections = v;
		else if ((v = value(argc, argv, &i, "-i", "--id")))
			o->ids = v;
		else if ((v = value(argc, argv, &i, "-f", "--filename")))
			o->file = v;
		else if ((v = value(argc, argv, &i, NULL, "--query-gpu")))
			o->what = SMI_GPUS, o->fields = v;
		else if ((v = value(argc, argv, &i, NULL, "--query-compute-apps")))
			o->what = SMI_APPS, o->fields = v;
		else if ((v = value(argc, argv, &i, NULL, "--format")))
			o->format = v;
		else if ((v = value(argc, argv, &i, "-lms", "--loop-ms")) && period(v, 1, &o->loop_ms) == 0)
			continue;
		else if (!strcmp(argv[i], "-l") && (i + 1 == argc || argv[i + 1][0] == '-'))
			o->loop_ms = 5000;
		else if ((v = value(argc, argv, &i, "-l", "--loop")) && period(v, 1000, &o->loop_ms) == 0)
			continue;
		else if ((r = smi_option_of(o, argc, argv, &i)) < 0)
			return bad(argv[i < argc ? i : argc - 1]);
		else if (!r && strcmp(argv[i], "-eow") && strcmp(argv[i], "--error-on-warning"))
			return bad(argv[i]);
	}
	if (o->sections && (v = smi_no_section(o->sections)) != NULL)
		return bad(v);
	if (o->xml && o->what != SMI_LOG)
		return bad("-x without -q");
	return 0;
}

int cmd_smi(int argc, char **argv)
{
	struct smi o = { .what = SMI_TABLE };
	int st;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return fputs(usage_text, stdout) < 0;
		if (!strcmp(argv[i], "--version"))
			return print_versions();
		if (!strcmp(argv[i], "--help-query-gpu") || !strcmp(argv[i], "--help-query-compute-apps"))
			return smi_help_query(!strcmp(argv[i], "--help-query-gpu"));
	}
	if (argc > 1 && (!strcmp(argv[1], "dmon") || !strcmp(argv[1], "pmon")))
		return smi_watch(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "topo"))
		return smi_topo(argc - 1, argv + 1);
	if (argc > 1 && (!strcmp(argv[1], "-B") || !strcmp(argv[1], "--list-excluded-gpus")))
		return puts("No excluded devices found.") < 0;
	if (argc > 1 && (st = smi_other(argv[1])) >= 0)
		return st;
	st = parse(argc, argv, &o);
	if (st)
		return st;
	if (o.file && !freopen(o.file, "w", stdout)) {
		complain("smi: cannot write %s: %s", o.file, strerror(errno));
		return 1;
	}
	for (;;) {
		st = once(&o);
		o.again = 1;
		if (st || !o.loop_ms || ferror(stdout))
			return st;
		nanosleep(&(struct timespec){ o.loop_ms / 1000, (long)(o.loop_ms % 1000) * 1000000 }, NULL);
	}
}
