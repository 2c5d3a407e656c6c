/* SPDX-License-Identifier: MIT */
/* vgpu smi -L, --query-gpu, --query-compute-apps: fields by nvidia-smi's names, as CSV. And what all of smi says of a process. */
#include "smi.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define MIB(x) ((uint64_t)(x) >> 20)

void smi_uuid(char out[SMI_UUID], const uint8_t u[16])
{
	char *p = out + sprintf(out, "GPU-");

	for (int i = 0; i < 16; i++)
		p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

void smi_bus_id(char out[32], const char *id)
{
	unsigned a, b, c, d;

	if (sscanf(id, "%x:%x:%x.%x", &a, &b, &c, &d) != 4)
		a = b = c = d = 0;
	snprintf(out, 32, "%08X:%02X:%02X.%X", a, b & 0xff, c & 0xff, d & 7);
}

void smi_now(char *out, size_t n, const char *form)
{
	struct timespec t;
	struct tm tm;
	size_t k;

	clock_gettime(CLOCK_REALTIME, &t);
	localtime_r(&t.tv_sec, &tm);
	k = strftime(out, n, form, &tm);
	if (strchr(form, '/'))
		snprintf(out + k, n - k, ".%03ld", t.tv_nsec / 1000000);
}

/* ---- processes ---- */

static size_t read_words(unsigned pid, char *out, size_t n)
{
	char path[40];
	size_t got = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	f = fopen(path, "re");
	if (f) {
		got = fread(out, 1, n - 1, f);
		fclose(f);
	}
	out[got] = 0;
	return got;
}

const char *smi_process(unsigned pid, const char *comm, char *out, size_t n)
{
	if (!read_words(pid, out, n) || !out[0])
		snprintf(out, n, "%s", comm);
	printable(out);
	return out;
}

const char *smi_command_line(unsigned pid, const char *comm, char *out, size_t n)
{
	size_t got = read_words(pid, out, n);

	while (got && !out[got - 1])
		got--;
	for (size_t i = 0; i < got; i++)
		if (!out[i])
			out[i] = ' ';
	if (!got)
		snprintf(out, n, "%s", comm);
	printable(out);
	return out;
}

static int by_device(const void *a, const void *b)
{
	const struct smi_process *x = a, *y = b;

	return x->device != y->device ? (x->device < y->device ? -1 : 1) : x->pid < y->pid ? -1 : x->pid > y->pid;
}

struct smi_process *smi_processes(const struct smi *o, unsigned *n)
{
	struct smi_process *p = calloc(o->s.contexts + 1, sizeof(*p));
	unsigned k;

	if (!p)
		abort();
	*n = 0;
	for (unsigned i = 0; i < o->s.contexts; i++) {
		const struct vgpu_msg_context *c = &o->s.context[i];

		if (c->device >= VGPU_MAX_DEVICES || !o->chosen[c->device])
			continue;
		for (k = 0; k < *n && !(p[k].pid == c->pid && p[k].device == c->device); k++)
			;
		if (k == *n)
			p[(*n)++] = (struct smi_process){ .pid = c->pid, .device = c->device, .comm = c->command };
		p[k].memory += c->memory_bytes;
		p[k].permille = p[k].permille + c->permille > 1000 ? 1000 : p[k].permille + c->permille;
	}
	qsort(p, *n, sizeof(*p), by_device);
	return p;
}

/* ---- which devices ---- */

static int is_device(const struct smi *o, unsigned i, const char *id, size_t n)
{
	char uuid[SMI_UUID], bus[32];
	char *end;
	unsigned long v = strtoul(id, &end, 10);

	if (n && end == id + n)
		return v == i;
	smi_uuid(uuid, o->s.device[i].uuid);
	smi_bus_id(bus, o->s.device[i].bus_id);
	return n && ((strlen(uuid) == n && !strncasecmp(id, uuid, n)) || (strlen(bus) == n && !strncasecmp(id, bus, n)) ||
		     (strlen(bus + 4) == n && !strncasecmp(id, bus + 4, n)));
}

int smi_choose(struct smi *o)
{
	const char *p = o->ids;

	memset(o->chosen, !p, sizeof(o->chosen));
	while (p && *p) {
		size_t n = strcspn(p, ",");
		int found = 0;

		for (unsigned i = 0; i < o->s.devices; i++)
			if (is_device(o, i, p, n))
				found = o->chosen[i] = 1;
		if (!found) {
			complain("smi: no device was found: %.*s", (int)n, p);
			return 6;
		}
		p += n;
		p += *p == ',';
	}
	return 0;
}

void smi_list(const struct smi *o)
{
	char uuid[SMI_UUID];

	for (unsigned i = 0; i < o->s.devices; i++) {
		if (!o->chosen[i])
			continue;
		smi_uuid(uuid, o->s.device[i].uuid);
		printf("GPU %u: %s (UUID: %s)%s\n", i, o->s.device[i].name, uuid, o->s.load.device[i].state ? "" : " [GPU is lost]");
	}
}

/* ---- fields ---- */

enum field { F_NA, F_TIME, F_DRIVER, F_COUNT, F_NAME, F_UUID, F_BUS_ID, F_DOMAIN, F_BUS, F_DEVICE, F_DEVICE_ID, F_SUB_ID, F_INDEX, F_DISABLED, F_ENABLED,
	     F_COMPUTE_MODE, F_CC, F_TOTAL, F_RESERVED, F_USED, F_FREE, F_GPU, F_MEMORY, F_PID, F_PROCESS, F_APP_MEMORY };

static const struct {
	const char *name, *other, *unit;
	enum field field;
} gpu_fields[] = {
	{ "timestamp", NULL, NULL, F_TIME }, { "driver_version", NULL, NULL, F_DRIVER }, { "count", "gpu_count", NULL, F_COUNT },
	{ "name", "gpu_name", NULL, F_NAME }, { "serial", "gpu_serial", NULL, F_NA }, { "uuid", "gpu_uuid", NULL, F_UUID },
	{ "pci.bus_id", "gpu_bus_id", NULL, F_BUS_ID }, { "pci.domain", NULL, NULL, F_DOMAIN }, { "pci.bus", NULL, NULL, F_BUS },
	{ "pci.device", NULL, NULL, F_DEVICE }, { "pci.device_id", NULL, NULL, F_DEVICE_ID }, { "pci.sub_device_id", NULL, NULL, F_SUB_ID },
	{ "index", NULL, NULL, F_INDEX }, { "display_mode", "display_attached", NULL, F_DISABLED }, { "display_active", NULL, NULL, F_DISABLED },
	{ "persistence_mode", NULL, NULL, F_ENABLED }, { "addressing_mode", NULL, NULL, F_NA }, { "compute_mode", NULL, NULL, F_COMPUTE_MODE },
	{ "compute_cap", NULL, NULL, F_CC },
	{ "memory.total", NULL, "MiB", F_TOTAL }, { "memory.reserved", NULL, "MiB", F_RESERVED }, { "memory.used", NULL, "MiB", F_USED },
	{ "memory.free", NULL, "MiB", F_FREE }, { "utilization.gpu", NULL, "%", F_GPU }, { "utilization.memory", NULL, "%", F_MEMORY },
	{ "utilization.encoder", NULL, "%", F_NA }, { "utilization.decoder", NULL, "%", F_NA }, { "utilization.jpeg", NULL, "%", F_NA },
	{ "utilization.ofa", NULL, "%", F_NA }, { "mig.mode.current", NULL, NULL, F_DISABLED }, { "mig.mode.pending", NULL, NULL, F_DISABLED },
	{ "fan.speed", NULL, "%", F_NA }, { "pstate", NULL, NULL, F_NA }, { "vbios_version", NULL, NULL, F_NA },
	{ "temperature.gpu", NULL, NULL, F_NA }, { "temperature.memory", NULL, NULL, F_NA }, { "temperature.gpu.tlimit", NULL, NULL, F_NA },
	{ "power.management", NULL, NULL, F_NA }, { "power.draw", NULL, "W", F_NA }, { "power.draw.average", NULL, "W", F_NA },
	{ "power.draw.instant", NULL, "W", F_NA }, { "power.limit", NULL, "W", F_NA }, { "enforced.power.limit", NULL, "W", F_NA },
	{ "power.default_limit", NULL, "W", F_NA }, { "power.min_limit", NULL, "W", F_NA }, { "power.max_limit", NULL, "W", F_NA },
	{ "clocks.current.graphics", "clocks.gr", "MHz", F_NA }, { "clocks.current.sm", "clocks.sm", "MHz", F_NA },
	{ "clocks.current.memory", "clocks.mem", "MHz", F_NA }, { "clocks.current.video", "clocks.video", "MHz", F_NA },
	{ "clocks.max.graphics", "clocks.max.gr", "MHz", F_NA }, { "clocks.max.sm", NULL, "MHz", F_NA }, { "clocks.max.memory", "clocks.max.mem", "MHz", F_NA },
	{ "clocks.applications.graphics", "clocks.applications.gr", "MHz", F_NA }, { "clocks.applications.memory", "clocks.applications.mem", "MHz", F_NA },
};
/* Families that no device of ours has anything of. */
static const char *const not_ours[] = { "ecc.", "retired_pages.", "remapped_rows.", "encoder.stats.", "inforom.", "gom.", "pcie.link.", "accounting.",
	"fabric.", "clocks_throttle_reasons.", "clocks_event_reasons.", "driver_model.", "gsp.", "protected_memory.", "clocks.default_applications.",
	"c2c.", "dramEncryption." };
static const struct {
	const char *name, *other, *unit;
	enum field field;
} app_fields[] = {
	{ "timestamp", NULL, NULL, F_TIME }, { "gpu_name", NULL, NULL, F_NAME }, { "gpu_bus_id", NULL, NULL, F_BUS_ID }, { "gpu_serial", NULL, NULL, F_NA },
	{ "gpu_uuid", NULL, NULL, F_UUID }, { "pid", NULL, NULL, F_PID }, { "process_name", "name", NULL, F_PROCESS },
	{ "used_gpu_memory", "used_memory", "MiB", F_APP_MEMORY },
};

#define COLUMNS 512u                    /* exporters ask for all that there are */

struct column {
	const char *name, *unit;
	size_t n;
	enum field field;
};

#define LOOK(table) \
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) \
		if ((strlen(table[i].name) == c->n && !strncmp(table[i].name, c->name, c->n)) || \
		    (table[i].other && strlen(table[i].other) == c->n && !strncmp(table[i].other, c->name, c->n))) { \
			c->unit = table[i].unit; \
			c->field = table[i].field; \
			return 0; \
		}

static int column_of(struct column *c, int apps)
{
	c->unit = NULL;
	c->field = F_NA;
	if (apps) {
		LOOK(app_fields)
		return -1;
	}
	LOOK(gpu_fields)
	for (size_t i = 0; i < sizeof(not_ours) / sizeof(not_ours[0]); i++)
		if (c->n > strlen(not_ours[i]) && !strncmp(c->name, not_ours[i], strlen(not_ours[i])))
			return 0;
	return -1;
}

/* As nvidia-smi's, which exporters read: a blank line, the name in quotes, other names behind "or"; then what there is to say. */
static void help_field(const char *name, const char *other, const char *unit, int na)
{
	printf("\n\"%s\"%s%s%s\n%s%s%s", name, other ? " or \"" : "", other ? other : "", other ? "\"" : "", unit ? "In " : "", unit ? unit : "",
	       unit ? ".\n" : "");
	if (na)
		puts("Always " SMI_NA ".");
}

int smi_help_query(int gpus)
{
	puts("Fields, in quotes; units as --format=csv prints them.");
	for (size_t i = 0; gpus && i < sizeof(gpu_fields) / sizeof(gpu_fields[0]); i++)
		help_field(gpu_fields[i].name, gpu_fields[i].other, gpu_fields[i].unit, gpu_fields[i].field == F_NA);
	for (size_t i = 0; gpus && i < sizeof(not_ours) / sizeof(not_ours[0]); i++)
		printf("%s%s...   always " SMI_NA "\n", i ? "" : "\n", not_ours[i]);
	for (size_t i = 0; !gpus && i < sizeof(app_fields) / sizeof(app_fields[0]); i++)
		help_field(app_fields[i].name, app_fields[i].other, app_fields[i].unit, 0);
	return 0;
}

static void value_of(const struct smi *o, unsigned dev, const struct smi_process *p, const struct column *c, int units)
{
	const struct vgpu_device_info *d = &o->s.device[dev];
	const struct vgpu_load *l = &o->s.load.device[dev];
	char text[512] = SMI_NA, bus[32];
	uint64_t v = 0, used = l->memory_used < d->memory_bytes ? l->memory_used : d->memory_bytes;
	int number = 1;

	smi_bus_id(bus, d->bus_id);
	switch (c->field) {
	case F_NA: number = 0; break;
	case F_TIME: number = 0; smi_now(text, sizeof(text), "%Y/%m/%d %H:%M:%S"); break;
	case F_DRIVER: number = 0; snprintf(text, sizeof(text), "%s", VGPU_NVIDIA_DRIVER); break;
	case F_COUNT: v = o->s.devices; break;
	case F_NAME: number = 0; snprintf(text, sizeof(text), "%s", d->name); break;
	case F_UUID: number = 0; smi_uuid(text, d->uuid); break;
	case F_BUS_ID: number = 0; snprintf(text, sizeof(text), "%s", bus); break;
	case F_DOMAIN: number = 0; snprintf(text, sizeof(text), "0x%.4s", bus + 4); break;
	case F_BUS: number = 0; snprintf(text, sizeof(text), "0x%.2s", bus + 9); break;
	case F_DEVICE: number = 0; snprintf(text, sizeof(text), "0x%.2s", bus + 12); break;
	case F_DEVICE_ID: number = 0; snprintf(text, sizeof(text), "0x%04X%04X", d->pci_device & 0xffff, d->pci_vendor & 0xffff); break;
	case F_SUB_ID: number = 0; snprintf(text, sizeof(text), "0x00000000"); break;
	case F_INDEX: v = dev; break;
	case F_DISABLED: number = 0; snprintf(text, sizeof(text), "Disabled"); break;
	case F_ENABLED: number = 0; snprintf(text, sizeof(text), "Enabled"); break;
	case F_COMPUTE_MODE: number = 0; snprintf(text, sizeof(text), "Default"); break;
	case F_CC: number = 0; snprintf(text, sizeof(text), "%u.%u", d->cc_major, d->cc_minor); break;
	case F_TOTAL: v = MIB(d->memory_bytes); break;
	case F_RESERVED: v = 0; break;
	case F_USED: v = MIB(used); break;
	case F_FREE: v = MIB(d->memory_bytes) - MIB(used); break;
	case F_GPU:
	case F_MEMORY: v = smi_percent(l->permille); break;
	case F_PID: v = p->pid; break;
	case F_PROCESS: number = 0; smi_process(p->pid, p->comm, text, sizeof(text)); break;
	case F_APP_MEMORY: v = MIB(p->memory); break;
	}
	if (!l->state && c->field >= F_RESERVED && c->field <= F_MEMORY)
		fputs("[GPU is lost]", stdout);
	else if (number)
		printf("%" PRIu64 "%s%s", v, c->unit && units ? " " : "", c->unit && units ? c->unit : "");
	else
		fputs(text, stdout);
}

int smi_csv(const struct smi *o)
{
	struct column column[COLUMNS];
	unsigned columns = 0, n = 0;
	int header = !o->again, units = 1, csv = 0;
	struct smi_process *p = NULL;

	for (const char *f = o->format ? o->format : ""; *f; f += strcspn(f, ","), f += *f == ',') {
		size_t k = strcspn(f, ",");

		if (k == 3 && !strncmp(f, "csv", 3))
			csv = 1;
		else if (k == 8 && !strncmp(f, "noheader", 8))
			header = 0;
		else if (k == 7 && !strncmp(f, "nounits", 7))
			units = 0;
		else
			csv = -8;
	}
	if (csv < 1) {
		complain("smi: --format is csv, with ,noheader and ,nounits as wanted");
		return 2;
	}
	for (const char *f = o->fields;; f++) {
		struct column *c = &column[columns];

		f += strspn(f, " ");
		if (columns++ == COLUMNS) {
			complain("smi: more than %u fields", COLUMNS);
			return 2;
		}
		*c = (struct column){ .name = f, .n = strcspn(f, ", ") };
		if (column_of(c, o->what == SMI_APPS) && !(o->what == SMI_ABSENT && smi_absent_field(o, f, c->n))) {
			complain("smi: Field \"%.*s\" is not a valid field to query.", (int)c->n, f);
			return 2;
		}
		f += c->n;
		f += strspn(f, " ");
		if (!*f)
			break;
		if (*f != ',') {
			complain("smi: Field \"%s\" is not a valid field to query.", c->name);
			return 2;
		}
	}
	for (unsigned c = 0; header && c < columns; c++)
		printf("%s%.*s%s%s%s%s", c ? ", " : "", (int)column[c].n, column[c].name, column[c].unit ? " [" : "", column[c].unit ? column[c].unit : "",
		       column[c].unit ? "]" : "", c + 1 == columns ? "\n" : "");
	if (o->what == SMI_APPS)
		p = smi_processes(o, &n);
	for (unsigned i = 0; i < (o->what == SMI_GPUS ? o->s.devices : n); i++) {
		if (!p && !o->chosen[i])
			continue;
		for (unsigned c = 0; c < columns; c++) {
			fputs(c ? ", " : "", stdout);
			value_of(o, p ? p[i].device : i, p ? &p[i] : NULL, &column[c], units);
		}
		putchar('\n');
	}
	free(p);
	return 0;
}
