/* SPDX-License-Identifier: MIT */
/* Command line of vgpu-stub: every value is checked, every error says what would be right. */
#define _GNU_SOURCE
#include "engine.h"
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIN_MEMORY (16ull << 20)
#define MIN_OVERHEAD (64ull << 20)
#define DEFAULT_UIDS 2000000000u        /* above every range that distributions and systemd give out */
#define MAX_MEMORY (VGPU_DEVICE_SPAN - VGPU_ARENA_BYTES)
#define DEFAULT_MAX_MEMORY (16 * VGPU_GIB)

static void usage(FILE *f)
{
	fprintf(f,
		"usage: vgpu-stub --socket PATH [options]\n"
		"The device: a virtual GPU behind a vfio-user socket, for vgpu-agent or QEMU (10.1 or later).\n"
		"\n"
		"  --socket PATH      vfio-user socket to listen on (required)\n"
		"  --memory SIZE      device memory, like 512M or 4G (default: half of RAM, at most 16G)\n"
		"  --overhead SIZE    memory of a context beside what it is granted: images, code, the engine (default 2G)\n"
		"  --overheads SIZE   ... of all contexts together (default: 3/8 of RAM); of one user's or container's 7/8 of it\n"
		"  --engine ENGINE    cpu (default): compiles PTX for the processor; cuda: an NVIDIA GPU of this host\n"
		"  --cuda-library PATH  cuda: the host's driver (default libcuda.so.1)\n"
		"  --cublas-library PATH  cuda: the host's cuBLAS for matrix products (default: none, kernels of our own)\n"
		"  --cuda-device N    cuda: which of its devices (default 0)\n"
		"  --cc X.Y           compute capability (default 6.1); one of %s\n"
		"  --sms N            multiprocessors reported, 1..1024 (default: 4 per core, at least 8)\n"
		"  --cores N          engine threads of a context, 1..256 (default: the processors it may use)\n"
		"  --name TEXT        device name (default \"VGPU-STUB (cpu)\")\n"
		"  --pci-id VVVV:DDDD PCI vendor and device, hexadecimal (default %04x:%04x)\n"
		"  --bus-id ID        PCI address that CUDA reports, like 0000:00:05.0 (default: the agent's choice)\n"
		"  --kernel-timeout N a kernel that takes longer than N seconds ends its context: CUDA_ERROR_LAUNCH_TIMEOUT (default: none)\n"
		"  --dma MODE         fd: the owner's memory is mapped (default); message: every access is asked of\n"
		"                     the owner, through its IOMMU; slow, for tests of owners\n"
		"  --uuid UUID        GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx (default: from the machine's id and --socket)\n"
		"  --seed-uuid TEXT   the UUID is made from this text\n"
		"  --walls LIST       what to put around contexts, as far as the machine has it: all (default), none, or some of\n"
		"                     seccomp,user,pid,mount,net,ipc,uid,landlock,cgroup; seccomp always stands\n"
		"  --require-walls[=LIST]  do not start without them (all)\n"
		"  --context-uids N   as root: contexts are users N to N+%u (default %u)\n"
		"  --cgroup PATH      an empty cgroup v2 directory for contexts (default: our own, if it is delegated)\n"
		"  --verbose          log what happens\n"
		"  --help, --version\n",
		info_cc_list(), VGPU_PCI_VENDOR, VGPU_PCI_DEVICE, STUB_QUEUES, DEFAULT_UIDS);
}

/* What was asked for, whole: exit status. */
static int said(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fprintf(stderr, "vgpu-stub: standard output: %s\n", strerror(errno));
	return 1;
}

static int bad(const char *option, const char *value, const char *want)
{
	fprintf(stderr, "vgpu-stub: --%s %s: %s\n", option, value, want);
	return -EINVAL;
}

static int parse_size(const char *s, uint64_t *out)
{
	char *end;
	uint64_t v, scale = 1;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno)
		return -EINVAL;
	switch (toupper((unsigned char)*end)) {
	case 'T': scale <<= 10; /* fall through */
	case 'G': scale <<= 10; /* fall through */
	case 'M': scale <<= 10; /* fall through */
	case 'K': scale <<= 10;
		end++;
	}
	if (scale > 1 && !strcasecmp(end, "iB"))
		end += 2;
	if (*end || __builtin_mul_overflow(v, scale, out))
		return -EINVAL;
	return 0;
}

static int parse_number(const char *s, uint32_t min, uint32_t max, uint32_t *out)
{
	char *end;
	unsigned long v;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	v = strtoul(s, &end, 10);
	if (errno || *end || v < min || v > max)
		return -EINVAL;
	*out = (uint32_t)v;
	return 0;
}

static int parse_cc(const char *s, struct stub_config *c)
{
	char tail;

	if (sscanf(s, "%u.%u%c", &c->cc_major, &c->cc_minor, &tail) != 2)
		return -EINVAL;
	return info_cc_known(c->cc_major, c->cc_minor) ? 0 : -EINVAL;
}

static int is_hex(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isxdigit((unsigned char)s[i]))
			return 0;
	return 1;
}

static int parse_pci_id(const char *s, struct stub_config *c)
{
	if (strlen(s) != 9 || !is_hex(s, 4) || s[4] != ':' || !is_hex(s + 5, 4))
		return -EINVAL;
	c->pci_vendor = (uint32_t)strtoul(s, NULL, 16);
	c->pci_device = (uint32_t)strtoul(s + 5, NULL, 16);
	/* ffff is what an absent function reads as. */
	return c->pci_vendor == 0 || c->pci_vendor == 0xffff ? -EINVAL : 0;
}

static int check_bus_id(const char *s)
{
	if (strlen(s) != 12 || !is_hex(s, 4) || s[4] != ':' || !is_hex(s + 5, 2) || s[7] != ':' ||
	    !is_hex(s + 8, 2) || s[10] != '.' || s[11] < '0' || s[11] > '7')
		return -EINVAL;
	return strtoul(s + 8, NULL, 16) > 0x1f ? -EINVAL : 0;
}

static int check_name(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return -EINVAL;
	return n && n < sizeof(((struct vgpu_device_info *)0)->name) ? 0 : -EINVAL;
}

static uint64_t machine_memory(void) { return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE); }

/* With the device's memory that is 7/8 of the machine's: the unit may have 90 %. */
static uint64_t default_overheads(void)
{
#ifdef __SANITIZE_ADDRESS__             /* its shadow counts, too */
	uint64_t n = MAX_MEMORY;
#else
	uint64_t n = machine_memory() / 8 * 3;
#endif

	return n < MIN_OVERHEAD ? MIN_OVERHEAD : n;
}

static uint64_t default_memory(void)
{
	uint64_t half = machine_memory() / 2 & ~(VGPU_HUGE - 1);

	if (half > DEFAULT_MAX_MEMORY)
		half = DEFAULT_MAX_MEMORY;
	return half < MIN_MEMORY ? MIN_MEMORY : half;
}

static uint32_t default_cores(void)
{
	cpu_set_t set;
	int n = 0;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	if (n < 1)
		n = (int)sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : n > 256 ? 256 : (uint32_t)n;
}

/* "GPU-" may be left out. */
static int parse_uuid(const char *s, uint8_t out[16])
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	unsigned any = 0, n = 0;

	s += strncasecmp(s, "GPU-", 4) ? 0 : 4;
	if (strlen(s) != sizeof(form) - 1)
		return -EINVAL;
	for (size_t i = 0; form[i]; i++) {
		if (form[i] == '-' ? s[i] != '-' : !isxdigit((unsigned char)s[i]))
			return -EINVAL;
		if (form[i] == '-')
			continue;
		if (n % 2 == 0)
			out[n / 2] = 0;
		out[n / 2] = (uint8_t)(out[n / 2] << 4 | (unsigned)strtoul((char[]){ s[i], 0 }, NULL, 16));
		any |= out[n++ / 2];
	}
	return any ? 0 : -EINVAL;
}

/* The machine, and which of its devices: two cannot serve one socket. The socket's folder is there, itself it is not yet. */
static const char *default_seed(const char *socket_path)
{
	static char text[80 + PATH_MAX + 108];
	char folder[PATH_MAX], real[PATH_MAX];
	const char *name = strrchr(socket_path, '/');
	FILE *f = fopen("/etc/machine-id", "re");
	size_t n;

	if (f) {
		if (!fgets(text, 80, f))
			text[0] = 0;
		fclose(f);
		text[strcspn(text, "\n")] = 0;
	}
	if (!text[0])
		gethostname(text, 79);
	snprintf(folder, sizeof(folder), "%.*s/", name ? (int)(name - socket_path) : 1, name ? socket_path : ".");
	n = strlen(text);
	snprintf(text + n, sizeof(text) - n, " %s/%s", realpath(folder, real) ? real : folder, name ? name + 1 : socket_path);
	return text;
}

int options_parse(int argc, char **argv, struct stub_config *c, int *status)
{
	enum { O_SOCKET = 1, O_MEMORY, O_OVERHEAD, O_OVERHEADS, O_CC, O_SMS, O_CORES, O_NAME, O_PCI_ID, O_BUS_ID, O_DMA, O_SEED, O_UUID, O_TIMEOUT, O_WALLS, O_REQUIRE, O_UIDS, O_CGROUP,
	       O_VERBOSE, O_HELP, O_VERSION, O_ENGINE, O_LIBRARY, O_CUBLAS, O_CUDA_DEVICE };
	static const struct option table[] = {
		{ "socket", required_argument, NULL, O_SOCKET },
		{ "memory", required_argument, NULL, O_MEMORY },
		{ "overhead", required_argument, NULL, O_OVERHEAD },
		{ "overheads", required_argument, NULL, O_OVERHEADS },
		{ "cc", required_argument, NULL, O_CC },
		{ "sms", required_argument, NULL, O_SMS },
		{ "cores", required_argument, NULL, O_CORES },
		{ "name", required_argument, NULL, O_NAME },
		{ "pci-id", required_argument, NULL, O_PCI_ID },
		{ "bus-id", required_argument, NULL, O_BUS_ID },
		{ "dma", required_argument, NULL, O_DMA },
		{ "kernel-timeout", required_argument, NULL, O_TIMEOUT },
		{ "seed-uuid", required_argument, NULL, O_SEED },
		{ "uuid", required_argument, NULL, O_UUID },
		{ "walls", required_argument, NULL, O_WALLS },
		{ "require-walls", optional_argument, NULL, O_REQUIRE },
		{ "context-uids", required_argument, NULL, O_UIDS },
		{ "cgroup", required_argument, NULL, O_CGROUP },
		{ "engine", required_argument, NULL, O_ENGINE },
		{ "cuda-library", required_argument, NULL, O_LIBRARY },
		{ "cublas-library", required_argument, NULL, O_CUBLAS },
		{ "cuda-device", required_argument, NULL, O_CUDA_DEVICE },
		{ "verbose", no_argument, NULL, O_VERBOSE },
		{ "help", no_argument, NULL, O_HELP },
		{ "version", no_argument, NULL, O_VERSION },
		{ NULL, 0, NULL, 0 },
	};
	const char *engine = getenv("VGPU_ENGINE");
	const char *library = NULL;
	int o, err = 0, cuda = 0;

	*c = (struct stub_config){
		.name = "VGPU-STUB (cpu)", .bus_id = "", .memory_bytes = default_memory(), .overhead_bytes = 2 * VGPU_GIB, .overheads_bytes = default_overheads(), .walls = VGPU_WALLS_ALL, .context_uids = DEFAULT_UIDS, .cc_major = 6,
		.cc_minor = 1, .pci_vendor = VGPU_PCI_VENDOR, .pci_device = VGPU_PCI_DEVICE,
	};
	*status = 2;
	if (engine && *engine && engine_mode_named(engine) == ENGINE_MODE_AUTO) {
		fprintf(stderr, "vgpu-stub: VGPU_ENGINE=%s: there is no such engine; it is " ENGINE_MODE_WORDS "\n", engine);
		return -1;
	}
	while (!err && (o = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (o) {
		case O_SOCKET:
			c->socket_path = optarg;
			break;
		case O_MEMORY:
			c->memory_set = 1;
			if (parse_size(optarg, &c->memory_bytes) || c->memory_bytes < MIN_MEMORY ||
			    c->memory_bytes > MAX_MEMORY || c->memory_bytes % VGPU_HUGE)
				err = bad("memory", optarg, "give a multiple of 2M between 16M and 960G, like 4G");
			break;
		case O_OVERHEAD:
			if (parse_size(optarg, &c->overhead_bytes) || c->overhead_bytes < MIN_OVERHEAD || c->overhead_bytes > MAX_MEMORY)
				err = bad("overhead", optarg, "give at least 64M, like 2G");
			break;
		case O_OVERHEADS:
			if (parse_size(optarg, &c->overheads_bytes) || c->overheads_bytes < MIN_OVERHEAD || c->overheads_bytes > MAX_MEMORY)
				err = bad("overheads", optarg, "give at least 64M, like 8G");
			break;
		case O_CC:
			if (parse_cc(optarg, c)) {
				err = bad("cc", optarg, "not a compute capability that this device knows");
				fprintf(stderr, "known: %s\n", info_cc_list());
			}
			break;
		case O_SMS:
			if (parse_number(optarg, 1, 1024, &c->sms))
				err = bad("sms", optarg, "give a number from 1 to 1024");
			break;
		case O_CORES:
			if (parse_number(optarg, 1, 256, &c->cores))
				err = bad("cores", optarg, "give a number from 1 to 256");
			break;
		case O_NAME:
			c->name = optarg;
			if (check_name(optarg))
				err = bad("name", optarg, "give 1 to 63 bytes without control characters");
			break;
		case O_PCI_ID:
			if (parse_pci_id(optarg, c))
				err = bad("pci-id", optarg, "give VVVV:DDDD in hexadecimal, like 1b36:7667");
			break;
		case O_BUS_ID:
			c->bus_id = optarg;
			if (check_bus_id(optarg))
				err = bad("bus-id", optarg, "give domain:bus:device.function, like 0000:00:05.0");
			break;
		case O_DMA:
			c->by_message = !strcmp(optarg, "message");
			if (!c->by_message && strcmp(optarg, "fd"))
				err = bad("dma", optarg, "give fd or message");
			break;
		case O_SEED:
			c->seed = optarg;
			if (!*optarg)
				err = bad("seed-uuid", "\"\"", "give some text");
			break;
		case O_TIMEOUT:
			if (parse_number(optarg, 1, 86400, &c->kernel_timeout_s))
				err = bad("kernel-timeout", optarg, "give seconds from 1 to 86400");
			break;
		case O_UUID:
			c->has_uuid = 1;
			if (parse_uuid(optarg, c->uuid))
				err = bad("uuid", optarg, "give GPU- and 32 hexadecimal digits as 8-4-4-4-12, not all of them 0");
			break;
		case O_WALLS:
			if (walls_named(optarg, &c->walls))
				err = bad("walls", optarg, "give all, none, or words of --help with commas between them");
			break;
		case O_REQUIRE:
			if (walls_named(optarg ? optarg : "all", &c->require_walls))
				err = bad("require-walls", optarg, "give all, or words of --help with commas between them");
			break;
		case O_UIDS:
			if (parse_number(optarg, 1, 0xfffffff0u - STUB_QUEUES, &c->context_uids))
				err = bad("context-uids", optarg, "give the first of the user numbers, above 0");
			break;
		case O_CGROUP:
			c->cgroup = optarg;
			break;
		case O_ENGINE:
			cuda = !strcmp(optarg, "cuda");
			if (!cuda && strcmp(optarg, "cpu"))
				err = bad("engine", optarg, "give cpu or cuda");
			break;
		case O_LIBRARY:
			library = optarg;
			if (!*optarg || strlen(optarg) >= CTX_LIBRARY_BYTES)
				err = bad("cuda-library", optarg, "give the path of libcuda.so.1, below 256 bytes");
			break;
		case O_CUBLAS:
			c->cublas_library = strcmp(optarg, "none") ? optarg : NULL;
			if (!*optarg || strlen(optarg) >= CTX_LIBRARY_BYTES)
				err = bad("cublas-library", optarg, "give the path of libcublas.so.13 or .12, below 256 bytes, or none");
			break;
		case O_CUDA_DEVICE:
			if (parse_number(optarg, 0, 63, &c->cuda_device))
				err = bad("cuda-device", optarg, "give a number from 0 to 63");
			break;
		case O_VERBOSE:
			c->verbose = 1;
			break;
		case O_HELP:
			usage(stdout);
			*status = said();
			return -1;
		case O_VERSION:
			puts("vgpu-stub " VGPU_VERSION " (" VGPU_PROTOCOLS ")");
			*status = said();
			return -1;
		default:
			fprintf(stderr, "try: vgpu-stub --help\n");
			return -1;
		}
	}
	if (err)
		return -1;
	if (optind < argc) {
		fprintf(stderr, "vgpu-stub: what is \"%s\"? There are options only; try: vgpu-stub --help\n",
			argv[optind]);
		return -1;
	}
	if ((library || c->cublas_library) && !cuda) {
		fprintf(stderr, "vgpu-stub: --%s is for --engine cuda\n", library ? "cuda-library" : "cublas-library");
		return -1;
	}
	if (cuda)
		c->cuda_library = library ? library : "libcuda.so.1";
	if (!c->socket_path || !*c->socket_path) {
		fprintf(stderr, "vgpu-stub: --socket PATH is required; try: vgpu-stub --help\n");
		return -1;
	}
	if (!c->cores)
		c->cores = default_cores();
	if (!c->sms)
		c->sms = c->cores * 4 < 8 ? 8 : c->cores * 4;
	if (!c->seed)
		c->seed = default_seed(c->socket_path);
	return 0;
}
